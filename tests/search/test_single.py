"""One good ranking: its value, that no move improves it, and that nothing is better where all can be tried."""

from __future__ import annotations

from math import perm

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr.search import SearchProgram, best_ranking, ranking_values
from excalibr.search.single import MOST_RANKINGS, local_optima
from tests.search.programs import (
    all_rankings,
    larger_program,
    larger_programs,
    naive_value,
    obeys_groups,
    small_program,
    small_programs,
    some_rankings,
)

ROUNDING = 1e-9


def slightly_below(value: float) -> float:
    return value - ROUNDING * max(1.0, abs(value))


def neighbours(program: SearchProgram, ranking: list[int]) -> list[list[int]]:
    """Every ranking one move away."""
    k = len(ranking)
    order = sorted(range(k), key=lambda slot: -program.position_weights[slot])  # moves shift along falling weights
    ranked = [ranking[slot] for slot in order]
    moved = []
    for rank in range(k):
        for outside in sorted(set(range(len(program.gains))) - set(ranked)):
            moved.append([*ranked[:rank], outside, *ranked[rank + 1 :]])
        for other in range(k):
            swapped, inserted = ranked.copy(), ranked.copy()
            swapped[rank], swapped[other] = swapped[other], swapped[rank]
            inserted.insert(other, inserted.pop(rank))
            moved += [swapped, inserted]
    slots = [order.index(slot) for slot in range(k)]
    by_slot = [[candidate[rank] for rank in slots] for candidate in moved]
    return [candidate for candidate in by_slot if obeys_groups(program, candidate)]


@given(larger_programs)
def test_the_value_is_the_one_by_definition(program: SearchProgram) -> None:
    starts = some_rankings(program, 3)
    rankings, values = local_optima(program, starts, 3, 2)
    for ranking, value in zip(rankings.tolist(), values.tolist(), strict=True):
        assert value == pytest.approx(naive_value(program, ranking), rel=1e-9, abs=1e-9)
    assert ranking_values(program, rankings) == pytest.approx(values, rel=1e-9, abs=1e-9)


@given(larger_programs)
def test_rankings_are_valid_and_no_worse_than_their_starts(program: SearchProgram) -> None:
    starts = some_rankings(program, 3)
    found = best_ranking(program, starts)
    ranking = found.ranking.tolist()
    assert len(set(ranking)) == len(program.position_weights)
    assert set(ranking) <= set(range(len(program.gains)))
    assert obeys_groups(program, ranking)
    assert found.value >= max(slightly_below(naive_value(program, start)) for start in starts.tolist())


@given(larger_programs)
@settings(max_examples=40)
def test_no_single_move_improves_the_answer(program: SearchProgram) -> None:
    rankings, values = local_optima(program, some_rankings(program, 2), 2, 1)
    for ranking, value in zip(rankings.tolist(), values.tolist(), strict=True):
        assert max(slightly_below(naive_value(program, other)) for other in neighbours(program, ranking)) <= value


@given(small_programs)
def test_all_rankings_are_tried_where_they_are_few(program: SearchProgram) -> None:
    found = best_ranking(program, some_rankings(program, 1))
    best = max(naive_value(program, ranking) for ranking in all_rankings(program))
    assert found.exhaustive
    assert found.value == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert naive_value(program, found.ranking.tolist()) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_the_local_search_finds_nearly_every_optimum_of_small_programs() -> None:
    optimal = 0
    for seed in range(100):
        program = small_program(seed)
        values = local_optima(program, some_rankings(program, 2), 2, 6)[1]
        optimal += values.max() >= slightly_below(max(naive_value(program, one) for one in all_rankings(program)))
    assert optimal >= 97


def test_more_rankings_than_are_tried_are_searched() -> None:
    program = larger_program(3)
    assert perm(len(program.gains), len(program.position_weights)) > MOST_RANKINGS
    assert not best_ranking(program, some_rankings(program, 1)).exhaustive


def test_a_start_with_too_many_of_a_group_is_repaired() -> None:
    program = larger_program(5)
    n, k = len(program.gains), len(program.position_weights)
    limited = program._replace(group_of=np.arange(n) % 3, group_limits=np.array([1, 2, k]))
    start = np.array([[*range(0, n, 3), *range(1, n, 3), *range(2, n, 3)][:k]])
    assert not obeys_groups(limited, start[0].tolist())
    assert obeys_groups(limited, best_ranking(limited, start).ranking.tolist())


def test_a_limit_that_can_be_met_is_met() -> None:
    """A cap and a floor as steep rows: the start breaks both, replacements mend them."""
    rng = np.random.default_rng(0)
    n, k = 60, 10
    kind = rng.integers(0, 3, n)
    program = SearchProgram(
        gains=np.where(kind == 0, 1.0, 0.0) + 0.1 * rng.random(n),
        indptr=np.arange(n + 1),
        indices=kind,
        values=np.ones(n),
        base=np.zeros(3),
        low=np.array([0.0, 0.3, 0.0]),
        high=np.array([0.25, 1.0, 1.0]),
        below=np.full(3, 1e6),
        above=np.full(3, 1e6),
        smoothing=np.zeros(3),
        position_weights=np.full(k, 1.0 / k),
    )
    start = np.argsort(-program.gains, kind="stable")[None, :k]
    found = best_ranking(program, start)
    shares = np.bincount(kind[found.ranking], minlength=3) / k
    assert shares[0] == pytest.approx(0.2)
    assert shares[1] >= 0.3 - ROUNDING
    assert found.value > 0.0


def test_a_deviation_budget_is_kept_when_a_start_keeps_it() -> None:
    program = larger_program(8)._replace(charge=1e9, allowance=0.5)
    free = program._replace(gains=np.zeros(len(program.gains)), charge=1.0, allowance=0.0)
    start = best_ranking(free, some_rankings(program, 2)).ranking[None]
    least = -ranking_values(free, start)[0]
    budgeted = program._replace(allowance=1.2 * least)
    found = best_ranking(budgeted, start)
    assert -ranking_values(free, found.ranking[None])[0] <= 1.2 * least + ROUNDING


def test_equal_weights_need_no_order() -> None:
    program = larger_program(9)
    k = len(program.position_weights)
    uniform = program._replace(position_weights=np.full(k, 1.0 / k))
    starts = some_rankings(uniform, 2)
    assert best_ranking(uniform, starts).value == pytest.approx(best_ranking(uniform, starts[:, ::-1]).value)


def test_the_same_starts_give_the_same_answer() -> None:
    program = larger_program(4)
    starts = some_rankings(program, 3)
    first, second = best_ranking(program, starts), best_ranking(program, starts.copy())
    assert first.ranking.tolist() == second.ranking.tolist()
    assert first.value.hex() == second.value.hex()


def test_scores_far_from_zero_do_not_hide_small_differences() -> None:
    program = larger_program(6)._replace(charge=1.0, allowance=0.0)
    shifted = program._replace(gains=program.gains + 1e9)
    starts = some_rankings(program, 3)
    near, far = best_ranking(program, starts).ranking, best_ranking(shifted, starts).ranking
    assert ranking_values(program, far[None])[0] == pytest.approx(ranking_values(program, near[None])[0], abs=1e-5)


@given(larger_programs)
@settings(max_examples=20)
def test_more_effort_never_finds_less(program: SearchProgram) -> None:
    starts = some_rankings(program, 2)
    assert best_ranking(program, starts, effort=3).value >= best_ranking(program, starts).value


def test_without_starts_the_search_begins_at_the_largest_gains() -> None:
    program = larger_program(7)
    none = np.empty((0, len(program.position_weights)), dtype=np.int64)
    order = np.argsort(-program.gains, kind="stable")
    start = np.empty(len(program.position_weights), dtype=np.int64)
    start[np.argsort(-program.position_weights, kind="stable")] = order[: len(start)]
    assert best_ranking(program, none).value == best_ranking(program, start[None]).value
