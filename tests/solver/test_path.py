"""Several trade-offs in a row: the same answers as one at a time, in the order that was asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import excalibr
from excalibr._problem import Problem
from excalibr._solver import Curve, proven_gap, solve, solve_path
from tests.checks import check_agreement, check_certificate, check_lottery, scale
from tests.problems import movie_like_problem
from tests.strategies import small_problems

TRADE_OFFS = [0.9, 0.0, 0.3, 1.0, 0.05, 0.6]


@given(small_problems())
@settings(max_examples=60)
def test_a_path_equals_solving_one_at_a_time(problem: Problem) -> None:
    alone_at = [solve(problem.with_trade_off(trade_off)) for trade_off in TRADE_OFFS]
    for policy, alone in zip(solve_path(problem, TRADE_OFFS), alone_at, strict=True):
        check_lottery(policy)
        check_agreement(policy)
        check_certificate(policy)
        assert abs(policy.objective - alone.objective) <= 2e-9 * scale(policy.problem) + 1e-14 * abs(alone.objective)


@given(small_problems(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
@settings(max_examples=60)
def test_a_curve_is_solved_at_trade_offs_in_any_order(problem: Problem, trade_offs: list[float]) -> None:
    curve = Curve(problem)
    for trade_off in trade_offs:
        policy, alone = curve.at(trade_off).policy, solve(problem.with_trade_off(trade_off))
        check_lottery(policy)
        check_certificate(policy)
        assert abs(policy.objective - alone.objective) <= 2e-9 * scale(policy.problem) + 1e-14 * abs(alone.objective)


@given(small_problems(), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
@settings(max_examples=30)
def test_prices_from_elsewhere_are_only_a_place_to_start(problem: Problem, trade_off: float, other: float) -> None:
    elsewhere = solve(problem.with_trade_off(other))
    assert elsewhere.prices is not None
    curve = Curve(problem)
    point = curve.at(trade_off, prices=elsewhere.prices[curve.categories])
    check_lottery(point.policy)
    check_certificate(point.policy)
    assert point.value(trade_off) == pytest.approx(
        point.policy.objective - (1 - trade_off) * float(problem.scores.max()), abs=1e-9 * scale(point.policy.problem)
    )


@given(small_problems(), st.floats(0.0, 1.0))
@settings(max_examples=30)
def test_the_gap_of_a_policy_at_another_trade_off_bounds_what_is_lost_there(problem: Problem, trade_off: float) -> None:
    curve = Curve(problem)
    policy, best = curve.at(problem.trade_off).policy, solve(problem.with_trade_off(trade_off))
    assert best.prices is not None
    gap = curve.gap_at(trade_off, policy.rankings, policy.weights, best.prices[curve.categories])
    reached = (1 - trade_off) * policy.relevance - trade_off * policy.deviation
    assert gap >= best.objective - reached - 1e-12 * (1 + abs(reached))
    assert gap == pytest.approx(proven_gap(best.problem, policy.rankings, policy.weights, best.prices), abs=1e-15)


@pytest.mark.parametrize("r", [10, 20, 40])
def test_a_long_curve_outgrows_its_pool_and_stays_exact(r: int) -> None:
    curve = Curve(movie_like_problem(np.random.default_rng(7), 150, 50, r, 2, 0.5))
    for trade_off in np.random.default_rng(8).permutation(np.linspace(0.0, 1.0, 25)):
        policy = curve.at(float(trade_off)).policy
        check_lottery(policy)
        check_certificate(policy)


def test_policies_come_back_in_the_order_of_the_trade_offs() -> None:
    rng = np.random.default_rng(1)
    path = excalibr.calibrate_path(
        rng.random(30), np.eye(4)[rng.integers(0, 4, 30)], np.full(4, 0.25), k=10, trade_offs=TRADE_OFFS
    )
    assert [policy.problem.trade_off for policy in path] == TRADE_OFFS


def test_more_weight_on_calibration_never_deviates_more() -> None:
    rng = np.random.default_rng(4)
    path = excalibr.calibrate_path(
        rng.random(60),
        np.eye(5)[rng.integers(0, 5, 60)],
        rng.dirichlet(np.ones(5)),
        k=20,
        trade_offs=np.linspace(0, 1, 21),
    )
    deviations = np.array([policy.deviation for policy in path])
    relevances = np.array([policy.relevance for policy in path[:-1]])
    assert (np.diff(deviations) <= 1e-7).all()
    assert (np.diff(relevances) <= 1e-7).all()


def test_an_empty_path_is_empty() -> None:
    assert excalibr.calibrate_path([1.0, 2.0], [[1.0], [1.0]], [1.0], k=1, trade_offs=[]) == []


def test_a_trade_off_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"trade_off: is 1\.5, must be from 0"):
        excalibr.calibrate_path([1.0, 2.0], [[1.0], [1.0]], [1.0], k=1, trade_offs=[0.5, 1.5])
