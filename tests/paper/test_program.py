"""The two programs against one another, against the definition, and against their own constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr import Problem, Shown
from excalibr._problem import Penalty
from excalibr.errors import InputError, SolverError
from excalibr.paper import lp, lp_full, solve_full, solve_reduced
from tests.problems import with_scores

from .mixed import banded, optimum_by_enumeration, problems, unit

HALVES = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, position_weights="uniform")


@given(problems())
@settings(max_examples=50, deadline=None)
def test_both_programs_have_the_same_optimum(problem: Problem) -> None:
    reduced, full = solve_reduced(problem), solve_full(problem)
    assert reduced.objective == pytest.approx(full.objective, abs=1e-8 * unit(problem))
    assert reduced.matrix.shape == (problem.n, problem.k)
    assert full.matrix.shape == (problem.n, problem.n)


@given(problems(most_candidates=4, most_categories=3))
@settings(max_examples=50, deadline=None)
def test_the_optimum_is_that_of_all_rankings_enumerated(problem: Problem) -> None:
    assert solve_reduced(problem).objective == pytest.approx(optimum_by_enumeration(problem), abs=1e-6 * unit(problem))


@given(problems())
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("solver", ["highs-ds", "highs-ipm"])
def test_every_algorithm_of_highs_finds_the_same_optimum(solver: str, problem: Problem) -> None:
    by_default = solve_reduced(problem).objective
    assert solve_reduced(problem, solver).objective == pytest.approx(by_default, abs=1e-8 * unit(problem))


@given(problems())
@settings(max_examples=50, deadline=None)
def test_solutions_meet_their_constraints(problem: Problem) -> None:
    reduced, full = solve_reduced(problem), solve_full(problem)
    for solution in (reduced, full):
        assert solution.matrix.min() >= -1e-9
        np.testing.assert_allclose(solution.matrix.sum(axis=0), 1.0, atol=1e-8)
    assert reduced.matrix.sum(axis=1).max() <= 1 + 1e-8
    np.testing.assert_allclose(full.matrix.sum(axis=1), 1.0, atol=1e-8)


@given(problems())
@settings(max_examples=50, deadline=None)
def test_the_objective_is_that_of_the_matrix(problem: Problem) -> None:
    solution = solve_reduced(problem)
    exposure = solution.matrix @ problem.position_weights
    deviations = np.abs(problem.memberships.shares(exposure) - problem.target)
    value = problem.gains @ exposure - problem.trade_off * deviations.sum()
    assert solution.objective == pytest.approx(value, abs=1e-8 * unit(problem))
    if problem.trade_off > 0:
        np.testing.assert_allclose(solution.deviations, deviations, atol=1e-7 * unit(problem) / problem.trade_off)


@given(problems(most_candidates=4, most_categories=3), st.data())
@settings(max_examples=50, deadline=None)
def test_bands_and_slopes_of_their_own_are_met_as_in_the_definition(problem: Problem, data: st.DataObject) -> None:
    def some(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array(data.draw(st.lists(st.floats(low, high), min_size=problem.r, max_size=problem.r)))

    low = some(0.0, 0.6)
    band = Penalty(low=low, high=low + some(0.0, 0.4), below=some(0.0, 2.0), above=some(0.0, 2.0))
    asked = banded(problem, band)
    expected = pytest.approx(optimum_by_enumeration(asked), abs=1e-6 * unit(problem))
    assert solve_reduced(asked).objective == expected
    assert solve_full(asked).objective == expected


def test_nothing_is_paid_inside_a_band() -> None:
    band = Penalty(low=np.zeros(2), high=np.ones(2), below=np.ones(2), above=np.ones(2))
    solution = solve_reduced(banded(HALVES, band))
    assert solution.deviations.tolist() == [0.0, 0.0]
    assert solution.objective == pytest.approx(0.5 * 2.5)


def test_an_infinite_slope_is_a_hard_limit() -> None:
    cap = Penalty(low=np.zeros(2), high=np.array([0.5, 1.0]), below=np.zeros(2), above=np.array([np.inf, 0.0]))
    solution = solve_reduced(banded(replace(HALVES, trade_off=0.0), cap))
    assert solution.matrix.sum(axis=1) == pytest.approx([1.0, 0.0, 1.0])


def test_limits_that_no_policy_can_meet_are_an_error_that_says_so() -> None:
    floor = Penalty(low=np.array([0.0, 0.9]), high=np.ones(2), below=np.full(2, np.inf), above=np.full(2, np.inf))
    with pytest.raises(SolverError, match=r"highs found no optimum .*n=3, k=2, r=2.* infeasible"):
        solve_reduced(banded(HALVES, floor))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"divergence": "kl"}, "divergence='kl'"),
        ({"floors": {1: 0.9}, "pinned": {0: 0}}, "floors or caps and pinned"),
        ({"shown": Shown(categories=[[1, 0]])}, "shown"),
        ({"max_per_category": 1}, "max_per_category"),
    ],
)
def test_what_the_programs_have_no_constraint_for_is_refused(asked: dict[str, Any], named: str) -> None:
    problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, **asked)
    for solve in (solve_reduced, solve_full, lp, lp_full):
        with pytest.raises(InputError, match=f"problem: asks for {named}, must leave it to the exact method"):
            solve(problem)


def test_scores_of_any_scale_are_solved_as_well() -> None:
    for scale in (1e-6, 1e6):
        problem = with_scores(HALVES, HALVES.scores * scale, trade_off=0.0)
        assert solve_reduced(problem).objective / scale == pytest.approx(2.5, abs=1e-9)


def test_an_offset_of_all_scores_costs_no_precision() -> None:
    random = np.random.default_rng(106)  # with scores of 1e6 and more, HiGHS's tolerances once hid all that differs
    scores, categories = random.random(20), random.dirichlet(np.ones(6), 20)
    plain = Problem.of(scores, categories, random.dirichlet(np.ones(6)), k=8)
    shifted = with_scores(plain, plain.scores + 1e6)
    for solve in (solve_reduced, solve_full):
        offset = 1e6 * (1.0 - plain.trade_off)
        assert solve(shifted).objective - offset == pytest.approx(solve(plain).objective, abs=1e-8)


def test_an_unknown_solver_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'highs-ipm'"):
        solve_reduced(HALVES, "highs_ipm")
    with pytest.raises(InputError, match="solver: is .*, must be one of 'highs'"):
        solve_reduced(HALVES, np.array(["highs", "glop"]))  # type: ignore[arg-type]


def test_a_solution_shows_its_size_status_and_times() -> None:
    solution = solve_reduced(HALVES)
    assert solution.status == "optimal"
    assert solution.seconds_building > 0 < solution.seconds_solving
    assert repr(solution).startswith("Solution(reduced, 3 × 2: objective ")
