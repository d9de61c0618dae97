"""The two master programs over given columns: against HiGHS, a scalar search, and by duality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from excalibr._types import Floats, Integers
from tests.kernel.programs import GENTLE_SLOPES, NOBODY, Arrays, best_lottery, columns, cost

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

ALL = -1
"""Price the whole pool from the beginning."""
PASSES = 10**6
EXACT = 1e-13
"""Of the program's unit: what the simplex leaves; the interior point a little more."""


def test_columns_are_the_candidates_of_a_program_with_one_slot() -> None:
    program = Arrays(
        np.array([1.0, 4.0]), np.eye(2), np.array([[0.5, 0.5, 1, 1, 0, 0]] * 2), np.ones(1), NOBODY, NOBODY
    )
    ended, by_prices, by_weights, _, (rankings, weights) = optimum(parts.SimplexMaster, program, EXACT)
    assert ended
    assert dict(zip(rankings[:, 0].tolist(), weights.tolist(), strict=True)) == pytest.approx({1: 1.0})
    assert by_prices == by_weights == pytest.approx(-1.0)


@given(columns())
def test_the_simplex_finds_the_optimum_over_its_columns(program: Arrays) -> None:
    ended, by_prices, by_weights, prices, lottery = optimum(parts.SimplexMaster, program, EXACT)
    assert ended
    check_lottery(program, lottery, by_weights, 1e-11)
    assert by_prices == pytest.approx(by_weights, abs=1e-10 * program.unit)
    assert gap(program, lottery, prices) <= 1e-10 * program.unit
    expected = best_lottery(*program.effects(program.rankings()), program.penalties)
    assert by_weights == pytest.approx(expected, abs=1e-7 * program.unit)


@given(columns())
def test_the_simplex_gives_at_most_one_column_more_than_categories(program: Arrays) -> None:
    *_, (rankings, _) = optimum(parts.SimplexMaster, program, EXACT)
    assert len(rankings) <= program.r + 1


@given(columns(), st.data())
def test_columns_that_come_one_by_one_lead_to_the_same_optimum(program: Arrays, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(program.n)))
    master, value = parts.SimplexMaster(program.of(parts), 0, EXACT * program.unit), -np.inf
    for column in order:
        newest = master.add(np.array([column]))
        _, _, by_weights, _ = master.optimise(newest, 2)
        assert by_weights >= value - 1e-11 * program.unit
        value = by_weights
    _, _, by_weights, _ = master.optimise(ALL, PASSES)
    assert by_weights == pytest.approx(optimum(parts.SimplexMaster, program, EXACT)[2], abs=1e-10 * program.unit)


def test_a_full_pool_makes_room_and_keeps_its_lottery() -> None:
    """Columns on an arc, on the rim of what can be mixed: more than the pool holds, so that they come again."""
    angles = np.linspace(0.0, np.pi / 2, 400)
    arc = np.column_stack([np.cos(angles), np.sin(angles)]) / 2
    table = np.array([[0.3, 0.3, 1.0, 1.0, 0, 0], [0.3, 0.3, 1.0, 1.0, 0, 0], [0.4, 0.4, 1.0, 1.0, 0, 0]])
    rows = np.column_stack([arc, 1 - arc.sum(axis=1)])
    program = Arrays(np.linspace(0.0, 0.2, 400), rows, table, np.ones(1), NOBODY, NOBODY)
    master, value, sizes = parts.SimplexMaster(program.of(parts), 0, EXACT), -np.inf, list[int]()
    for column in np.tile(np.arange(400), 4):
        _, _, by_weights, _ = master.optimise(master.add(np.array([column])), 2)
        assert by_weights >= value - 1e-12
        assert program.objective(*master.lottery()) == pytest.approx(by_weights, abs=1e-12)
        value = by_weights
        sizes.append(len(master))
    assert min(np.diff(sizes)) < 0
    assert value == pytest.approx(best_lottery(*program.effects(program.rankings()), table), abs=1e-9)


ONE_RANKING = Arrays(
    np.zeros(1),
    np.array([[1.0, 0, 0, 0, 0]]),
    np.array([[0.99999, 0.99999, 0, 100.0, 0, 0], *[[0, 0, 1.0, 1.0, 0, 0]] * 3, [0, 0, 1.0, 0.01, 0, 0]]),
    np.ones(1),
    NOBODY,
    NOBODY,
)
"""Its level and the price of its category do the same: the price stopped at 55.8 of 100, and proved 4e-6 of it."""


FAR_PRICES = Arrays(
    np.array([1.5e-06, 1.75e-06]),
    np.array([[1.0, 0.0], [0.8, 0.2]]),
    np.array([[0.5, 0.5, 0.0, 100.0, 0, 0], [0.6890409380806962, 0.8140409380806962, 0.01, 100.0, 0, 0]]),
    np.ones(1),
    NOBODY,
    NOBODY,
)
"""The best price is 100, far from a start near 0: steps ended on the boundary, with a price of 0.006."""


@example(ONE_RANKING)
@example(FAR_PRICES)
@given(columns(slopes=GENTLE_SLOPES))
def test_the_interior_point_finds_the_optimum_over_its_columns(program: Arrays) -> None:
    _, _, by_weights, prices, lottery = optimum(parts.InteriorMaster, program, 1e-9)
    check_lottery(program, lottery, by_weights, 1e-8)
    expected = best_lottery(*program.effects(program.rankings()), program.penalties)
    assert by_weights == pytest.approx(expected, abs=1e-7 * program.unit)
    assert gap(program, lottery, prices) <= 1e-7 * program.unit


@given(columns(curved=True))
def test_the_interior_point_finds_the_optimum_of_kl(program: Arrays) -> None:
    _, _, by_weights, prices, lottery = optimum(parts.InteriorMaster, program, 1e-9)
    check_lottery(program, lottery, by_weights, 1e-9)
    assert gap(program, lottery, prices) <= 1e-8 * program.unit


@given(columns(curved=True, counts=st.just(2)))
def test_two_columns_are_mixed_as_a_search_along_them_says(program: Arrays) -> None:
    values, shares = program.effects(program.rankings())

    def lost(part: float) -> float:
        mix = np.array([part, 1 - part])
        return cost(program.penalties, mix @ shares) - float(mix @ values)

    found: Any = minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12})
    best = -min(found.fun, lost(0.0), lost(1.0))
    assert optimum(parts.InteriorMaster, program, 1e-9)[2] == pytest.approx(best, abs=1e-7 * program.unit)


@example(2)
@given(st.integers(1, 6))
def test_columns_that_are_all_alike_are_one(count: int) -> None:
    table = np.array([[0.25, 0.5, 1.0, 1.0, 0, 0], [0.0, 0.0, 1.0, 2.0, 0, 0]])
    program = Arrays(np.ones(count), np.full((count, 2), 0.5), table, np.ones(1), NOBODY, NOBODY)
    for master in (parts.SimplexMaster, parts.InteriorMaster):
        assert optimum(master, program, 1e-10)[2] == pytest.approx(-1.0, abs=1e-8)


def test_a_ranking_that_does_not_fit_is_refused() -> None:
    program = Arrays(np.zeros(3), np.ones((3, 1)), np.zeros((1, 6)), np.ones(2) / 2, NOBODY, NOBODY).of(parts)
    for master in (parts.SimplexMaster(program, 0, 1e-9), parts.InteriorMaster(program, 0, 1e-9)):
        with pytest.raises(ValueError, match="fills the slots"):
            master.add(np.array([0]))
        with pytest.raises(ValueError, match="out of range"):
            master.add(np.array([0, 3]))
        with pytest.raises(ValueError, match="there are rankings"):
            master.optimise(ALL, PASSES)


def optimum(kind: Any, program: Arrays, exactness: float) -> tuple[bool, float, float, Floats, tuple[Integers, Floats]]:
    """All columns at once: whether it ended, the values by prices and by weights, the prices, and the lottery."""
    master = kind(program.of(parts), program.n, exactness * program.unit)
    for column in range(program.n):
        master.add(np.array([column]))
    return (*master.optimise(ALL, PASSES), master.lottery())


def check_lottery(program: Arrays, lottery: tuple[Integers, Floats], value: float, exactness: float) -> None:
    rankings, weights = lottery
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-11)
    assert program.objective(rankings, weights) == pytest.approx(value, abs=exactness * program.unit)


def gap(program: Arrays, lottery: tuple[Integers, Floats], prices: Floats) -> float:
    """What the prices, brought between the penalties' slopes, prove of the lottery."""
    penalties = [parts.Penalty(*row) for row in program.penalties]
    inside = np.array(
        [min(max(y, each.lowest_price()), each.highest_price()) for y, each in zip(prices, penalties, strict=True)]
    )
    values, shares = program.effects(program.rankings())
    conjugates = sum(each.conjugate(price) for each, price in zip(penalties, inside, strict=True))
    return float((values - shares @ inside).max() + conjugates - program.objective(*lottery))
