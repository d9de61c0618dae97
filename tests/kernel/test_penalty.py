"""The penalty of a category: cost, conjugate and their derivatives against grids, differences and one another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from excalibr._types import Floats
from tests.kernel.programs import ABOVE, BASE, BELOW, HIGH, LOW, SMOOTHING, cost, curved_penalties, straight_penalties

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

STRAIGHT = straight_penalties(1).map(lambda table: table[0])
CURVED = curved_penalties(1).map(lambda table: table[0])
PARTS_OF_ONE = st.floats(0.0, 1.0, allow_subnormal=False)
GRID = np.linspace(0.0, 1.0, 1001)


@given(STRAIGHT | CURVED, PARTS_OF_ONE)
def test_the_cost_is_what_the_definition_says(row: Floats, share: float) -> None:
    expected = cost(row[None], np.array([share]))
    assert parts.Penalty(*row).cost(share) == pytest.approx(expected, rel=1e-9, abs=1e-13 * (row[BELOW] + row[ABOVE]))


@given(STRAIGHT | CURVED)
def test_the_cost_is_nothing_on_the_band_and_convex(row: Floats) -> None:
    penalty = parts.Penalty(*row)
    assert penalty.cost(row[LOW]) == penalty.cost(row[HIGH]) == 0.0
    costs = np.array([penalty.cost(share) for share in GRID])
    rounding = 1e-12 * (1.0 + costs.max())
    assert (costs >= -rounding).all()
    assert (np.diff(costs, 2) >= -rounding).all()


@given(STRAIGHT | CURVED, PARTS_OF_ONE)
def test_the_conjugate_is_the_largest_price_times_share_less_cost(row: Floats, part: float) -> None:
    penalty = parts.Penalty(*row)
    price = price_between(penalty, part)
    conjugate, rounding = penalty.conjugate(price), 1e-11 * (1.0 + row[BELOW] + row[ABOVE] + abs(price))
    values = [price * share - penalty.cost(share) for share in (*GRID, row[LOW], row[HIGH])]
    assert max(values) <= conjugate + rounding
    share = penalty.share_at(price)
    assert price * share - penalty.cost(share) == pytest.approx(conjugate, abs=rounding)


@given(CURVED, st.floats(0.001, 0.999))
def test_the_share_at_a_price_is_the_slope_of_the_conjugate(row: Floats, part: float) -> None:
    penalty = parts.Penalty(*row)
    price = price_between(penalty, part)
    step = 1e-5 * min(abs(price), penalty.highest_price() - price, price - penalty.lowest_price())
    assume(step > 1e-7)
    rise = penalty.conjugate(price + step) - penalty.conjugate(price - step)
    assert rise / (2 * step) == pytest.approx(penalty.share_at(price), rel=1e-4, abs=1e-4)
    moved = penalty.share_at(price + step) - penalty.share_at(price - step)
    assert moved / (2 * step) == pytest.approx(penalty.curvature_at(price), rel=1e-3, abs=1e-6)


@given(STRAIGHT, PARTS_OF_ONE)
def test_a_straight_penaltys_share_does_not_move_with_the_price(row: Floats, part: float) -> None:
    penalty = parts.Penalty(*row)
    price = price_between(penalty, part)
    assert penalty.share_at(price) == (row[LOW] if price < 0 else row[HIGH])
    assert penalty.curvature_at(price) == 0.0


@given(STRAIGHT | CURVED, PARTS_OF_ONE, st.booleans())
def test_the_slope_is_that_of_the_cost_on_either_side(row: Floats, share: float, rising: bool) -> None:
    penalty, step = parts.Penalty(*row), 1e-7
    edges = (row[LOW], row[HIGH])
    assume(all(share == edge or abs(share - edge) > 2 * step for edge in edges))
    assume(rising or share > step)
    change = (
        penalty.cost(share + step) - penalty.cost(share) if rising else penalty.cost(share) - penalty.cost(share - step)
    )
    scale = 1.0 + row[BELOW] + row[ABOVE]
    seen = row[BASE] + (1 - row[SMOOTHING]) * share + row[SMOOTHING] * min(max(share, row[LOW]), row[HIGH])
    bent = step * (1.0 if row[SMOOTHING] == 0 else scale * (row[BASE] + 1) / max(seen - step, 1e-3) ** 2)
    assert change / step == pytest.approx(penalty.slope(share, rising), rel=1e-6, abs=1e-8 * scale + bent)


@given(STRAIGHT | CURVED)
def test_no_price_beyond_the_lowest_and_the_highest_can_be_the_best(row: Floats) -> None:
    """They are the slopes where nothing of the category is shown, and where nothing else is."""
    penalty = parts.Penalty(*row)
    lowest, highest = penalty.lowest_price(), penalty.highest_price()
    assert lowest <= 0.0 <= highest
    if row[SMOOTHING] == 0:
        assert (lowest, highest) == (-row[BELOW], row[ABOVE])
        return
    assert lowest == pytest.approx(min(penalty.slope(0.0, True), 0.0), rel=1e-12)
    assert highest == pytest.approx(max(penalty.slope(1.0, False), 0.0), rel=1e-12, abs=1e-15)
    for price in (lowest, highest):
        assert math.isfinite(penalty.conjugate(price))


def test_with_one_weight_and_no_band_the_curved_penalties_sum_to_kl() -> None:
    target, shown, alpha = np.array([0.2, 0.5, 0.3, 0.0]), np.array([0.6, 0.1, 0.0, 0.3]), 0.01
    blurred = (1 - alpha) * shown + alpha * target
    kl = (target[:3] * np.log(target[:3] / blurred[:3])).sum()
    costs = [parts.Penalty(q, q, 0.7, 0.7, alpha).cost(p) for q, p in zip(target, shown, strict=True)]
    assert sum(costs) == pytest.approx(0.7 * kl, rel=1e-12)


def price_between(penalty: object, part: float) -> float:
    """A price from the lowest to the highest."""
    lowest, highest = penalty.lowest_price(), penalty.highest_price()  # type: ignore[attr-defined]
    return float(min(max(lowest + part * (highest - lowest), lowest), highest))
