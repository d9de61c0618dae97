"""Random lotteries, to measure."""

from __future__ import annotations

import numpy as np

from excalibr import Policy
from tests.baselines.problems import one_problem


def random_lottery(seed: int, largest: int = 12) -> Policy:
    """Some random rankings of a mixed problem, with random probabilities, largest first."""
    generator = np.random.default_rng(seed)
    problem = one_problem(generator, largest, spare=0)
    count = int(generator.integers(1, 6))
    rankings = np.array([generator.permutation(problem.n)[: problem.k] for _ in range(count)])
    weights = np.sort(generator.dirichlet(np.ones(count)))[::-1].copy()
    return Policy(problem, rankings=rankings, weights=weights)
