"""Sorting where every candidate has one category: the lists of the categories, sorted once, are merged at each price.

A price moves all candidates of a category by the same amount, so they keep their order among themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.ordering import WORTH_SELECTING, Spare, mend, merge_runs

__all__ = ["Lists", "new_lists", "no_lists", "rank_by_lists"]

LEAST_IN_A_LIST = 4
"""With fewer candidates in a list, on average, merging is no quicker than sorting."""

FEW_LISTS = 3
MOVES_A_CANDIDATE = 3
"""Up to so few lists are merged at once; more only where mending the last order takes more moves than this."""


class Lists(NamedTuple):
    """The candidates list by list, best first: list t is ``members[starts[t]:starts[t + 1]]``. Empty: do not merge."""

    members: Places
    starts: Places
    edges: Places


@compiled
def new_lists(indptr: Integers, indices: Integers, order: Places, n_categories: int, count: int) -> Lists:
    """The categories' lists, from candidates sorted by their gains; none where merging is not possible or no use.

    ``count`` is how many candidates are wanted: where that is few of them, selecting those first is quicker.
    """
    n = order.size
    one_each = indptr[n] == n and LEAST_IN_A_LIST * n_categories <= n <= WORTH_SELECTING * count
    for candidate in range(n):
        one_each = one_each and indptr[candidate] == candidate
    size = n if one_each else 0
    lists = Lists(
        members=np.empty(size, dtype=PLACE),
        starts=np.zeros(n_categories + 2, dtype=PLACE),
        edges=np.empty(n_categories + 2, dtype=PLACE),
    )
    if one_each:
        _deal(indices, order, lists.members, lists.starts)
    return lists


@compiled
def no_lists() -> Lists:
    """Sort without lists."""
    none = np.empty(0, dtype=PLACE)
    return Lists(none, none, none)


@lean
def _deal(indices: Integers, order: Places, members: Places, starts: Places) -> None:
    """Put every candidate at the end of its category's list, in this order."""
    for candidate in range(order.size):
        starts[indices[candidate] + 2] += 1
    for category in range(2, starts.size):
        starts[category] += starts[category - 1]
    for place in range(order.size):
        category = indices[order[place]]
        members[starts[category + 1]] = order[place]
        starts[category + 1] += 1


@lean
def rank_by_lists(lists: Lists, keys: Floats, order: Places, room: Spare) -> None:
    """Make ``order``, which must hold a permutation, the candidates by their keys, largest first."""
    n = order.size
    if lists.starts.size > FEW_LISTS + 2 and mend(keys, order, room.keys, 0, n, MOVES_A_CANDIDATE * n):
        return
    members, spare, edges = lists.members, room.places, lists.edges
    left = edges.size - 2
    for place in range(left + 1):
        edges[place] = lists.starts[place]
    left = _merge_pairs(keys, members, order, edges, left)
    merged_to_order = True
    while left > 1:
        if merged_to_order:
            left = _merge_pairs(keys, order, spare, edges, left)
        else:
            left = _merge_pairs(keys, spare, order, edges, left)
        merged_to_order = not merged_to_order
    if not merged_to_order:
        for place in range(n):
            order[place] = spare[place]


@lean
def _merge_pairs(keys: Floats, source: Places, target: Places, edges: Places, count: int) -> int:
    """Merge every two neighbouring lists of the source into the target; returns how many lists are left."""
    left = 0
    for first in range(0, count, 2):
        middle = edges[first + 1]
        last = edges[first + 2] if first + 2 <= count else middle
        merge_runs(keys, source, target, edges[first], middle, last)
        edges[left] = edges[first]
        left += 1
    edges[left] = edges[count]
    return left
