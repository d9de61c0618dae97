"""What holds for every baseline: a single valid ranking, reached by name, and never better than the exact optimum."""

from __future__ import annotations

import numpy as np
import pytest

from excalibr import Problem, methods
from tests.baselines.problems import mixed_problems

BASELINES = ("greedy", "greedy-simple", "greedy-projected", "mip-greedy", "top-k", "mmr")


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return list(mixed_problems(100, seed=41, largest=16, spare=1))


@pytest.fixture(scope="module")
def optima(problems: list[Problem]) -> list[float]:
    return [methods.apply("excalibr", problem).objective for problem in problems]


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_one_ranking_that_proves_nothing(name: str, problems: list[Problem]) -> None:
    for problem in problems:
        policy = methods.apply(name, problem)
        assert policy.method == name
        assert policy.rankings.shape == (1, problem.k)
        assert len(set(policy.rankings[0].tolist())) == problem.k
        assert policy.weights.tolist() == [1.0]
        assert np.isnan(policy.gap)
        assert policy.prices is None


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_at_most_as_good_as_excalibr(name: str, problems: list[Problem], optima: list[float]) -> None:
    for problem, optimum in zip(problems, optima, strict=True):
        spread = float(np.ptp(problem.scores))
        assert methods.apply(name, problem).objective <= optimum + 2e-9 * max(1.0, (1.0 - problem.trade_off) * spread)
