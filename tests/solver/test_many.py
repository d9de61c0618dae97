from typing import Any

import numpy as np
import pytest

from excalibr import Problem
from excalibr._arrays import frozen
from excalibr.solver import many, prepare, solve
from excalibr.solver.engines import UNLIMITED
from excalibr.solver.kernel import close_plain, close_program, solve_program
from excalibr.solver.many import BY_RELEVANCE, LEFT_OUT, SOLVED, Users
from tests.problems import movie_like_problem


def users(r: int, count: int = 12) -> list[Problem]:
    random = np.random.default_rng(r)
    return [movie_like_problem(random, 40, 15, r, 2, 0.4) for _ in range(count)]


def together(problems: list[Problem]) -> Users:
    entries = np.cumsum([0, *(len(problem.memberships.values) for problem in problems)])
    rows = [problem.memberships for problem in problems]
    sizes = [problem.n for problem in problems]
    starts = [row.indptr[:-1] + entry for row, entry in zip(rows, entries, strict=False)]
    arrays = (
        np.concatenate([problem.scores for problem in problems]),
        np.cumsum([0, *sizes]),
        np.arange(sum(sizes)),
        np.append(np.concatenate(starts), entries[-1]),
        np.concatenate([row.indices for row in rows]),
        np.concatenate([row.values for row in rows]),
        np.array([problem.target for problem in problems]),
        np.array([problem.trade_off for problem in problems]),
        np.array([problem.k for problem in problems]),
        np.zeros(len(problems), dtype=np.int64),
        problems[0].position_weights,
    )
    return Users(*map(frozen, arrays))


solve_range: Any = many.solve_range
measure_range: Any = many.measure_range
LIMITS = (1e-9, UNLIMITED)


@pytest.mark.parametrize("r", [3, 20, 30])
def test_a_range_of_users_gets_what_each_gets_alone_to_the_bit(r: int) -> None:
    problems = users(r)
    asked = np.full(len(problems), SOLVED)
    places, weights, counts, prices, gaps = solve_range(together(problems), asked, *LIMITS, 0, len(problems))
    ends = np.cumsum(counts)
    for user, policy in enumerate(map(solve, problems)):
        own = slice(ends[user] - counts[user], ends[user])
        assert weights[own].tolist() == policy.weights.tolist()
        assert places.reshape(-1, 15)[own].tolist() == policy.rankings.tolist()
        assert policy.prices is not None
        assert prices[user].tolist() == policy.prices.tolist()
        assert gaps[user] == policy.gap


def test_parts_of_a_range_are_the_range() -> None:
    problems = users(4)
    asked = np.full(len(problems), SOLVED)
    whole = solve_range(together(problems), asked, *LIMITS, 0, 12)
    parts = [solve_range(together(problems), asked, *LIMITS, first, last) for first, last in ((0, 5), (5, 6), (6, 12))]
    for number, array in enumerate(whole):
        assert np.concatenate([part[number] for part in parts]).tolist() == array.tolist()


def test_users_may_be_left_out_or_ranked_by_score() -> None:
    problems = users(3, count=3)
    asked = np.array([LEFT_OUT, BY_RELEVANCE, SOLVED])
    places, weights, counts, _, gaps = solve_range(together(problems), asked, *LIMITS, 0, 3)
    best = np.argsort(-problems[1].scores, kind="stable")[:15]
    assert counts[:2].tolist() == [0, 1]
    assert places[:15].tolist() == best.tolist()
    assert weights[0] == 1.0
    assert np.isnan(gaps[:2]).all()


def test_what_is_measured_is_what_the_policies_say() -> None:
    problems = users(20, count=4)
    asked = np.full(4, SOLVED)
    places, weights, counts, _, _ = solve_range(together(problems), asked, *LIMITS, 0, 4)
    measured = measure_range(together(problems), places, weights, counts, 0, 4)
    for row, policy in zip(measured, map(solve, problems), strict=True):
        draws = policy.draw_deviations
        after = [policy.relevance, policy.deviation, policy.weights @ draws, draws.max()]
        best = np.argsort(-policy.problem.scores, kind="stable")[:15]
        assert row[2:] == pytest.approx(after, abs=1e-12)
        assert row[0] == pytest.approx(policy.problem.scores[best] @ policy.problem.position_weights, abs=1e-12)


def test_the_kernel_can_be_prepared_ahead() -> None:
    prepare()
    assert all("_kernel" in vars(door) for door in (close_plain, close_program, solve_program, solve_range))
