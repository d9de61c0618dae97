from functools import partial
from typing import Any

import numpy as np
import pytest

from excalibr import methods
from excalibr._problem import Problem
from excalibr.errors import InputError
from excalibr.methods import METHODS


def problem() -> Problem:
    """Twelve candidates of three categories, some with two of them, and weights that rise and fall."""
    generator = np.random.default_rng(5)
    rows = (np.eye(3)[generator.integers(3, size=12)] + np.eye(3)[generator.integers(3, size=12)]) / 2.0
    return Problem.of(generator.random(12), rows, [0.5, 0.3, 0.2], k=4, trade_off=0.4, position_weights=[2, 4, 3, 1])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_a_lottery_over_rankings_of_distinct_candidates(name: str) -> None:
    policy = methods.apply(name, problem())
    assert policy.rankings.shape == (len(policy.weights), 4)
    assert all(len(set(ranking)) == 4 for ranking in policy.rankings.tolist())
    assert (policy.weights > 0).all()
    assert (np.diff(policy.weights) <= 0).all()
    assert policy.weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"excalibr"}))
def test_no_other_method_leaves_a_pin_out_in_silence(name: str) -> None:
    pinned = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, pinned={0: 2})
    for ask in (METHODS[name], partial(methods.apply, name)):
        with pytest.raises(InputError, match="must be 'excalibr' for what|must leave it to the exact method"):
            ask(pinned)


@pytest.mark.parametrize("asked", [{"relevance_loss": 0.1}, {"max_deviation": 0.5}, {"draws": "single"}])
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"excalibr"}))
def test_no_other_method_leaves_a_budget_or_single_draws_out_in_silence(name: str, asked: dict[str, Any]) -> None:
    problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, **asked)
    for ask in (METHODS[name], partial(methods.apply, name)):
        with pytest.raises(InputError, match=f"method: is .*, must be 'excalibr' where {next(iter(asked))} is given"):
            ask(problem)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_signs_its_policy_and_keeps_the_problem(name: str) -> None:
    asked = problem()
    policy = methods.apply(name, asked)
    assert policy.method == name
    assert policy.problem is asked


@pytest.mark.parametrize("name", METHODS)
def test_no_method_beats_the_exact_optimum(name: str) -> None:
    assert methods.apply(name, problem()).objective <= methods.apply("excalibr", problem()).bound + 1e-9


@pytest.mark.parametrize("name", METHODS)
def test_every_method_sorts_by_score_when_only_relevance_counts(name: str) -> None:
    asked = problem().with_trade_off(0.0)
    best = float(np.sort(asked.scores)[::-1][:4] @ np.sort(asked.position_weights)[::-1])
    assert methods.apply(name, asked).relevance == pytest.approx(best, abs=1e-7)


def test_an_unknown_method_is_told_the_nearest_name() -> None:
    with pytest.raises(InputError, match="method: is 'exalibr', must be one of .*did you mean 'excalibr'"):
        methods.apply("exalibr", problem())
