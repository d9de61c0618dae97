"""Ranges of users through the kernel's loop: what each gets is what they would get alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from excalibr import Problem
from excalibr._arrays import frozen
from excalibr._native import kernel
from excalibr._problem import Limits
from excalibr._solver import solve
from excalibr._solver.questions import BY_RELEVANCE, LEFT_OUT, SOLVED, UserArrays, questions_of
from tests.problems import movie_like_problem


def users(r: int, count: int = 12) -> list[Problem]:
    random = np.random.default_rng(r)
    return [movie_like_problem(random, 40, 15, r, 2, 0.4) for _ in range(count)]


def together(problems: list[Problem], asked: list[int] | None = None) -> Any:
    entries = np.cumsum([0, *(len(problem.memberships.values) for problem in problems)])
    rows = [problem.memberships for problem in problems]
    sizes = [problem.n for problem in problems]
    starts = [row.indptr[:-1] + entry for row, entry in zip(rows, entries, strict=False)]
    targets = np.array([problem.target for problem in problems])
    arrays: dict[str, Any] = {
        "scores": np.concatenate([problem.scores for problem in problems]),
        "starts": np.cumsum([0, *sizes]),
        "items": np.arange(sum(sizes)),
        "indptr": np.append(np.concatenate(starts), entries[-1]),
        "indices": np.concatenate([row.indices for row in rows]),
        "values": np.concatenate([row.values for row in rows]),
        "lows": targets,
        "highs": targets.copy(),
        "weights": np.ones((1, targets.shape[1])),
        "trade_offs": np.array([problem.trade_off for problem in problems]),
        "slots": np.array([problem.k for problem in problems]),
        "weight_starts": np.zeros(len(problems), dtype=np.int64),
        "position_weights": problems[0].position_weights,
        "asked": np.array(asked or [SOLVED] * len(problems)),
    }
    users: dict[str, Any] = {name: frozen(array) for name, array in arrays.items()}
    return questions_of(UserArrays(**users), Limits())


@pytest.mark.parametrize("r", [3, 20, 30])
def test_a_range_of_users_gets_what_each_gets_alone_to_the_bit(r: int) -> None:
    problems = users(r)
    places, weights, counts, prices, gaps, *_ = kernel.solve_range(together(problems), 0, len(problems))
    ends = np.cumsum(counts)
    for user, policy in enumerate(map(solve, problems)):
        own = slice(ends[user] - counts[user], ends[user])
        assert weights[own].tolist() == policy.weights.tolist()
        assert places.reshape(-1, 15)[own].tolist() == policy.rankings.tolist()
        assert policy.prices is not None
        assert prices[user].tolist() == policy.prices.tolist()
        assert gaps[user] == policy.gap


def test_parts_of_a_range_are_the_range() -> None:
    questions = together(users(4))
    *whole, limit_prices, _ = kernel.solve_range(questions, 0, 12)
    parts = [kernel.solve_range(questions, first, last) for first, last in ((0, 5), (5, 6), (6, 12))]
    assert limit_prices is None
    for number, array in enumerate(whole):
        assert np.concatenate([part[number] for part in parts]).tolist() == array.tolist()


def test_users_may_be_left_out_or_ranked_by_score() -> None:
    problems = users(3, count=3)
    questions = together(problems, [LEFT_OUT, BY_RELEVANCE, SOLVED])
    places, weights, counts, _, gaps, *_ = kernel.solve_range(questions, 0, 3)
    best = np.argsort(-problems[1].scores, kind="stable")[:15]
    assert counts[:2].tolist() == [0, 1]
    assert places[:15].tolist() == best.tolist()
    assert weights[0] == 1.0
    assert np.isnan(gaps[:2]).all()


def test_what_is_measured_is_what_the_policies_say() -> None:
    problems = users(20, count=4)
    questions = together(problems)
    places, weights, counts, *_ = kernel.solve_range(questions, 0, 4)
    measured = kernel.measure_range(questions, places, weights, counts, 0, 4)
    for row, policy in zip(measured, map(solve, problems), strict=True):
        draws = policy.draw_deviations
        after = [policy.relevance, policy.deviation, policy.weights @ draws, draws.max()]
        best = np.argsort(-policy.problem.scores, kind="stable")[:15]
        assert row[2:] == pytest.approx(after, abs=1e-12)
        assert row[0] == pytest.approx(policy.problem.scores[best] @ policy.problem.position_weights, abs=1e-12)


def test_users_who_are_cancelled_have_no_answer() -> None:
    questions = together(users(3))
    questions.cancel()
    places, _, counts, *_ = kernel.solve_range(questions, 0, 12)
    assert len(places) == 0
    assert not counts.any()


@pytest.mark.parametrize(("first", "last"), [(0, 13), (5, 4), (12, 13)])
def test_ranges_that_are_not_of_the_users_are_refused(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="not one of the users"):
        kernel.solve_range(together(users(3)), first, last)


def test_rankings_that_do_not_fit_are_not_measured() -> None:
    problems = users(3, count=1)
    questions = together(problems)
    shown = np.arange(15)
    assert kernel.measure_range(questions, shown, np.ones(1), np.array([1]), 0, 1).shape == (1, 6)
    with pytest.raises(ValueError, match="unknown candidate"):
        kernel.measure_range(questions, shown + 26, np.ones(1), np.array([1]), 0, 1)
    with pytest.raises(ValueError, match="counted"):
        kernel.measure_range(questions, shown, np.ones(1), np.array([2]), 0, 1)
    with pytest.raises(ValueError, match="has a count"):
        kernel.measure_range(questions, shown, np.ones(1), np.array([1, 1]), 0, 1)
    with pytest.raises(ValueError, match="counted|out of range|has a count"):
        kernel.measure_range(questions, shown, np.ones(1), np.array([-1]), 0, 1)
