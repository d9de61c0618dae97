from __future__ import annotations

import numba
import numpy as np
import pytest

from excalibr._types import PLACE
from excalibr.solver.merging import new_lists, rank_by_lists
from excalibr.solver.ordering import new_spare, sort_afresh


@numba.njit
def _ranked(gains, indices, prices, count):  # type: ignore[no-untyped-def]
    """The orders at one set of prices after another, each from the last one."""
    n = gains.size
    order = np.arange(n, dtype=PLACE)
    sort_afresh(gains, order, new_spare(n), n)
    lists = new_lists(np.arange(n + 1), indices, order, prices.shape[1], count)
    found = np.zeros((prices.shape[0], n), dtype=np.int64)
    keys = np.empty(n)
    for turn in range(prices.shape[0]):
        for candidate in range(n):
            keys[candidate] = gains[candidate] - prices[turn, indices[candidate]]
        if lists.members.size == 0:
            return found
        rank_by_lists(lists, keys, order, new_spare(n))
        found[turn] = order
    return found


@pytest.mark.parametrize("r", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("seed", range(5))
def test_merged_lists_are_what_sorting_gives(r: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    gains = random.integers(0, 30, 60).astype(np.float64)  # many ties, within a list and between two
    indices = random.integers(0, r, 60)
    prices = np.concatenate((random.integers(-9, 9, (6, r)), random.integers(-1, 2, (6, r)))).astype(np.float64)
    for row, order in zip(prices, _ranked(gains, indices, prices, 40), strict=True):
        keys = gains - row[indices]
        assert order.tolist() == np.lexsort((np.arange(60), -keys)).tolist()


def test_there_are_no_lists_where_candidates_are_few_or_few_are_wanted() -> None:
    gains, indices = np.arange(60.0), np.arange(60) % 20
    assert not _ranked(gains, indices, np.zeros((1, 20)), 40).any()
    assert not _ranked(gains, indices % 2, np.zeros((1, 2)), 3).any()
