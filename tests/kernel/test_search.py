"""The local search against definitions: every move, every neighbour, and every ranking where there are few."""

from __future__ import annotations

from dataclasses import replace
from math import perm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.search_programs import SearchArrays, film_like, programs

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

ENOUGH = 10**12
FEW = 100_000
"""Up to so many rankings the kernel tries them all."""

LARGER = programs(candidates=14, slots=9, categories=6)
KINDS = ["replacement", "swap", "insertion"]
SEARCHER = parts.Searcher()
"""One for all tests: what it keeps from one program must not reach the next."""


def falling(program: SearchArrays) -> SearchArrays:
    """The program with its slots by falling weight, so that slots are ranks."""
    return replace(program, position_weights=np.sort(program.position_weights)[::-1].copy())


def moved_by(ranking: list[int], kind: str, rank: int, target: int) -> list[int]:
    """The ranking after a move, by its definition."""
    after = ranking.copy()
    if kind == "replacement":
        after[rank] = target
    elif kind == "swap":
        after[rank], after[target] = ranking[target], ranking[rank]
    else:
        after.insert(target, after.pop(rank))
    return after


def targets(program: SearchArrays, ranking: list[int], kind: str, rank: int) -> list[int]:
    """Where a move of this kind may lead from a rank, as the search looks at them."""
    if kind == "replacement":
        outside = [candidate for candidate in range(program.n) if candidate not in ranking]
        return [one for one in outside if program.allows(moved_by(ranking, kind, rank, one))]
    first = rank + 1 if kind == "swap" else 0
    return [other for other in range(first, program.k) if kind == "swap" or abs(other - rank) > 1]


def near(program: SearchArrays) -> float:
    return 1e-12 * program.size


@given(LARGER, st.sampled_from(KINDS), st.integers(0, 8))
def test_the_best_move_gains_what_recomputation_says(program: SearchArrays, kind: str, rank: int) -> None:
    program, rank = falling(program), rank % program.k
    ranking = program.some_rankings(1)[0]
    gains = {
        target: program.value(moved_by(ranking.tolist(), kind, rank, target)) - program.value(ranking.tolist())
        for target in targets(program, ranking.tolist(), kind, rank)
    }
    found = SEARCHER.best_move(program.of(parts), ranking, kind, rank)
    if found is None:
        assert not gains
        return
    gain, target = found
    assert gain == pytest.approx(gains[target], rel=0, abs=near(program))
    assert gain == pytest.approx(max(gains.values()), rel=0, abs=near(program))


@given(LARGER, st.data())
def test_moves_made_one_by_one_leave_the_state_of_a_ranking_loaded_afresh(
    program: SearchArrays, data: st.DataObject
) -> None:
    program = falling(program)
    ranking = program.some_rankings(1)[0].tolist()
    moves, after = [], ranking
    for _ in range(data.draw(st.integers(0, 6))):
        kind, rank = data.draw(st.sampled_from(KINDS)), data.draw(st.integers(0, program.k - 1))
        if possible := targets(program, after, kind, rank):
            moves.append((KINDS.index(kind), rank, data.draw(st.sampled_from(possible))))
            after = moved_by(after, kind, *moves[-1][1:])
    start, none = np.array(ranking), np.empty((0, 3), dtype=np.int64)
    made = SEARCHER.after_moves(program.of(parts), start, np.array(moves, dtype=np.int64).reshape(-1, 3))
    assert made[0].tolist() == after
    fresh = SEARCHER.after_moves(program.of(parts), np.array(after), none)
    assert [each.tolist() for each in (made[0], *made[2:])] == [each.tolist() for each in (fresh[0], *fresh[2:])]
    assert made[1].hex() == fresh[1].hex()
    offset = program.gains.max() * program.position_weights.sum()
    assert made[1] + offset == pytest.approx(program.value(after), rel=0, abs=near(program))


@given(programs())
@settings(max_examples=200)
def test_all_rankings_are_tried_where_they_are_few(program: SearchArrays) -> None:
    ranking, value, exhaustive, limited = SEARCHER.best_ranking(program.of(parts), program.some_rankings(1), 0)
    best = max(program.value(one) for one in program.rankings())
    assert exhaustive
    assert not limited
    assert value == pytest.approx(best, rel=0, abs=near(program))
    assert program.value(ranking.tolist()) == pytest.approx(best, rel=0, abs=near(program))
    assert program.allows(ranking.tolist())


@given(LARGER)
def test_values_are_those_by_definition_and_rankings_are_valid(program: SearchArrays) -> None:
    starts = program.some_rankings(3)
    rankings, values, complete = SEARCHER.local_optima(program.of(parts), starts, 3, 2, ENOUGH)
    assert complete
    for ranking, value in zip(rankings.tolist(), values.tolist(), strict=True):
        assert len(set(ranking)) == program.k
        assert program.allows(ranking)
        assert value == pytest.approx(program.value(ranking), rel=0, abs=near(program))
    assert values.max() >= max(program.value(start) for start in starts.tolist()) - near(program)


@given(LARGER)
@settings(max_examples=40)
def test_no_single_move_improves_a_local_optimum(program: SearchArrays) -> None:
    program = falling(program)
    rankings, values, _ = SEARCHER.local_optima(program.of(parts), program.some_rankings(2), 2, 1, ENOUGH)
    for ranking, value in zip(rankings.tolist(), values.tolist(), strict=True):
        for kind in KINDS:
            for rank in range(program.k):
                for target in targets(program, ranking, kind, rank):
                    assert program.value(moved_by(ranking, kind, rank, target)) <= value + near(program)


def test_the_local_search_finds_nearly_every_optimum_of_small_programs() -> None:
    optimal = 0
    for seed in range(60):
        program = film_like(seed, 7, 4, 4)
        found = SEARCHER.local_optima(program.of(parts), program.some_rankings(2), 2, 6, ENOUGH)[1].max()
        optimal += found >= max(program.value(one) for one in program.rankings()) - near(program)
    assert optimal >= 58


def test_more_rankings_than_are_tried_are_searched_and_more_descents_find_no_less() -> None:
    program = film_like(0, 40, 8, 10)
    assert perm(program.n, program.k) > FEW
    starts = program.some_rankings(4)
    ranking, value, exhaustive, limited = SEARCHER.best_ranking(program.of(parts), starts, ENOUGH)
    assert (exhaustive, limited) == (False, False)
    assert value == pytest.approx(program.value(ranking.tolist()))
    assert value >= SEARCHER.local_optima(program.of(parts), starts, 1, 0, ENOUGH)[1].max()


@pytest.mark.parametrize("operations", [0, 1, 100, 10_000])
def test_a_search_whose_effort_ends_answers_with_what_it_has(operations: int) -> None:
    program = film_like(1, 60, 12, 10)
    starts = program.some_rankings(3)
    ranking, value, _, limited = SEARCHER.best_ranking(program.of(parts), starts, operations)
    assert limited
    assert len(set(ranking.tolist())) == program.k
    assert value == pytest.approx(program.value(ranking.tolist()))
    assert value >= max(program.value(start) for start in starts.tolist()) - near(program)
    scan = 2 * program.n * (program.r + 8)
    assert SEARCHER.operations()[0] <= operations + len(starts) * 4 * program.n + 10 * scan


def test_more_effort_never_finds_less() -> None:
    program = film_like(2, 60, 12, 10)
    found = [
        SEARCHER.best_ranking(program.of(parts), program.some_rankings(3), effort)[1]
        for effort in (0, 10**3, 10**4, 10**5, ENOUGH)
    ]
    assert found == sorted(found)


def test_a_start_with_too_many_of_a_group_is_repaired() -> None:
    program = film_like(5, 30, 9, 5)
    limited = replace(program, group_of=np.arange(30) % 3, group_limits=np.array([1, 2, 9]))
    start = np.arange(0, 27, 3)[None]
    assert not limited.allows(start[0].tolist())
    assert limited.allows(SEARCHER.best_ranking(limited.of(parts), start, 0)[0].tolist())


def test_steep_limits_that_can_be_met_are_met() -> None:
    """A cap and a floor as steep rows: the start breaks both, replacements keep them."""
    program = film_like(0, 60, 10, 3)
    kind = np.arange(60) % 3
    table = np.zeros((3, 6))
    table[:, 0], table[:, 1] = [0.0, 0.3, 0.0], [0.25, 1.0, 1.0]
    table[:, 2:4] = 1e6
    gains = np.where(kind == 0, 1.0, 0.0) + 0.1 * program.gains
    steep = replace(program, gains=gains, rows=np.eye(3)[kind], penalties=table, position_weights=np.full(10, 0.1))
    start = np.argsort(-gains, kind="stable")[None, :10]
    found = steep.shares(SEARCHER.best_ranking(steep.of(parts), start, ENOUGH)[0].tolist())
    assert found[0] == pytest.approx(0.2)
    assert found[1] >= 0.3 - 1e-9


def test_a_budget_is_kept_where_a_start_keeps_it() -> None:
    program = film_like(8, 40, 8, 6)
    free = replace(program, gains=np.zeros(40))
    start, value, *_ = SEARCHER.best_ranking(free.of(parts), program.some_rankings(2), ENOUGH)
    budgeted = replace(program, charge=1e9, allowance=-1.2 * value)
    found = SEARCHER.best_ranking(budgeted.of(parts), start[None], ENOUGH)[0]
    assert free.charged(found.tolist()) <= -1.2 * value + 1e-9
    assert program.gains[found] @ program.position_weights >= program.gains[start] @ program.position_weights


def test_without_starts_the_search_begins_at_the_largest_gains() -> None:
    program = film_like(7, 40, 8, 6)
    weights = program.position_weights[::-1].copy()  # the heaviest slot is the last one
    program = replace(program, position_weights=weights)
    start = np.argsort(-program.gains, kind="stable")[:8][::-1].copy()
    none = np.empty((0, 8), dtype=np.int64)
    first, second = (SEARCHER.best_ranking(program.of(parts), one, ENOUGH) for one in (none, start[None]))
    assert first[0].tolist() == second[0].tolist()


def test_gains_far_from_zero_do_not_hide_small_differences() -> None:
    program = film_like(6, 40, 8, 6)
    shifted = replace(program, gains=program.gains + 1e9)
    starts = program.some_rankings(3)
    near_zero, far = (SEARCHER.best_ranking(one.of(parts), starts, ENOUGH)[0] for one in (program, shifted))
    assert program.value(far.tolist()) == pytest.approx(program.value(near_zero.tolist()), abs=1e-5)


def test_a_scratch_used_before_and_a_new_one_find_the_same_bits() -> None:
    program = film_like(3, 50, 10, 8)
    starts = program.some_rankings(3)
    SEARCHER.best_ranking(film_like(4, 90, 20, 12).of(parts), np.arange(20)[None], ENOUGH)
    used, new = (one.best_ranking(program.of(parts), starts, ENOUGH) for one in (SEARCHER, parts.Searcher()))
    assert used[0].tolist() == new[0].tolist()
    assert used[1].hex() == new[1].hex()
