"""Hypothesis problems: mixed ones from a seed, in sizes that a literal linear program can check."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.problems import LARGE, SMALL, mixed_problem

small_problems = st.integers(0, 2**32).map(lambda seed: mixed_problem(np.random.default_rng(seed), SMALL))
large_problems = st.integers(0, 2**32).map(lambda seed: mixed_problem(np.random.default_rng(seed), LARGE))
