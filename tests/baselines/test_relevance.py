from __future__ import annotations

from excalibr import Problem
from excalibr.baselines import top_k


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
