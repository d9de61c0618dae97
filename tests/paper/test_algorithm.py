"""Algorithm 3 end to end: lp, lp-full and the exact solver are three ways to one optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr import Policy, Problem, methods
from excalibr.errors import InputError
from excalibr.paper import lottery, lp, lp_full, solve_full, solve_reduced
from tests.problems import mixed_problem

from .mixed import problems, unit

PAPER = pytest.mark.parametrize("method", ["lp", "lp-full"])


@given(problems())
@settings(max_examples=300, deadline=None)
def test_lp_and_lp_full_and_excalibr_have_the_same_objective(problem: Problem) -> None:
    exact = methods.apply("excalibr", problem).objective
    assert lp(problem).objective == pytest.approx(exact, abs=1e-8 * unit(problem))
    assert lp_full(problem).objective == pytest.approx(exact, abs=1e-8 * unit(problem))


@pytest.mark.parametrize("hundred", range(3))
def test_the_three_agree_and_reproduce_their_matrices_on_hundreds_of_larger_problems(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        problem = mixed_problem(np.random.default_rng(seed))
        exact = methods.apply("excalibr", problem)
        np.testing.assert_allclose(exact.matrix() @ problem.position_weights, exact.exposure, atol=1e-14)
        for solution in (solve_reduced(problem), solve_full(problem)):
            policy = lottery(problem, solution)
            np.testing.assert_allclose(policy.matrix(), solution.matrix[:, : problem.k], atol=1e-9)
            assert policy.objective == pytest.approx(exact.objective, abs=2e-9 * unit(problem)), seed


@given(problems())
@settings(max_examples=50, deadline=None)
def test_lotteries_reproduce_the_matrix_of_their_program(problem: Problem) -> None:
    np.testing.assert_allclose(lp(problem).matrix(), solve_reduced(problem).matrix, atol=1e-9)
    np.testing.assert_allclose(lp_full(problem).matrix(), solve_full(problem).matrix[:, : problem.k], atol=1e-9)


@PAPER
@given(problems())
@settings(max_examples=50, deadline=None)
def test_policies_are_lotteries_over_distinct_rankings(method: str, problem: Problem) -> None:
    policy = methods.apply(method, problem)
    assert policy.method == method
    assert policy.rankings.dtype == np.int64
    assert len(np.unique(policy.rankings, axis=0)) == len(policy.rankings)
    assert all(len(set(ranking)) == problem.k for ranking in policy.rankings.tolist())
    assert (policy.weights > 0).all()
    assert (np.diff(policy.weights) <= 0).all()
    assert policy.weights.sum() == pytest.approx(1.0, abs=1e-14)


@PAPER
@given(problems())
@settings(max_examples=50, deadline=None)
def test_the_dual_values_of_the_program_prove_the_gap(method: str, problem: Problem) -> None:
    policy = methods.apply(method, problem)
    assert policy.prices is not None
    assert np.abs(policy.prices).max() <= problem.trade_off
    assert bound_at(policy) == pytest.approx(policy.bound, abs=1e-12 * unit(problem))
    assert 0 <= policy.gap <= 1e-7 * unit(problem)


def bound_at(policy: Policy) -> float:
    """yᵀq + σ((1 − λ)s − A·y), or the objective where rounding leaves that a little lower."""
    problem, prices = policy.problem, policy.prices
    assert prices is not None
    adjusted = problem.gains - problem.memberships.dense() @ prices
    heaviest_first = np.sort(problem.position_weights)[::-1]
    best = np.sort(adjusted)[::-1][: problem.k] @ heaviest_first
    return max(float(prices @ problem.target + best), policy.objective)


@PAPER
def test_rankings_that_differ_only_after_slot_k_are_one(method: str) -> None:
    problem = Problem.of(np.arange(6.0), np.ones((6, 1)), [1.0], k=1, trade_off=0.0)
    policy = methods.apply(method, problem)
    assert policy.rankings.tolist() == [[5]]
    assert policy.weights.tolist() == [1.0]


@PAPER
def test_the_heaviest_slot_gets_the_best_candidate_wherever_it_stands(method: str) -> None:
    problem = Problem.of([1.0, 2.0, 3.0], np.ones((3, 1)), [1.0], k=3, trade_off=0.0, position_weights=[1, 3, 2])
    assert methods.apply(method, problem).rankings.tolist() == [[0, 2, 1]]


def test_the_solution_of_another_problem_is_refused() -> None:
    problem = Problem.of([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2)
    for other in (
        solve_reduced(Problem.of([3.0, 2.0], [[1], [1]], [1.0], k=1)),
        solve_full(Problem.of([1.0], [[1]], [1.0])),
    ):
        with pytest.raises(InputError, match="solution.matrix: has shape .*, as this problem has"):
            lottery(problem, other)


def test_bottleneck_matchings_leave_the_policy_optimal() -> None:
    random = np.random.default_rng(5)
    problem = Problem.of(random.random(30), np.eye(4)[random.integers(0, 4, 30)], [0.4, 0.3, 0.2, 0.1], k=12)
    assert lp(problem, matching="bottleneck").objective == pytest.approx(lp(problem).objective, abs=1e-9)
