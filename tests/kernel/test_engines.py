"""Every engine by itself on the same small programs, against the literal program over all rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats, Integers
from tests.kernel.programs import (
    ABOVE,
    BELOW,
    GENTLE_SLOPES,
    NOBODY,
    Arrays,
    best_lottery,
    best_policy,
    medium_programs,
    programs,
)

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

CHOSEN, SIMPLEX, PROXIMAL, INTERIOR = range(4)
CONVERGED = 0
NO_LIMIT = -1


class Answer(NamedTuple):
    lottery: tuple[Integers, Floats]
    prices: Floats
    objective: float
    bound: float
    gap: float
    engine: int
    status: int
    sorts: int
    steps: int


@given(programs())
@settings(max_examples=200)
def test_what_the_kernel_chooses_is_the_optimum_of_the_literal_program(program: Arrays) -> None:
    answer = solved(program, CHOSEN)
    check_answer(program, answer)
    assert is_closed(program, answer)


def test_slopes_a_million_times_apart_are_solved_beside_the_rounding_of_the_steepest() -> None:
    table = np.array([[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]] * 3 + [[0.0, 0.0, 1.0, 1e-6, 0.0, 0.0]])
    program = Arrays(np.zeros(1), np.array([[2 / 3, 1 / 3, 0.0, 0.0]]), table, np.ones(1), NOBODY, NOBODY)
    answer = solved(program, SIMPLEX)
    assert (answer.objective, answer.bound) == pytest.approx((-1.0, -1.0), abs=1e-12)
    assert answer.status == CONVERGED


@pytest.mark.parametrize("engine", [SIMPLEX, PROXIMAL, INTERIOR])
@given(program=programs(slopes=GENTLE_SLOPES))
def test_each_engine_finds_the_optimum_by_itself(engine: int, program: Arrays) -> None:
    answer = solved(program, engine)
    check_answer(program, answer)
    assert answer.engine == engine
    assert answer.gap <= 1e-5 * program.unit  # each by itself comes close; together they reach the tolerance


@given(medium_programs())
def test_programs_of_many_categories_reach_the_optimum_of_the_literal_program(program: Arrays) -> None:
    answer = solved(program, CHOSEN)
    check_lottery(program, answer)
    assert answer.objective == pytest.approx(program.objective(*answer.lottery), abs=1e-11 * program.unit)
    assert answer.objective == pytest.approx(best_policy(program), abs=answer.gap + 1e-7 * program.unit)
    assert answer.gap <= 1e-9 * program.unit


@pytest.mark.parametrize("engine", [SIMPLEX, PROXIMAL])
@given(program=medium_programs(slopes=GENTLE_SLOPES))
@settings(max_examples=50)
def test_each_engine_comes_close_to_the_literal_program(engine: int, program: Arrays) -> None:
    answer = solved(program, engine)
    check_lottery(program, answer)
    assert answer.objective == pytest.approx(best_policy(program), abs=answer.gap + 1e-7 * program.unit)
    assert answer.gap <= 1e-6 * program.unit


@given(medium_programs(), st.data())
@settings(max_examples=50)
def test_limits_that_never_bind_change_no_bit(program: Arrays, data: st.DataObject) -> None:
    groups = data.draw(arrays.arrays(np.int64, program.n, elements=st.integers(-1, 2)))
    loose = replace(program, group_of=groups, group_limits=np.full(3, program.k))
    (rankings, weights), prices, *rest = solved(program, SIMPLEX)
    (own_rankings, own_weights), own_prices, *own_rest = solved(loose, SIMPLEX)
    assert own_rankings.tolist() == rankings.tolist()
    assert own_weights.tolist() == weights.tolist()
    assert own_prices.tolist() == prices.tolist()
    assert own_rest == rest


@pytest.mark.parametrize("engine", [CHOSEN, SIMPLEX, INTERIOR])
@given(program=programs(grouped=True, slopes=GENTLE_SLOPES))
def test_limits_of_groups_are_kept_and_what_is_left_is_optimal(engine: int, program: Arrays) -> None:
    answer = solved(program, engine)
    allowed = {tuple(ranking) for ranking in program.rankings().tolist()}
    assert {tuple(ranking) for ranking in answer.lottery[0].tolist()} <= allowed
    check_answer(program, answer)
    assert answer.gap <= 1e-5 * program.unit


@given(programs(curved=True))
@settings(max_examples=200)
def test_both_engines_for_kl_agree(program: Arrays) -> None:
    chosen, proximal, interior = (solved(program, engine) for engine in (CHOSEN, PROXIMAL, INTERIOR))
    for answer in (chosen, proximal, interior):
        check_lottery(program, answer)
        assert answer.gap <= 1e-6 * program.unit
        assert answer.objective == pytest.approx(program.objective(*answer.lottery), abs=1e-10 * program.unit)
    assert is_closed(program, chosen)
    assert proximal.objective == pytest.approx(interior.objective, abs=2e-6 * program.unit)


@given(programs(), st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=1, max_size=5))
def test_a_sweep_over_trade_offs_ends_where_each_solve_ends(program: Arrays, trade_offs: list[float]) -> None:
    sweep, nowhere = parts.Sweep(program.of(parts)), np.empty(0)
    for trade_off in trade_offs:
        table = program.penalties.copy()
        table[:, BELOW : ABOVE + 1] *= trade_off
        own = replace(program, gains=(1 - trade_off) * program.gains, penalties=table)
        found = sweep.solve(own.of(parts), program.gains, 1 - trade_off, nowhere, 1e-9, NO_LIMIT)
        check_answer(own, Answer(*found))


ALIKE = Arrays(
    np.array([0.0, 1.25e-07]),
    np.array([[1.0, 0.0], [1.0, 0.0]]),
    np.array([[0.2750565, 0.2750565, 0.0, 1e6, 0.0, 0.0], [-1.0, -1.0, 0.0, 1e-9, 0.0, 0.0]]),
    np.ones(1),
    NOBODY,
    NOBODY,
)
"""Two candidates whose difference is rounding beside their price: the engine that had two sorts gave way to another."""


@example(ALIKE, 2, CHOSEN)
@given(programs(), st.integers(1, 3), st.sampled_from([CHOSEN, SIMPLEX, PROXIMAL, INTERIOR]))
def test_a_solve_that_is_cut_short_is_a_lottery_with_its_own_gap(program: Arrays, sorts: int, engine: int) -> None:
    answer = solved(program, engine, sorts)
    check_lottery(program, answer)
    best = best_lottery(*program.effects(program.rankings()), program.penalties)
    assert answer.objective <= best + 1e-7 * program.unit <= answer.bound + 2e-7 * program.unit
    assert answer.sorts <= max(sorts, 2)  # a proximal step sorts at least twice


@given(programs(), st.permutations(range(6)))
def test_the_order_of_the_candidates_does_not_matter(program: Arrays, shuffled: list[int]) -> None:
    order = [place for place in shuffled if place < program.n]
    other = replace(program, gains=program.gains[order], rows=program.rows[order])
    assert solved(program, CHOSEN).objective == pytest.approx(solved(other, CHOSEN).objective, abs=1e-8 * program.unit)


def test_an_engine_that_cannot_is_refused() -> None:
    table = np.array([[0.5, 0.5, 1.0, 1.0, 0.01, 0.0]])
    program = Arrays(np.arange(3.0), np.ones((3, 1)), table, np.ones(1), NOBODY, NOBODY)
    with pytest.raises(ValueError, match="straight penalties"):
        solved(program, SIMPLEX)
    with pytest.raises(ValueError, match="knows no groups"):
        solved(
            replace(program, group_of=np.zeros(3, dtype=np.int64), group_limits=np.ones(1, dtype=np.int64)), PROXIMAL
        )
    with pytest.raises(ValueError, match="three engines"):
        solved(program, 4)


def solved(program: Arrays, engine: int, max_sorts: int = NO_LIMIT) -> Answer:
    found: Any = parts.solve_program(program.of(parts), engine, 1e-9, max_sorts)
    return Answer(*found)


def is_closed(program: Arrays, answer: Answer) -> bool:
    """Whether the gap is what was asked, or not to be told from rounding beside the steepest slope."""
    return answer.status == CONVERGED or answer.gap <= 1e-12 * program.unit


def check_answer(program: Arrays, answer: Answer) -> None:
    """A lottery whose objective is that of the literal program, with a gap that its prices prove."""
    check_lottery(program, answer)
    rounding = 1e-11 * program.unit
    assert answer.objective == pytest.approx(program.objective(*answer.lottery), abs=rounding)
    assert answer.bound == pytest.approx(program.bound(answer.prices), abs=rounding)
    assert answer.gap == pytest.approx(max(answer.bound - answer.objective, 0.0), abs=rounding)
    best = best_lottery(*program.effects(program.rankings()), program.penalties)
    assert answer.objective == pytest.approx(best, abs=answer.gap + 1e-7 * program.unit)


def check_lottery(program: Arrays, answer: Answer) -> None:
    rankings, weights = answer.lottery
    assert 1 <= len(weights) <= program.r + 1
    assert (weights > 0).all()
    assert (np.diff(weights) <= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert all(len(set(ranking)) == program.k for ranking in rankings.tolist())
    assert len({tuple(ranking) for ranking in rankings.tolist()}) == len(weights), "a ranking comes twice"
