"""Rankings with at most so many candidates of a group: the oracle and the solver against every ranking there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from excalibr import Problem
from excalibr.problem import Limits
from tests.solver.closing import closed

Generator = np.random.Generator


def _tiny(rng: Generator) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem of at most six candidates, each in a group or in none, whose limits leave enough to show."""
    n = int(rng.integers(2, 7))
    r = int(rng.integers(1, 4))
    group_of = rng.integers(-1, 3, n)
    group_limits = rng.integers(0, 3, 3)
    sizes = np.bincount(group_of[group_of >= 0], minlength=3)
    showable = int((group_of < 0).sum() + np.minimum(sizes, group_limits).sum())
    if showable == 0:
        return _tiny(rng)
    problem = Problem.of(
        rng.choice([rng.random(n), rng.integers(0, 3, n).astype(float)]),
        rng.dirichlet(np.ones(r), n) if rng.random() < 0.5 else np.eye(r)[rng.integers(0, r, n)],
        rng.dirichlet(np.ones(r)),
        k=int(rng.integers(1, min(showable, 4) + 1)),
        trade_off=float(rng.choice([0.0, 0.3, 0.7, 1.0])),
        position_weights=str(rng.choice(["log", "uniform", "reciprocal"])),
    )
    return problem, group_of, group_limits


def _allowed(problem: Problem, group_of: np.ndarray, group_limits: np.ndarray) -> np.ndarray:
    """Every ranking within the limits."""
    rankings = np.array(list(permutations(range(problem.n), problem.k)))
    counts = (group_of[rankings][:, :, None] == np.arange(len(group_limits))).sum(axis=1)
    return np.asarray(rankings[(counts <= group_limits).all(axis=1)])


def _best_lottery(problem: Problem, rankings: np.ndarray) -> float:
    """The optimum over lotteries of these rankings, as a linear program with a column a ranking."""
    exposures = np.zeros((len(rankings), problem.n))
    for exposure, ranking in zip(exposures, rankings, strict=True):
        exposure[ranking] = problem.position_weights
    shares, gains = exposures @ problem.memberships.dense(), exposures @ problem.gains
    r, count = problem.r, len(rankings)
    cost = np.concatenate([-gains, np.full(2 * r, problem.trade_off)])
    balance = np.hstack([shares.T, np.eye(r), -np.eye(r)])
    whole = np.concatenate([np.ones(count), np.zeros(2 * r)])
    found = linprog(cost, A_eq=np.vstack([balance, whole]), b_eq=np.append(problem.target, 1.0))
    assert found.fun is not None
    return -float(found.fun)


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_capped_lotteries_are_the_best_of_all_allowed_ones(seed: int) -> None:
    problem, group_of, group_limits = _tiny(np.random.default_rng(seed))
    answer = closed([problem], Limits(), (group_of, group_limits))[0]
    allowed = _allowed(problem, group_of, group_limits)
    assert {tuple(row) for row in answer.rankings.tolist()} <= {tuple(row) for row in allowed.tolist()}
    exposure = np.zeros(problem.n)
    for ranking, weight in zip(answer.rankings, answer.weights, strict=True):
        exposure[ranking] += weight * problem.position_weights
    deviation = np.abs(problem.memberships.shares(exposure) - problem.target).sum()
    reached = problem.gains @ exposure - problem.trade_off * deviation
    assert reached == pytest.approx(_best_lottery(problem, allowed), abs=1e-7)
    assert answer.gap <= 1e-9 * max(1.0, float(np.ptp(problem.gains)))


def test_limits_that_never_bind_change_nothing() -> None:
    rng = np.random.default_rng(9)
    problem = Problem.of(rng.random(40), np.eye(4)[rng.integers(0, 4, 40)], np.full(4, 0.25), k=10)
    plain = closed([problem], Limits())[0]
    loose = (rng.integers(-1, 5, 40), np.full(5, 10))
    capped = closed([problem], Limits(), loose)[0]
    assert (capped.rankings == plain.rankings).all()
    assert (capped.weights == plain.weights).all()
