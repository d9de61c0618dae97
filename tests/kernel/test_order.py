"""Sorting in the kernel against numpy's stable sort, and the best ranking within group limits against all of them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats, Integers
from tests.kernel.programs import EIGHTHS, NOBODY, Draw, slot_weights

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

ELEMENTS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 5e-324, -np.inf]) | st.floats(-1, 1)


@st.composite
def keys_and_order(draw: Draw, largest: int = 90) -> tuple[Floats, Integers]:
    """Keys with ties, and an order to go on from: sorted, nearly so, or any."""
    keys = draw(arrays.arrays(np.float64, st.integers(1, largest), elements=ELEMENTS))
    order = np.argsort(-keys, kind="stable")
    if draw(st.booleans()):
        return keys, np.array(draw(st.permutations(range(len(keys)))), dtype=np.int64)
    for _ in range(draw(st.integers(0, 3))):
        one, other = draw(st.integers(0, len(keys) - 1)), draw(st.integers(0, len(keys) - 1))
        order[[one, other]] = order[[other, one]]
    return keys, order


@given(keys_and_order())
def test_a_sort_is_numpys_stable_one_whatever_order_it_goes_on_from(drawn: tuple[Floats, Integers]) -> None:
    keys, start = drawn
    assert parts.sort_descending(keys, start).tolist() == np.argsort(-keys, kind="stable").tolist()


@given(keys_and_order(), st.integers(0, 90))
def test_the_best_are_sorted_and_the_others_follow(drawn: tuple[Floats, Integers], count: int) -> None:
    keys, start = drawn
    count = min(count, len(keys))
    order = parts.sort_best(keys, count, start)
    assert order[:count].tolist() == np.argsort(-keys, kind="stable")[:count].tolist()
    assert sorted(order.tolist()) == list(range(len(keys)))


@given(keys_and_order(), st.integers(1, 90))
def test_the_key_at_a_rank_is_that_of_a_sort(drawn: tuple[Floats, Integers], rank: int) -> None:
    keys, _ = drawn
    rank = min(rank, len(keys))
    assert parts.key_at_rank(keys, rank) == np.sort(keys)[::-1][rank - 1]


def test_a_long_list_in_the_opposite_order_is_sorted() -> None:
    keys = np.arange(1000.0)
    assert parts.sort_descending(keys, np.arange(1000)).tolist() == list(range(999, -1, -1))


@st.composite
def grouped_keys(draw: Draw) -> tuple[Floats, Integers, Integers, int]:
    """Keys, groups, their limits, and how many to show: never more than the limits allow."""
    n = draw(st.integers(1, 6))
    groups = draw(arrays.arrays(np.int64, n, elements=st.integers(-1, 2)))
    limits = draw(arrays.arrays(np.int64, 3, elements=st.integers(0, 3)))
    sizes = np.bincount(groups[groups >= 0], minlength=3)
    showable = int((groups < 0).sum() + np.minimum(sizes, limits).sum())
    return draw(arrays.arrays(np.float64, n, elements=EIGHTHS)), groups, limits, draw(st.integers(0, showable))


@given(grouped_keys(), st.data())
def test_within_group_limits_no_ranking_is_better_for_any_weights(
    drawn: tuple[Floats, Integers, Integers, int], data: st.DataObject
) -> None:
    keys, groups, limits, count = drawn
    start = np.array(data.draw(st.permutations(range(len(keys)))))
    order = parts.best_ranking(keys, count, groups, limits, start)
    assert sorted(order.tolist()) == list(range(len(keys)))
    allowed = [
        list(ranking)
        for ranking in permutations(range(len(keys)), count)
        if (np.bincount(groups[list(ranking)] + 1, minlength=4)[1:] <= limits).all()
    ]
    assert order[:count].tolist() in allowed
    if count:
        slots = np.sort(data.draw(slot_weights(count)))[::-1]
        best = max(keys[ranking] @ slots for ranking in allowed)
        assert keys[order[:count]] @ slots == pytest.approx(best, abs=1e-14)


@given(keys_and_order(), st.integers(0, 90))
def test_without_groups_the_best_ranking_is_the_sort(drawn: tuple[Floats, Integers], count: int) -> None:
    keys, start = drawn
    count = min(count, len(keys))
    order = parts.best_ranking(keys, count, NOBODY, NOBODY, start)
    assert order[:count].tolist() == np.argsort(-keys, kind="stable")[:count].tolist()


def test_groups_that_do_not_fit_are_refused() -> None:
    three, one = np.zeros(3), np.ones(1, dtype=np.int64)
    for groups in (np.zeros(2, dtype=np.int64), np.array([0, 1, 0]), np.array([0, -2, 0])):
        with pytest.raises(ValueError, match="group"):
            parts.best_ranking(three, 1, groups, one, np.arange(3))
