"""MIP greedy: the set is the best there is, its order is the weighted greedy's."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from excalibr import Problem, errors
from excalibr.baselines import mip_greedy
from tests.baselines import naive
from tests.baselines.problems import mixed_problems


def value_of_set(problem: Problem, chosen: list[int]) -> float:
    deviation = np.abs(problem.memberships.dense()[chosen].mean(axis=0) - problem.target).sum()
    return float(problem.gains[chosen].mean() - problem.trade_off * deviation)


def size_of_values(problem: Problem) -> float:
    return float(np.abs(problem.gains).max()) + problem.trade_off


def fractional_problem() -> Problem:
    generator = np.random.default_rng(5)
    rows = generator.dirichlet(np.ones(5), size=60)
    return Problem.of(generator.random(60), rows, generator.dirichlet(np.full(5, 20.0)), k=30, trade_off=0.9)


def test_chooses_the_best_of_all_sets() -> None:
    for problem in mixed_problems(40, seed=21, largest=9, spare=1):
        chosen = mip_greedy(problem).rankings[0].tolist()
        sets = combinations(range(problem.n), problem.k)
        best = max(value_of_set(problem, list(each)) for each in sets)
        assert value_of_set(problem, chosen) == pytest.approx(best, abs=1e-6 * size_of_values(problem))


def test_orders_the_set_as_the_weighted_greedy_does() -> None:
    for problem in mixed_problems(30, seed=22, spare=1):
        ranking = mip_greedy(problem).rankings[0]
        chosen = np.sort(ranking)
        among_chosen = Problem.of(
            problem.scores[chosen],
            problem.memberships.dense()[chosen],
            problem.target,
            trade_off=problem.trade_off,
            position_weights=problem.position_weights,
        )
        assert chosen[naive.greedy(among_chosen)].tolist() == ranking.tolist()


def test_means_the_same_whatever_the_scale_of_scores() -> None:
    scores, rows = np.array([4.0, 3.0, 2.0, 1.0]), np.eye(2)[[0, 0, 1, 1]]
    for scale in (1e-12, 1.0, 1e12):
        problem = Problem.of(scale * scores, rows, [0.5, 0.5], k=2, trade_off=0.0)
        assert mip_greedy(problem).rankings.tolist() == [[0, 1]]


def test_explains_that_it_does_not_apply_without_spare_candidates() -> None:
    problem = Problem.of([1.0, 2.0], [[1], [1]], [1.0])
    with pytest.raises(errors.InputError, match=r"k: is 2, the number of candidates.*only one set"):
        mip_greedy(problem)


def test_names_the_solvers_it_knows() -> None:
    with pytest.raises(
        errors.InputError, match="solver: is 'scipp', must be one of 'highs', 'scip'.*did you mean 'scip'"
    ):
        mip_greedy(fractional_problem(), solver="scipp")


@pytest.mark.parametrize("max_nodes", [0, 2.5, True])
def test_takes_a_whole_number_of_nodes(max_nodes: int) -> None:
    with pytest.raises(errors.ExcalibrError, match="max_nodes: is .*, must be a whole number of at least 1"):
        mip_greedy(fractional_problem(), max_nodes=max_nodes)


def test_says_that_it_stopped_at_its_limit_of_nodes() -> None:
    with pytest.warns(errors.GapWarning, match="limit of nodes"):
        policy = mip_greedy(fractional_problem(), max_nodes=1)
    assert len(set(policy.rankings[0])) == 30


def test_names_the_extra_that_brings_scip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(errors.MissingExtraError, match=r"excalibr\[paper\]"):
        mip_greedy(fractional_problem(), solver="scip")


class TestScip:
    @pytest.fixture(autouse=True)
    def _needs_scip(self) -> None:
        pytest.importorskip("cvxpy")
        pytest.importorskip("pyscipopt")

    def test_chooses_sets_as_good_as_highs_does_in_the_same_process(self) -> None:
        for problem in mixed_problems(15, seed=23, spare=1):
            by_highs = value_of_set(problem, mip_greedy(problem).rankings[0].tolist())
            by_scip = value_of_set(problem, mip_greedy(problem, solver="scip").rankings[0].tolist())
            assert by_scip == pytest.approx(by_highs, abs=1e-5 * size_of_values(problem))

    def test_says_that_it_stopped_at_its_limit_of_nodes(self) -> None:
        with pytest.warns(errors.GapWarning, match="limit of nodes"):
            policy = mip_greedy(fractional_problem(), solver="scip", max_nodes=1)
        assert len(set(policy.rankings[0])) == 30


def program_that_presolve_fails_on() -> Problem:
    """scipy 1.17's HiGHS ends here with "Solve error" unless presolve is off."""
    generator = np.random.default_rng(31)
    generator.choice([12, 20, 40, 60]), generator.choice([3, 5, 10])  # as the search for it drew them: 40 and 10
    scores = np.sort(generator.gamma(1.5, 0.1, 40))[::-1].astype(np.float32).astype(np.float64)
    generator.integers(8, 60), generator.integers(0, 41)
    rows = np.eye(2)[(generator.random(40) < 0.4).astype(int)]
    return Problem.of(scores, rows, [21 / 40, 19 / 40], k=10, trade_off=0.3)


def test_a_program_that_presolve_fails_on_is_solved_without_it() -> None:
    problem = program_that_presolve_fails_on()
    first, second = (np.flatnonzero(problem.memberships.dense()[:, column]) for column in (0, 1))
    sets = [[*first[:count], *second[: 10 - count]] for count in range(11)]  # scores fall: the best of each kind
    best = max(value_of_set(problem, chosen) for chosen in sets if len(chosen) == 10)
    assert value_of_set(problem, mip_greedy(problem).rankings[0].tolist()) == pytest.approx(best, abs=1e-9)


def test_a_gap_stops_at_a_set_that_is_near_the_best() -> None:
    for problem in mixed_problems(10, seed=24, largest=9, spare=1):
        best = value_of_set(problem, mip_greedy(problem).rankings[0].tolist())
        near = value_of_set(problem, mip_greedy(problem, relative_gap=0.1).rankings[0].tolist())
        assert near <= best + 1e-6 * size_of_values(problem)


@pytest.mark.parametrize("relative_gap", [-0.1, 1.0, float("nan"), None, "0.1", [0.1]])
def test_a_gap_is_a_share(relative_gap: Any) -> None:
    with pytest.raises(errors.ExcalibrError, match="relative_gap: is .*, must be at least 0 and below 1"):
        mip_greedy(fractional_problem(), relative_gap=relative_gap)


def test_with_one_category_a_candidate_no_set_is_better() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        scores, rows = random.random(9), np.eye(3)[random.integers(3, size=9)]
        problem = Problem.of(scores, rows, random.dirichlet(np.ones(3)), k=4, trade_off=float(random.random()))
        sets = np.array(list(combinations(range(9), 4)))
        apart = np.abs(rows[sets].mean(axis=1) - problem.target).sum(axis=1)
        values = (1 - problem.trade_off) * scores[sets].mean(axis=1) - problem.trade_off * apart
        chosen = np.sort(mip_greedy(problem).rankings[0]).tolist()
        assert values[sets.tolist().index(chosen)] == pytest.approx(values.max(), abs=1e-12)
