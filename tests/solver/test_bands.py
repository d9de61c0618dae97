"""The general penalty, a band and two slopes for each category, against the literal program, by both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr.paper import solve_reduced
from excalibr.problem import Limits, Penalty, Problem
from excalibr.solver import program_of
from excalibr.solver.engines import UNLIMITED, Answer
from excalibr.solver.kernel import solve_program
from tests.problems import SMALL, mixed_problem
from tests.solver.closing import closed

TOLERANCE = 1e-9


@dataclass(frozen=True)
class BandedProblem(Problem):
    """A problem whose penalty is given, not derived from target and trade-off."""

    asked: Penalty | None = None

    @property
    def penalty(self) -> Penalty:
        assert self.asked is not None
        return self.asked


def _banded(seed: int) -> BandedProblem:
    rng = np.random.default_rng(seed)
    problem = mixed_problem(rng, SMALL)
    low = problem.target * rng.choice([0.0, 0.5, 1.0], problem.r)
    high = np.where(rng.random(problem.r) < 0.3, low, low + rng.random(problem.r) * 0.5)
    below, above = rng.random((2, problem.r)) * rng.choice([0.0, 1.0, 1.0], (2, problem.r))
    given_fields = {each.name: getattr(problem, each.name) for each in fields(Problem)}
    scores = (problem.scores - problem.scores.mean()) / max(1.0, float(np.ptp(problem.scores)))
    return BandedProblem(**{**given_fields, "scores": scores}, asked=Penalty(low, high, below, above))


def _by_proximal_method(problem: Problem) -> Answer:
    gains, indptr, indices, values, _, slots = program_of(problem)
    table = problem.penalty.table()
    return Answer(*solve_program(gains, indptr, indices, values, table, slots, TOLERANCE, UNLIMITED))


def _by_column_generation(problem: Problem) -> Answer:
    return closed([problem], Limits(TOLERANCE))[0]


def _value(problem: Problem, answer: Answer) -> float:
    """Gains minus the penalty, naively, from the rankings."""
    rankings, weights, *_ = answer
    exposure = np.zeros(problem.n)
    for ranking, weight in zip(rankings, weights, strict=True):
        exposure[ranking] += weight * problem.position_weights
    shares, penalty = problem.memberships.dense().T @ exposure, problem.penalty
    cost = penalty.below @ np.maximum(penalty.low - shares, 0) + penalty.above @ np.maximum(shares - penalty.high, 0)
    return float(problem.gains @ exposure - cost)


@pytest.mark.parametrize("engine", [_by_proximal_method, _by_column_generation])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_banded_optima_are_those_of_the_literal_program(engine: Callable[[Problem], Answer], seed: int) -> None:
    problem = _banded(seed)
    answer = engine(problem)
    rankings, weights, prices, gap, *_ = answer
    assert len(weights) <= problem.r + 1
    assert all(len(set(row)) == problem.k for row in rankings.tolist())
    assert (prices <= problem.penalty.above * (1 + 1e-12)).all()
    assert (-prices <= problem.penalty.below * (1 + 1e-12)).all()
    expected = solve_reduced(problem).objective
    assert abs(_value(problem, answer) - expected) <= gap + 1e-7
    assert gap <= 1e-6  # each engine by itself comes close; together they reach the tolerance
