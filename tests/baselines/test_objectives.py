"""What holds for every baseline: a single valid ranking, reached by name, and never better than the exact optimum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from excalibr import Policy, methods
from tests.problems import mixed_problem

BASELINES = ("greedy", "greedy-simple", "greedy-projected", "mip-greedy", "top-k", "mmr")


@pytest.fixture(scope="module")
def optima() -> list[Policy]:
    """Of the problems that the paper's programs are compared with the exact solver on, a few hundred of them."""
    return [methods.apply("excalibr", mixed_problem(np.random.default_rng(seed))) for seed in range(300)]


def beside(optima: list[Policy], name: str) -> Iterator[tuple[Policy, Policy]]:
    """The exact policy and the baseline's, where the baseline applies."""
    for optimum in optima:
        if name != "mip-greedy" or optimum.problem.n > optimum.problem.k:
            yield optimum, methods.apply(name, optimum.problem)


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_one_ranking_that_proves_nothing(name: str, optima: list[Policy]) -> None:
    for optimum, policy in beside(optima, name):
        k = optimum.problem.k
        assert policy.method == name
        assert policy.rankings.shape == (1, k)
        assert len(set(policy.rankings[0].tolist())) == k
        assert policy.weights.tolist() == [1.0]
        assert np.isnan(policy.gap)
        assert policy.prices is None


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_at_most_as_good_as_excalibr(name: str, optima: list[Policy]) -> None:
    for optimum, policy in beside(optima, name):
        spread = float(np.ptp(optimum.problem.gains))
        assert policy.objective <= optimum.objective + 2e-9 * max(1.0, spread)
