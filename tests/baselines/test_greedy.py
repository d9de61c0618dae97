"""The greedies against their naive selves, and what their definitions promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr import Policy, Problem, baselines
from excalibr.baselines import mmr, top_k
from tests.baselines import naive
from tests.baselines.problems import mixed_problems, one_problem

Baseline: TypeAlias = Callable[[Problem], Policy]

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def problem_of(seed: int) -> Problem:
    return one_problem(np.random.default_rng(seed), largest=15, spare=0)


@given(SEEDS)
def test_weighted_greedy_equals_the_naive_one_item_for_item(seed: int) -> None:
    problem = problem_of(seed)
    assert baselines.greedy(problem).rankings.tolist() == [naive.greedy(problem)]


@given(SEEDS)
def test_simple_greedy_equals_the_naive_one_item_for_item(seed: int) -> None:
    problem = problem_of(seed)
    assert baselines.greedy_simple(problem).rankings.tolist() == [naive.greedy(problem, simple=True)]


@given(SEEDS)
def test_projected_greedy_equals_the_naive_one_item_for_item(seed: int) -> None:
    problem = problem_of(seed)
    assert baselines.greedy_projected(problem).rankings.tolist() == [naive.greedy(problem, projected=True)]


def test_greedies_equal_the_naive_ones_on_large_problems_full_of_ties() -> None:
    for problem in mixed_problems(40, seed=3, largest=150):
        assert baselines.greedy(problem).rankings.tolist() == [naive.greedy(problem)]
        assert baselines.greedy_simple(problem).rankings.tolist() == [naive.greedy(problem, simple=True)]
        assert baselines.greedy_projected(problem).rankings.tolist() == [naive.greedy(problem, projected=True)]


@pytest.mark.parametrize(
    "method",
    [baselines.greedy, baselines.greedy_simple, baselines.greedy_projected],
    ids=lambda method: method.__name__,
)
class TestEveryGreedy:
    def test_without_calibration_is_plain_relevance(self, method: Baseline) -> None:
        for problem in mixed_problems(50, seed=5):
            if (problem.position_weights > 0).all():  # in a slot that nobody sees all candidates tie
                relevance_only = problem.with_trade_off(0.0)
                expected = baselines.top_k(relevance_only).rankings
                assert method(relevance_only).rankings.tolist() == expected.tolist()

    def test_gives_ties_to_the_lower_index(self, method: Baseline) -> None:
        problem = Problem.of(np.ones(6), np.full((6, 2), 0.5), [0.5, 0.5], k=4)
        assert method(problem).rankings.tolist() == [[0, 1, 2, 3]]

    def test_ignores_an_offset_of_all_scores(self, method: Baseline) -> None:
        scores, rows = np.arange(8.0) % 3, np.eye(4)[np.arange(8) % 4]
        plain = Problem.of(scores, rows, [0.4, 0.3, 0.2, 0.1], k=5)
        shifted = Problem.of(scores + 2.0**44, rows, [0.4, 0.3, 0.2, 0.1], k=5)
        assert method(plain).rankings.tolist() == method(shifted).rankings.tolist()

    def test_fills_the_heaviest_slot_first(self, method: Baseline) -> None:
        problem = Problem.of([3.0, 2.0, 1.0], np.ones((3, 1)), [1.0], position_weights=[1, 5, 3])
        assert method(problem).rankings.tolist() == [[2, 0, 1]]

    def test_takes_a_target_too_small_to_divide_by(self, method: Baseline) -> None:
        problem = Problem.of([1.0, 2.0], np.eye(2), [1.0, 5e-324], k=2, trade_off=0.9)
        assert sorted(method(problem).rankings[0].tolist()) == [0, 1]

    def test_takes_the_largest_scores_there_are(self, method: Baseline) -> None:
        problem = Problem.of([-1e150, 1e150, 0.0], np.eye(3), [0.2, 0.3, 0.5])
        assert method(problem).rankings.tolist() == [[1, 2, 0]]


def test_weighted_greedy_picks_what_the_target_lacks_by_hand() -> None:
    """After a drama, with weights 2/3 and 1/3: 0.5·0.8/3 − 0.5·1.96 for another, 0.5·0.5/3 − 0.5·0.06 for a comedy."""
    problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, position_weights="reciprocal")
    assert baselines.greedy(problem).rankings.tolist() == [[0, 2]]


def test_projected_greedy_does_not_favour_many_categories_at_first() -> None:
    problem = Problem.of([1.0, 1.0, 0.5], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [0.5, 0.5], k=2, trade_off=0.4)
    assert baselines.greedy(problem).rankings[0, 0] == 2
    assert baselines.greedy_projected(problem).rankings[0, 0] == 0


def test_simple_greedy_chooses_without_regard_to_position_weights() -> None:
    for problem in mixed_problems(30, seed=6):
        steep = Problem.of(
            problem.scores,
            problem.memberships.dense(),
            problem.target,
            k=problem.k,
            trade_off=problem.trade_off,
            position_weights="reciprocal",
        )
        assert set(baselines.greedy_simple(problem).rankings[0]) == set(baselines.greedy_simple(steep).rankings[0])


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_mmr_equals_the_naive_one_item_for_item(seed: int) -> None:
    problem = one_problem(np.random.default_rng(seed), largest=15, spare=0)
    assert mmr(problem).rankings.tolist() == [naive.mmr(problem)]


def test_mmr_without_diversity_is_plain_relevance() -> None:
    for problem in mixed_problems(30, seed=31):
        relevance_only = problem.with_trade_off(0.0)
        assert mmr(relevance_only).rankings.tolist() == top_k(relevance_only).rankings.tolist()


def test_mmr_shows_every_category_before_it_repeats_one() -> None:
    problem = Problem.of([0.9, 0.8, 0.7, 0.6], np.eye(3)[[0, 0, 1, 2]], [1.0, 0.0, 0.0])
    assert mmr(problem).rankings.tolist() == [[0, 2, 3, 1]]


def test_overlap_is_the_mass_that_two_rows_share() -> None:
    """λ = 0.5, after candidate 0: 0.5·0.8 − 0.5·0.5 = 0.15 for the half-alike, 0.5·0.2 = 0.1 for the stranger."""
    problem = Problem.of([1.0, 0.8, 0.2], np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]), [1.0, 0.0, 0.0], k=2)
    assert mmr(problem).rankings.tolist() == [[0, 1]]


def test_best_scores_take_the_heaviest_slots() -> None:
    problem = Problem.of([1.0, 3.0, 2.0, 4.0], [[1]] * 4, [1.0], k=3, position_weights=[1, 3, 2])
    assert top_k(problem).rankings.tolist() == [[2, 3, 1]]


def test_equal_scores_keep_the_order_of_their_indices() -> None:
    problem = Problem.of([0.0, -0.0, 0.0, 1.0], [[1]] * 4, [1.0], k=4)
    assert top_k(problem).rankings.tolist() == [[3, 0, 1, 2]]


def test_trade_off_plays_no_part() -> None:
    problem = Problem.of([2.0, 1.0], [[1, 0], [0, 1]], [0.0, 1.0], k=1)
    rankings = [top_k(problem.with_trade_off(trade_off)).rankings.tolist() for trade_off in (0.0, 1.0)]
    assert rankings == [[[0]], [[0]]]
