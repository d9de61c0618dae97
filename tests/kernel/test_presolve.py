"""Questions with pins, shown items, limits and groups in the engines' form, against what every ranking says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._native import kernel
from excalibr._problem import Penalty
from excalibr._types import Booleans, Floats, Integers
from tests.kernel.programs import EIGHTHS, SHARES, Draw, rows, slot_weights

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

TRADE_OFFS = st.sampled_from([0.5, 0.0, 0.1, 1.0])
STEEP = 1e3


@dataclass(frozen=True)
class Asked:
    """A question in plain arrays; no floor is −∞, no cap is ∞."""

    scores: Floats
    items: Integers
    table: Floats
    low: Floats
    high: Floats
    weights: Floats
    base: Floats
    floors: Floats
    caps: Floats
    smoothing: float
    unavailable: Booleans
    pinned: dict[int, int]
    group_of_item: Integers
    group_limits: Integers
    position_weights: Floats

    @property
    def free(self) -> list[int]:
        return [i for i in range(len(self.scores)) if not self.unavailable[i] and i not in self.pinned.values()]

    @property
    def open_slots(self) -> list[int]:
        return [slot for slot in range(len(self.position_weights)) if slot not in self.pinned]

    @property
    def limit_units(self) -> Floats:
        """What the limits' rows are measured by: the largest share of a free candidate, as a power of two."""
        most = self.rows[self.free][:, self.limited].max(axis=0, initial=0.0)
        return np.array([2.0 ** np.floor(np.log2(share)) if share > 1e-12 else 1.0 for share in most])

    @property
    def present(self) -> list[int]:
        """The categories that a free candidate has: the others leave the program."""
        return np.flatnonzero((self.rows[self.free] > 0.0).any(axis=0)).tolist()

    @property
    def priced(self) -> list[int]:
        """The same, and what pinned items show."""
        return [each for each in range(len(self.low)) if each in self.present or self.pinned_shares[each] > 0.0]

    @property
    def absent(self) -> list[int]:
        return [category for category in range(len(self.low)) if category not in self.present]

    @property
    def limited(self) -> list[int]:
        """Limits that matter: of what may be shown, and those that what is pinned misses for good."""
        missed = np.maximum(self.floors - self.pinned_shares, self.pinned_shares - self.caps)
        asked = np.flatnonzero(np.isfinite(self.floors) | np.isfinite(self.caps)).tolist()
        return [category for category in asked if category in self.present or missed[category] > 1e-9]

    @property
    def rows(self) -> Floats:
        """(n, r) category shares of the candidates."""
        return self.table[self.items]

    @property
    def pinned_shares(self) -> Floats:
        return sum((self.position_weights[s] * self.rows[i] for s, i in self.pinned.items()), np.zeros(len(self.low)))

    def penalty(self, category: int, trade_off: float) -> Any:
        """What a share of the whole page costs."""
        weight, base = trade_off * self.weights[category], self.base[category] if len(self.base) else 0.0
        return parts.Penalty(self.low[category], self.high[category], weight, weight, self.smoothing, base)

    def left_of_groups(self) -> list[int]:
        """How many free candidates of each group may still be shown."""
        taken = [self.group_of_item[self.items[i]] for i in self.pinned.values()] if len(self.group_limits) else []
        return [max(int(limit) - taken.count(group), 0) for group, limit in enumerate(self.group_limits)]

    def allowed(self, shown: tuple[int, ...]) -> bool:
        """Whether free candidates may stand together."""
        groups = self.group_of_item[self.items[list(shown)]].tolist() if len(self.group_limits) else []
        return all(groups.count(group) <= left for group, left in enumerate(self.left_of_groups()))

    def rankings(self) -> Integers:
        """Every ranking of the whole that keeps pins, shown items and groups."""
        found = []
        for shown in permutations(self.free, len(self.open_slots)):
            if self.allowed(shown):
                both = self.pinned | dict(zip(self.open_slots, shown, strict=True))
                found.append([both[slot] for slot in range(len(self.position_weights))])
        return np.array(found, dtype=np.int64).reshape(-1, len(self.position_weights))

    def free_part(self) -> Any:
        return parts.FreePart(
            *(self.scores, self.items, *kernel.pack_rows(self.table), self.low, self.high, self.weights, self.base),
            *(self.floors, self.caps, self.smoothing, self.unavailable, whole_numbers(self.pinned.keys())),
            *(whole_numbers(self.pinned.values()), self.group_of_item, self.group_limits, self.position_weights),
        )


@st.composite
def questions(draw: Draw) -> Asked:
    """Questions with at least as many candidates as slots; groups may still leave too few."""
    n, r = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    k = draw(st.integers(1, min(n, 4)))
    items = draw(st.integers(1, n))
    pins = draw(st.lists(st.integers(0, k - 1), unique=True, max_size=k - draw(st.integers(0, 1))))
    pinned = dict(zip(pins, draw(st.permutations(range(n))), strict=False))
    spare = [i for i in range(n) if i not in pinned.values()]
    shown = draw(st.sets(st.sampled_from(spare), max_size=n - k)) if spare else set()
    low = draw(arrays.arrays(np.float64, r, elements=SHARES | st.sampled_from([-0.25, -0.5])))
    width = draw(arrays.arrays(np.float64, r, elements=st.sampled_from([0.0, 0.25])))
    floors = draw(arrays.arrays(np.float64, r, elements=st.sampled_from([-np.inf, 0.0, 0.25])))
    caps = draw(arrays.arrays(np.float64, r, elements=st.sampled_from([np.inf, 0.5, 1.0])))
    grouped = draw(st.booleans())
    return Asked(
        scores=draw(arrays.arrays(np.float64, n, elements=EIGHTHS)),
        items=draw(arrays.arrays(np.int64, n, elements=st.integers(0, items - 1))),
        table=draw(rows(items, r)),
        low=low,
        high=low + width,
        weights=draw(arrays.arrays(np.float64, r, elements=st.sampled_from([1.0, 0.0, 2.0]))),
        base=draw(st.sampled_from([np.empty(0), np.full(r, 0.5)])),
        floors=floors,
        caps=caps,
        smoothing=draw(st.sampled_from([0.0, 0.01])),
        unavailable=np.isin(np.arange(n), list(shown)),
        pinned=pinned,
        group_of_item=draw(arrays.arrays(np.int64, items, elements=st.integers(-1, 1)))
        if grouped
        else whole_numbers([]),
        group_limits=draw(arrays.arrays(np.int64, 2, elements=st.integers(0, 2))) if grouped else whole_numbers([]),
        position_weights=draw(slot_weights(k)),
    )


@given(questions(), TRADE_OFFS)
def test_what_is_pinned_or_shown_leaves_the_program(asked: Asked, trade_off: float) -> None:
    gains, indptr, columns, values, _, position_weights, limited = asked.free_part().program(trade_off, STEEP)
    scores = asked.scores[asked.free]
    assert gains.tolist() == ((1 - trade_off) * (scores - scores.max(initial=-np.inf))).tolist()
    assert position_weights.tolist() == asked.position_weights[asked.open_slots].tolist()
    assert limited.tolist() == asked.limited
    dense = np.zeros((len(asked.free), len(asked.present) + len(limited)))
    for row in range(len(asked.free)):
        own = slice(indptr[row], indptr[row + 1])
        assert (np.diff(columns[own]) > 0).all()
        dense[row, columns[own]] = values[own]
    expected = asked.rows[asked.free]
    limits = expected[:, asked.limited] / asked.limit_units
    np.testing.assert_array_equal(dense, np.hstack([expected[:, asked.present], limits]))


@given(questions(), TRADE_OFFS, st.data())
def test_the_program_costs_what_the_whole_page_costs(asked: Asked, trade_off: float, data: st.DataObject) -> None:
    free = asked.free_part()
    *_, penalties, _, _ = free.program(trade_off, STEEP)
    shares = data.draw(arrays.arrays(np.float64, len(asked.low), elements=st.floats(0.0, 1.0)))
    shares[asked.absent] = 0.0
    for row, category in enumerate(asked.present):
        total = shares[category] + asked.pinned_shares[category]
        cost = parts.Penalty(*penalties[row]).cost(shares[category])
        assert cost == pytest.approx(asked.penalty(category, trade_off).cost(total), abs=1e-12)
    settled = sum(asked.penalty(category, 1.0).cost(asked.pinned_shares[category]) for category in asked.absent)
    assert free.settled_cost() == pytest.approx(settled, abs=1e-12)
    limits = zip(asked.limited, asked.limit_units, penalties[len(asked.present) :], strict=True)
    for category, unit, penalty in limits:
        total = shares[category] + asked.pinned_shares[category]
        missed = max(asked.floors[category] - total, total - asked.caps[category], 0.0) / unit
        assert parts.Penalty(*penalty).cost(shares[category] / unit) == pytest.approx(STEEP * missed, abs=1e-9)


@given(questions())
def test_there_is_room_for_as_many_as_can_stand_together(asked: Asked) -> None:
    most = max(size for size in range(len(asked.free) + 1) if any(map(asked.allowed, permutations(asked.free, size))))
    k = len(asked.position_weights)
    assert min(asked.free_part().room(), k) == min(most + len(asked.pinned), k)


@given(questions())
def test_groups_are_watched_only_where_a_ranking_can_break_them(asked: Asked) -> None:
    every = list(permutations(asked.free, len(asked.open_slots)))
    watched = asked.free_part().group_limits().tolist()
    groups = asked.group_of_item[asked.items[asked.free]].tolist() if len(asked.group_limits) else []
    met = [group for group in dict.fromkeys(groups) if group >= 0]
    assert watched == ([] if all(map(asked.allowed, every)) else [asked.left_of_groups()[group] for group in met])


@given(questions().filter(lambda asked: len(asked.rankings()) > 0), st.data())
def test_extremes_are_those_of_all_rankings(asked: Asked, data: st.DataObject) -> None:
    free, shown = asked.free_part(), asked.rankings()
    values = data.draw(arrays.arrays(np.float64, len(asked.scores), elements=EIGHTHS))
    reached = values[shown] @ asked.position_weights
    assert free.extremes(values) == pytest.approx((reached.min(), reached.max()), abs=1e-13)
    for category in range(len(asked.low)):
        shares = asked.rows[shown][:, :, category] @ asked.position_weights
        assert free.extreme_shares(category) == pytest.approx((shares.min(), shares.max()), abs=1e-13)
    (best,), (weight,) = free.most_relevant()
    assert weight == 1.0
    assert best.tolist() in shown.tolist()
    relevance = asked.scores[shown] @ asked.position_weights
    assert asked.scores[best] @ asked.position_weights == pytest.approx(relevance.max(), abs=1e-13)


@given(questions().filter(lambda asked: len(asked.rankings()) > 0), st.data())
def test_lotteries_of_the_free_part_are_lotteries_of_the_whole(asked: Asked, data: st.DataObject) -> None:
    free, every = asked.free_part(), asked.rankings()
    chosen = data.draw(st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=3))
    whole, weights = np.ascontiguousarray(every[chosen]), np.full(len(chosen), 1 / len(chosen))
    inside, same = free.to_free(whole, weights)
    assert same.tolist() == weights.tolist()
    assert np.array(asked.free, dtype=np.int64)[inside].tolist() == whole[:, asked.open_slots].tolist()
    assert [array.tolist() for array in free.to_whole(inside, weights)] == [whole.tolist(), weights.tolist()]
    exposure = np.zeros(len(asked.scores))
    np.add.at(exposure, whole, np.outer(weights, asked.position_weights))
    shown, shares = free.expose(whole, weights)
    np.testing.assert_allclose(shown, exposure, atol=1e-15)
    np.testing.assert_allclose(shares, exposure @ asked.rows, atol=1e-14)
    limited = asked.limited
    missed = np.maximum(np.maximum(asked.floors - shares, shares - asked.caps), 0.0)[limited]
    assert free.missed_limits(shares) == pytest.approx((missed.max(initial=0.0), missed.sum()), abs=1e-15)


@given(questions(), st.sampled_from([0.5, 0.1, 1.0]), st.data())
def test_prices_of_deviation_and_limit_are_reported_as_one(asked: Asked, trade_off: float, data: st.DataObject) -> None:
    free, r = asked.free_part(), len(asked.low)
    offsets = (1 - asked.smoothing) * trade_off * asked.weights if asked.smoothing else np.zeros(r)
    reported = data.draw(arrays.arrays(np.float64, r, elements=EIGHTHS))
    if asked.smoothing:
        reported = -np.abs(reported)
    by_row, present, priced = free.to_row_prices(reported[asked.priced], trade_off), asked.present, asked.priced
    assert len(by_row) == len(present) + len(asked.limited)
    for row, category in enumerate(asked.limited, start=len(present)):
        assert np.isfinite(asked.floors[category]) or by_row[row] >= 0.0  # only a floor can make a category cheaper
        assert np.isfinite(asked.caps[category]) or by_row[row] <= 0.0
    together = np.zeros(r)
    together[present] = by_row[: len(present)]
    together[asked.limited] += by_row[len(present) :] / asked.limit_units
    np.testing.assert_allclose(together[present], (reported + offsets)[present], atol=1e-14)
    if (by_row[: len(present)] <= offsets[present]).all() or not asked.smoothing:
        categories, prices = free.to_reported_prices(by_row, trade_off)
        assert categories.tolist() == priced
        there = np.isin(priced, present)
        np.testing.assert_allclose(prices[there], reported[present], atol=1e-14)


@given(questions(), st.sampled_from([0.5, 0.1, 1.0]))
def test_what_nobody_can_change_is_optimal_at_its_price(asked: Asked, trade_off: float) -> None:
    free, r = asked.free_part(), len(asked.low)
    weights, base = trade_off * asked.weights, asked.base if len(asked.base) else np.zeros(r)
    reported = Penalty(asked.low, asked.high, weights, weights, asked.smoothing, base).price_of_nothing
    priced, prices = free.to_reported_prices(np.zeros(len(asked.present) + len(asked.limited)), trade_off)
    reported[priced] = prices
    for category in asked.absent:
        penalty, shown = asked.penalty(category, trade_off), float(asked.pinned_shares[category])
        offset = (1 - asked.smoothing) * trade_off * asked.weights[category] if asked.smoothing else 0.0
        slope = reported[category] + offset
        best = slope * shown - penalty.cost(shown)
        assert all(slope * share - penalty.cost(share) <= best + 1e-12 for share in np.linspace(0.0, 1.0, 65))
        assert reported[category] <= 0.0 or not asked.smoothing


def test_arrays_that_do_not_fit_are_refused() -> None:
    one, nothing, nobody = np.ones(1), np.empty(0), whole_numbers([])
    fitting = {
        "scores": one,
        "items": whole_numbers([0]),
        "indptr": whole_numbers([0, 1]),
        "columns": whole_numbers([0]),
        "values": one,
        "low": one,
        "high": one,
        "weights": one,
        "base": nothing,
        "floors": nothing,
        "caps": nothing,
        "smoothing": 0.0,
        "unavailable": np.zeros(0, dtype=bool),
        "pinned_slots": nobody,
        "pinned_candidates": nobody,
        "group_of_item": nobody,
        "group_limits": nobody,
        "position_weights": one,
    }
    assert parts.FreePart(*fitting.values()).room() == 1
    wrong: dict[str, Any] = {
        "items": whole_numbers([1]),
        "high": np.ones(2),
        "base": np.ones(2),
        "floors": one,
        "unavailable": np.zeros(2, dtype=bool),
        "pinned_slots": whole_numbers([0]),
        "group_of_item": whole_numbers([0]),
        "position_weights": np.ones(2),
    }
    for name, array in wrong.items():
        with pytest.raises(ValueError, match=r"\w"):
            parts.FreePart(*(fitting | {name: array}).values())
    with pytest.raises(ValueError, match="fewer free candidates"):
        parts.FreePart(*(fitting | {"unavailable": np.ones(1, dtype=bool)}).values())


def whole_numbers(numbers: Any) -> Integers:
    return np.array(list(numbers), dtype=np.int64)
