"""The exact KL lottery: against a general convex solver, and by a certificate computed without the solver's code."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr import Problem, calibrate, calibrate_path
from excalibr._solver import solve
from excalibr.metrics import kl
from tests.checks import KL_ALPHA, as_kl, check_kl_certificate, check_lottery, scale
from tests.problems import SMALL, mixed_problem, movie_like_problem
from tests.strategies import small_problems


@given(small_problems())
@settings(max_examples=150)
def test_small_optima_are_certified(problem: Problem) -> None:
    policy = solve(as_kl(problem))
    check_lottery(policy)
    check_kl_certificate(policy)


@pytest.mark.parametrize(("n", "k", "r", "per_item"), [(150, 100, 20, 2), (150, 10, 20, 2), (500, 50, 60, 3)])
@pytest.mark.parametrize("trade_off", [0.1, 0.5, 0.9])
def test_everyday_optima_are_certified(n: int, k: int, r: int, per_item: int, trade_off: float) -> None:
    policy = solve(as_kl(movie_like_problem(np.random.default_rng(r), n, k, r, per_item, trade_off)))
    check_lottery(policy)
    check_kl_certificate(policy)


@pytest.mark.parametrize("seed", range(200))
def test_the_optimum_is_that_of_a_general_convex_solver(seed: int) -> None:
    problem = as_kl(mixed_problem(np.random.default_rng(seed), SMALL))
    expected = _with_clarabel(problem)
    if expected is None:
        pytest.skip("the general solver gave up")
    reached = solve(problem).objective - (1 - problem.trade_off) * float(problem.scores.mean())
    assert reached == pytest.approx(expected, abs=1e-6 * scale(problem))


def _with_clarabel(problem: Problem) -> float | None:
    """The optimum over n × k matrices of probabilities, with the scores' mean taken out for the solver's sake."""
    cp = pytest.importorskip("cvxpy")
    matrix = cp.Variable((problem.n, problem.k), nonneg=True)
    exposure = matrix @ problem.position_weights
    q = problem.target
    blurred = (1 - KL_ALPHA) * (problem.memberships.dense().T @ exposure) + KL_ALPHA * q
    divergence = cp.sum([q[j] * (np.log(q[j]) - cp.log(blurred[j])) for j in np.flatnonzero(q > 0)])
    unit = scale(problem)
    gains = (1 - problem.trade_off) * (problem.scores - problem.scores.mean())
    objective = (gains / unit) @ exposure - problem.trade_off / unit * divergence
    program: Any = cp.Problem(cp.Maximize(objective), [cp.sum(matrix, axis=0) == 1, cp.sum(matrix, axis=1) <= 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except cp.SolverError:
            return None
    return float(program.value) * unit if program.status == "optimal" else None


def test_the_cost_is_the_metric_of_the_expectation() -> None:
    problem = movie_like_problem(np.random.default_rng(0), 60, 10, 6, 2, 0.4)
    policy = solve(as_kl(problem))
    assert policy.cost == pytest.approx(float(kl(policy.distribution, problem.target)))
    assert policy.objective == pytest.approx(0.6 * policy.relevance - 0.4 * policy.cost)


def test_the_prices_are_those_of_the_expectation() -> None:
    problem = movie_like_problem(np.random.default_rng(0), 60, 10, 6, 2, 0.4)
    policy = solve(as_kl(problem))
    blurred = (1 - KL_ALPHA) * policy.distribution + KL_ALPHA * problem.target
    assert policy.prices == pytest.approx(-0.4 * (1 - KL_ALPHA) * problem.target / blurred, abs=1e-6)


def test_a_path_equals_solving_one_at_a_time() -> None:
    problem = movie_like_problem(np.random.default_rng(1), 80, 20, 8, 2, 0.5)
    rows = problem.memberships.dense()
    trade_offs = [0.9, 0.1, 0.5]
    path = calibrate_path(problem.scores, rows, problem.target, k=20, divergence="kl", trade_offs=trade_offs)
    for trade_off, policy in zip(trade_offs, path, strict=True):
        alone = calibrate(problem.scores, rows, problem.target, k=20, divergence="kl", trade_off=trade_off)
        assert policy.objective == pytest.approx(alone.objective, abs=1e-9)


def test_it_is_nearer_by_kl_than_the_l1_optimum_of_the_same_relevance() -> None:
    problem = movie_like_problem(np.random.default_rng(2), 100, 30, 10, 2, 0.3)
    straight = solve(problem)
    loss = 1 - straight.relevance / float(np.sort(problem.scores)[::-1][:30] @ problem.position_weights)
    rows = problem.memberships.dense()
    curved = calibrate(problem.scores, rows, problem.target, k=30, divergence="kl", relevance_loss=loss)
    assert curved.relevance == pytest.approx(straight.relevance, abs=1e-9)
    assert curved.cost < float(kl(straight.distribution, problem.target))
