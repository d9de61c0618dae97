"""The exact solver against the literal program, and against its own certificate."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings

import excalibr
from excalibr._problem import Problem
from excalibr._solver import Curve, solve
from excalibr.errors import GapWarning
from tests.checks import as_kl, check_against_the_lp, check_agreement, check_certificate, check_lottery
from tests.problems import movie_like_problem, with_scores
from tests.strategies import large_problems, small_problems


@given(small_problems())
@settings(max_examples=400)
def test_small_optima_are_those_of_the_literal_program(problem: Problem) -> None:
    policy = solve(problem)
    check_lottery(policy)
    check_agreement(policy)
    check_certificate(policy)
    check_against_the_lp(policy)


@given(large_problems)
@settings(max_examples=60)
def test_large_optima_prove_their_own_gap(problem: Problem) -> None:
    policy = solve(problem)
    check_lottery(policy)
    check_agreement(policy)
    check_certificate(policy)


@pytest.mark.parametrize("trade_off", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_everyday_problems_are_solved_to_a_tenth_of_the_tolerance(trade_off: float) -> None:
    problem = movie_like_problem(np.random.default_rng(3), 150, 100, 20, 2, trade_off)
    policy = solve(problem.asking(tolerance=1e-10))
    check_lottery(policy)
    assert policy.gap <= 1e-10


def test_no_ranking_of_a_tiny_problem_beats_the_bound() -> None:
    rng = np.random.default_rng(11)
    problem = Problem.of(rng.random(5), np.eye(3)[[0, 0, 1, 1, 2]], [0.2, 0.3, 0.5], k=3, trade_off=0.4)
    policy = solve(problem)
    dense = problem.memberships.dense()
    for ranking in permutations(range(problem.n), problem.k):
        exposure = np.zeros(problem.n)
        exposure[list(ranking)] = problem.position_weights
        value = problem.gains @ exposure - 0.4 * np.abs(dense.T @ exposure - problem.target).sum()
        assert value <= policy.bound + 1e-12


def test_relevance_only_sorts_by_score() -> None:
    policy = excalibr.calibrate([0.1, 0.9, 0.5, 0.7], np.eye(2)[[0, 0, 1, 1]], [0.5, 0.5], k=3, trade_off=0)
    assert policy.rankings.tolist() == [[1, 3, 2]]
    assert policy.gap == 0.0


def test_the_best_candidate_takes_the_heaviest_slot_wherever_it_is() -> None:
    policy = excalibr.calibrate(
        [0.1, 0.9, 0.5, 0.7], np.ones((4, 1)), [1.0], k=3, trade_off=0, position_weights=[0.2, 0.5, 0.3]
    )
    assert policy.rankings.tolist() == [[2, 1, 3]]


def test_target_mass_on_an_absent_category_is_left_over() -> None:
    policy = excalibr.calibrate([1.0, 0.5, 0.2], np.eye(3)[[0, 1, 0]], [0.4, 0.3, 0.3], k=2, trade_off=1.0)
    assert policy.distribution[2] == 0.0
    assert policy.deviation == pytest.approx(0.6, abs=1e-9)  # 0.3 is lacking there, so 0.3 is too much elsewhere


def test_shifting_all_scores_changes_nothing_but_the_relevance() -> None:
    problem = movie_like_problem(np.random.default_rng(5), 40, 10, 6, 2, 0.5)
    moved = solve(with_scores(problem, problem.scores + 1e3))
    assert moved.deviation == pytest.approx(solve(problem).deviation, abs=1e-6)
    assert moved.relevance - 1e3 == pytest.approx(solve(problem).relevance, abs=1e-6)


def test_solving_twice_gives_the_same_bits() -> None:
    problem = movie_like_problem(np.random.default_rng(8), 150, 100, 20, 2, 0.5)
    first, second = solve(problem), solve(problem)
    assert (first.rankings == second.rankings).all()
    assert (first.weights == second.weights).all()
    assert first.gap == second.gap


def test_there_is_no_number_of_sorts_that_is_too_large_to_allow() -> None:
    problem = movie_like_problem(np.random.default_rng(2), 150, 50, 20, 1, 0.5)
    assert solve(problem.asking(max_sorts=10**30)).gap == solve(problem).gap


@pytest.mark.parametrize(("r", "max_sorts"), [(2, 1), (2, 2), (2, 3), (20, 1), (20, 2), (20, 5), (20, 10), (20, 30)])
def test_a_solve_that_is_cut_short_says_what_it_proved(r: int, max_sorts: int) -> None:
    problem = movie_like_problem(np.random.default_rng(2), 150, 50, r, 1, 0.5)
    policy = solve(problem.asking(tolerance=1e-12, max_sorts=max_sorts))
    assert policy.info is not None
    assert policy.gap > policy.info.allowed_gap
    check_lottery(policy)
    check_agreement(policy)
    assert policy.gap > 0
    assert policy.objective <= solve(problem).bound + 1e-12
    assert policy.bound >= solve(problem).objective - 1e-12


def test_a_call_that_is_cut_short_warns() -> None:
    problem = movie_like_problem(np.random.default_rng(2), 150, 50, 20, 1, 0.5)
    rows = problem.memberships.dense()
    with pytest.warns(GapWarning, match="max_sorts was reached"):
        excalibr.calibrate(problem.scores, rows, problem.target, k=50, max_sorts=2)


@pytest.mark.parametrize("max_sorts", [2, 3, 7, 20])
@pytest.mark.parametrize("r", [2, 20])
@pytest.mark.parametrize("divergence", ["l1", "kl"])
def test_no_more_sorts_are_made_than_allowed(r: int, max_sorts: int, divergence: str) -> None:
    problem = movie_like_problem(np.random.default_rng(6), 150, 50, r, 1, 0.5)
    problem = problem if divergence == "l1" else as_kl(problem)
    problem = problem.asking(tolerance=1e-12, max_sorts=max_sorts)
    curve = Curve(problem)
    for policy in (solve(problem), curve.at(0.3).policy, curve.at(0.5).policy):
        assert policy.info is not None
        assert policy.info.sorts <= max_sorts
