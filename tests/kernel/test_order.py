"""Sorting in the kernel against numpy's stable sort, whatever order it goes on from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

KEYS = arrays.arrays(
    np.float64, st.integers(1, 90), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, 5e-324, -np.inf]) | st.floats(-1, 1)
)
SEEDS = st.integers(0, 2**32 - 1)


@given(KEYS, SEEDS)
def test_a_sort_is_numpys_stable_one(keys: Floats, seed: int) -> None:
    start = np.random.default_rng(seed).permutation(len(keys))
    assert parts.sort_descending(keys, start).tolist() == np.argsort(-keys, kind="stable").tolist()


@given(KEYS, st.integers(1, 90), SEEDS)
def test_the_best_are_sorted_and_the_others_follow(keys: Floats, count: int, seed: int) -> None:
    count = min(count, len(keys))
    order = parts.sort_best(keys, count, np.random.default_rng(seed).permutation(len(keys)))
    assert order[:count].tolist() == np.argsort(-keys, kind="stable")[:count].tolist()
    assert sorted(order.tolist()) == list(range(len(keys)))
