from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from excalibr import Problem
from excalibr.baselines import mmr, top_k
from tests.baselines import naive
from tests.baselines.problems import mixed_problems, one_problem


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
