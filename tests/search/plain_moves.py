"""Properties of the search's inner functions, which only plain Python can call: run with ``NUMBA_DISABLE_JIT=1``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr.search import SearchProgram
from excalibr.search.moves import best_insertion, best_replacement, best_swap, insert, replace, swap
from excalibr.search.program import Terms, terms_of
from excalibr.search.state import State, evaluate, load, new_state
from tests.search.programs import larger_programs, naive_value, obeys_groups, some_rankings

FLOOR = -np.inf


def loaded(program: SearchProgram) -> tuple[Terms, State, SearchProgram]:
    """A ranking under improvement, and the program with its slots by falling weight, as the kernel sees them."""
    program = program._replace(position_weights=np.sort(program.position_weights)[::-1].copy())
    terms = terms_of(*program)
    sizes = (len(program.gains), len(program.position_weights), len(program.base), len(program.group_limits))
    state = new_state(*sizes, terms.pair_count)
    load(terms, state, some_rankings(program, 1)[0])
    return terms, state, program


def gains_of(program: SearchProgram, ranking: list[int], moved: list[list[int]]) -> list[float]:
    return [naive_value(program, other) - naive_value(program, ranking) for other in moved]


def near(value: float, program: SearchProgram, ranking: list[int]) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-11 * (1.0 + abs(naive_value(program, ranking))))


def check_best(found: tuple[float, int], gains: dict[int, float], program: SearchProgram, ranking: list[int]) -> None:
    """The move that was found gains what recomputation says; passed-over moves gain no more than the best bound."""
    gain, target = found
    if target < 0:
        assert not gains or max(gains.values()) <= 1e-9 * (1.0 + abs(naive_value(program, ranking)))
        return
    assert gain == near(gains[target], program, ranking)
    assert gain == near(max(gains.values()), program, ranking)


@given(larger_programs)
@settings(max_examples=40)
def check_replacements(program: SearchProgram) -> None:
    terms, state, program = loaded(program)
    ranking = state.ranking.tolist()
    for rank in range(len(ranking)):
        moved = {
            one: [*ranking[:rank], one, *ranking[rank + 1 :]] for one in np.flatnonzero(state.rank_of < 0).tolist()
        }
        allowed = {one: other for one, other in moved.items() if obeys_groups(program, other)}
        gains = dict(zip(allowed, gains_of(program, ranking, list(allowed.values())), strict=True))
        check_best(best_replacement(terms, state, rank, FLOOR), gains, program, ranking)


@given(larger_programs)
@settings(max_examples=40)
def check_swaps(program: SearchProgram) -> None:
    terms, state, program = loaded(program)
    ranking = state.ranking.tolist()
    for rank in range(len(ranking)):
        moved = {}
        for other in range(rank + 1, len(ranking)):
            moved[other] = ranking.copy()
            moved[other][rank], moved[other][other] = ranking[other], ranking[rank]
        gains = dict(zip(moved, gains_of(program, ranking, list(moved.values())), strict=True))
        check_best(best_swap(terms, state, rank, FLOOR), gains, program, ranking)


@given(larger_programs)
@settings(max_examples=40)
def check_insertions(program: SearchProgram) -> None:
    terms, state, program = loaded(program)
    ranking = state.ranking.tolist()
    for rank in range(len(ranking)):
        for step in (1, -1):
            moved = {}
            for other in range(rank + 2 * step, len(ranking) if step > 0 else -1, step):
                moved[other] = ranking.copy()
                moved[other].insert(other, moved[other].pop(rank))
            gains = dict(zip(moved, gains_of(program, ranking, list(moved.values())), strict=True))
            check_best(best_insertion(terms, state, rank, step, FLOOR), gains, program, ranking)


@given(larger_programs)
@settings(max_examples=40)
def check_that_moves_keep_the_books(program: SearchProgram) -> None:
    """After moves made and undone, ranks, group counts and value are those of the ranking loaded afresh."""
    terms, state, program = loaded(program)
    before = state.ranking.tolist()
    last = len(before) - 1
    swap(state, 0, last)
    insert(state, 0, last)
    insert(state, last, 0)
    swap(state, 0, last)
    assert state.ranking.tolist() == before
    _, candidate = best_replacement(terms, state, last, FLOOR)
    if candidate >= 0:
        replace(terms, state, last, candidate)
        evaluate(terms, state)
    fresh = loaded(program)[1]
    load(terms, fresh, state.ranking.copy())
    for kept, anew in zip(state[:8], fresh[:8], strict=True):
        assert kept.tolist() == anew.tolist()


if __name__ == "__main__":
    check_replacements()
    check_swaps()
    check_insertions()
    check_that_moves_keep_the_books()
