"""Ranges of users through the kernel's loop, each as if alone; and what cannot be reached, in words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from excalibr import Policy, Problem, calibrate
from excalibr._native import kernel
from excalibr._options import Options
from excalibr._problem import Batch, Status
from excalibr._solver import questions_of, solve
from excalibr._solver.seam import answer_to, question_of
from excalibr._types import Floats
from excalibr.errors import InfeasibleError
from tests.problems import movie_like_problem

Arrays = tuple[Floats, Floats, Floats]


def users(r: int, count: int = 12) -> list[Arrays]:
    """Scores, category rows and a target of each."""
    random = np.random.default_rng(r)
    drawn = [movie_like_problem(random, 40, 15, r, 2, 0.4) for _ in range(count)]
    return [(problem.scores, problem.memberships.dense(), problem.target) for problem in drawn]


def together(arrays: list[Arrays], targets: Any = None) -> Batch:
    scores, rows, wanted = zip(*arrays, strict=True)
    starts = np.arange(0, 40 * len(arrays) + 1, 40)
    targets = np.array(wanted) if targets is None else targets
    return Batch.of(np.concatenate(scores), starts, np.concatenate(rows), targets, options=Options(k=15, trade_off=0.4))


def asked(arrays: list[Arrays]) -> Any:
    return questions_of(together(arrays))


def alone(arrays: Arrays) -> Policy:
    return solve(Problem.of(*arrays, k=15, trade_off=0.4))


@pytest.mark.parametrize("r", [3, 20, 30])
def test_a_range_of_users_gets_what_each_gets_alone_to_the_bit(r: int) -> None:
    given = users(r)
    places, weights, counts, (of_each, categories, prices), gaps, *_ = kernel.solve_range(asked(given), 0, len(given))
    ends, price_ends = np.cumsum(counts), np.cumsum(of_each)
    for user, policy in enumerate(map(alone, given)):
        own = slice(ends[user] - counts[user], ends[user])
        assert weights[own].tolist() == policy.weights.tolist()
        assert places.reshape(-1, 15)[own].tolist() == policy.rankings.tolist()
        own = slice(price_ends[user] - of_each[user], price_ends[user])
        assert policy._known_prices is not None
        assert [categories[own].tolist(), prices[own].tolist()] == [each.tolist() for each in policy._known_prices]
        assert gaps[user] == policy.gap


@pytest.mark.parametrize("options", [{}, {"divergence": "kl"}, {"relevance_loss": 0.01}, {"draws": "single"}], ids=str)
def test_a_plain_question_is_the_same_in_its_short_form(options: dict[str, Any]) -> None:
    for arrays in users(5, count=3):
        problem = Problem.of(*arrays, k=15, **options)
        short, whole = answer_to(problem), kernel.solve_user(question_of(problem), 0)
        assert [each.tolist() for each in short[:2]] == [each.tolist() for each in whole[:2]]
        assert [each.tolist() for each in short[2]] == [each.tolist() for each in whole[2]]
        assert (short[3:5], short[5][:4]) == (whole[3:5], whole[5][:4])


def test_a_short_form_needs_a_candidate_for_each_slot_of_its_only_user() -> None:
    setting = kernel.Setting(np.full(3, 1 / 3), 0.5, Options().asked)
    two = kernel.Checked(np.ones(2), None, None, np.ones((2, 1)), np.ones(1), None, None, None, False)
    with pytest.raises(ValueError, match="one user has a candidate for each slot"):
        kernel.solve_alone(two, setting)


def test_a_thread_whose_solver_answered_others_before_gets_the_same_bits() -> None:
    given = [*users(3, count=2), *users(30, count=2), *users(5, count=2)]
    expected = []
    for arrays in given:  # each in a thread of its own, which begins without a solver
        with ThreadPoolExecutor(1) as fresh:
            expected.append(fresh.submit(alone, arrays).result())
    for arrays, policy in [*zip(given, expected, strict=True)] * 2:
        again = alone(arrays)
        assert again.rankings.tolist() == policy.rankings.tolist()
        assert again.weights.tolist() == policy.weights.tolist()
        assert (again.gap, again.prices.tolist()) == (policy.gap, policy.prices.tolist())


def test_what_is_found_cannot_be_written_to() -> None:
    policy = alone(users(3, count=1)[0])
    for array in (policy.rankings, policy.weights, policy.prices):
        assert not array.flags.writeable


def test_parts_of_a_range_are_the_range() -> None:
    questions = asked(users(4))
    whole = kernel.solve_range(questions, 0, 12)[:-1]
    parts = [kernel.solve_range(questions, first, last) for first, last in ((0, 5), (5, 6), (6, 12))]
    for number, found in enumerate(whole):
        arrays = found if isinstance(found, tuple) else (found,)
        each = [part[number] if isinstance(found, tuple) else (part[number],) for part in parts]
        for array, own in zip(arrays, zip(*each, strict=True), strict=True):
            assert np.concatenate(own).tolist() == array.tolist()


def test_users_may_be_left_out_or_ranked_by_score() -> None:
    given = users(3, count=3)
    targets = np.array([target for _, _, target in given])
    targets[1, 0] = -1.0
    batch = together(given, targets)
    assert kernel.solve_range(questions_of(batch), 0, 3)[2][1] == 0
    batch = batch.with_statuses(np.array([Status.BAD_K, Status.OK, Status.OK]))
    places, weights, counts, _, gaps, *_ = kernel.solve_range(questions_of(batch, fall_back=True), 0, 3)
    best = np.argsort(-given[1][0], kind="stable")[:15]
    assert counts[:2].tolist() == [0, 1]
    assert places[:15].tolist() == best.tolist()
    assert weights[0] == 1.0
    assert np.isnan(gaps[:2]).all()


def test_what_is_measured_is_what_the_policies_say() -> None:
    given = users(20, count=4)
    questions = asked(given)
    places, weights, counts, *_ = kernel.solve_range(questions, 0, 4)
    measured = kernel.measure_range(questions, places, weights, counts, 0, 4)
    for row, policy in zip(measured, map(alone, given), strict=True):
        draws = policy.draw_deviations
        after = [policy.relevance, policy.deviation, policy.weights @ draws, draws.max()]
        best = np.argsort(-policy.problem.scores, kind="stable")[:15]
        assert row[2:] == pytest.approx(after, abs=1e-12)
        assert row[0] == pytest.approx(policy.problem.scores[best] @ policy.problem.position_weights, abs=1e-12)


def test_users_who_are_cancelled_have_no_answer() -> None:
    questions = asked(users(3))
    questions.cancel()
    places, _, counts, *_ = kernel.solve_range(questions, 0, 12)
    assert len(places) == 0
    assert not counts.any()


@pytest.mark.parametrize(("first", "last"), [(0, 13), (5, 4), (12, 13)])
def test_ranges_that_are_not_of_the_users_are_refused(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="not one of the users"):
        kernel.solve_range(asked(users(3)), first, last)


def test_rankings_that_do_not_fit_are_not_measured() -> None:
    given = users(3, count=1)
    questions = asked(given)
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


def test_a_floor_out_of_reach_says_how_far_one_can_get() -> None:
    with pytest.raises(
        InfeasibleError, match="category 1 cannot reach 0.9; the most that any policy shows of it is 0.613"
    ):
        calibrate([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, floors={1: 0.9})


def test_limits_that_conflict_are_named() -> None:
    rows = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    with pytest.raises(InfeasibleError, match=r"these conflict: floor 0.55 of category 0, floor 0.55 of category 1"):
        calibrate(np.arange(6.0), rows, [0.4, 0.3, 0.3], k=4, floors={0: 0.55, 1: 0.55})


def test_a_limit_of_several_attributes_is_named_with_its_own() -> None:
    rows = {"genre": [[1, 0], [0, 1]], "age": [[1, 0], [1, 0]]}
    target = {"genre": [0.5, 0.5], "age": [0.5, 0.5]}
    with pytest.raises(InfeasibleError, match="floors: category 1 of 'age' cannot reach 0.5; the most .* is 0"):
        calibrate([0.9, 0.5], rows, target, k=1, floors={"age": {1: 0.5}})
