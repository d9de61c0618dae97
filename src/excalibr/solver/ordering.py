"""Sorting candidates, largest key first, ties by the lower index: the one order that every part of the kernel uses.

Prices move little from one evaluation to the next, so an order is mended by insertion, and sorted anew by merging only
when too much has changed. The result never depends on the order that it started from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import PLACE, Booleans, Floats, Places

__all__ = [
    "Spare",
    "key_at_rank",
    "mend",
    "merge_runs",
    "new_spare",
    "rank_best",
    "select_above",
    "sort_afresh",
    "sort_descending",
]

WORTH_SELECTING = 5
"""With more candidates than this for each one wanted, the best are selected first and only they are sorted."""

RUN = 12

MOVES_A_CANDIDATE = 8
"""Insertion is given up for a merge sort when it has moved this many entries for each candidate."""


class Spare(NamedTuple):
    """Room that sorting works in, for as many candidates as there are."""

    places: Places
    keys: Floats


@compiled
def new_spare(count: int) -> Spare:
    """Room for so many candidates."""
    return Spare(np.empty(count, dtype=PLACE), np.empty(count))


@lean
def sort_descending(keys: Floats, order: Places, spare: Spare, count: int) -> None:
    """Sort ``order[:count]`` by ``keys``, largest first, ties by the lower index."""
    if not mend(keys, order, spare.keys, 0, count, MOVES_A_CANDIDATE * count):
        sort_afresh(keys, order, spare, count)


@lean
def sort_afresh(keys: Floats, order: Places, spare: Spare, count: int) -> None:
    """The same for an order that is no better than chance: short runs by insertion, then merged two by two."""
    for first in range(0, count, RUN):
        mend(keys, order, spare.keys, first, min(first + RUN, count), RUN * RUN)
    width = RUN
    while width < count:
        for left in range(0, count, 2 * width):
            merge_runs(keys, order, spare.places, left, min(left + width, count), min(left + 2 * width, count))
        for place in range(count):
            order[place] = spare.places[place]
        width *= 2


@lean
def select_above(keys: Floats, threshold: float, order: Places, inside: Booleans, exposure: Floats, count: int) -> int:
    """Make ``order`` hold exactly the candidates with a key of at least ``threshold``; who leaves loses its exposure.

    Those that stay keep their relative order and newcomers follow, so that mending stays cheap.
    """
    kept = 0
    for place in range(count):
        candidate = order[place]
        if keys[candidate] >= threshold:
            order[kept] = candidate
            kept += 1
        else:
            inside[candidate] = False
            exposure[candidate] = 0.0
    for candidate in range(keys.size):
        if keys[candidate] >= threshold and not inside[candidate]:
            inside[candidate] = True
            order[kept] = candidate
            kept += 1
    return kept


@lean
def rank_best(keys: Floats, count: int, order: Places, spare: Spare) -> None:
    """Make ``order[:count]`` the candidates with the largest keys, best first; ``order`` must hold a permutation."""
    if keys.size <= WORTH_SELECTING * count:
        sort_descending(keys, order, spare, keys.size)
        return
    threshold = key_at_rank(keys, count, spare.places)
    above = 0
    tied = 0
    for candidate in range(keys.size):
        above += keys[candidate] > threshold
    for candidate in range(keys.size):  # those at the threshold fill up, lower index first
        if keys[candidate] > threshold or (keys[candidate] == threshold and above + tied < count):
            tied += keys[candidate] == threshold
            spare.places[candidate] = 1
        else:
            spare.places[candidate] = 0
    _chosen_first(spare.places, order)
    sort_descending(keys, order, spare, count)


@lean
def _chosen_first(chosen: Places, order: Places) -> None:
    """Make ``order`` hold the chosen candidates and then the others."""
    front = 0
    for candidate in range(order.size):
        if chosen[candidate] == 1:
            order[front] = candidate
            front += 1
    for candidate in range(order.size):
        if chosen[candidate] == 0:
            order[front] = candidate
            front += 1


@lean
def key_at_rank(keys: Floats, rank: int, places: Places) -> float:
    """The key that ``rank`` candidates reach or exceed (rank 1 is the largest key), by quickselect.

    ``places``, as long as the keys, is overwritten.
    """
    for candidate in range(keys.size):
        places[candidate] = candidate
    place = rank - 1
    left = 0
    right = keys.size - 1
    while left < right:
        pivot = keys[places[(left + right) // 2]]
        low = left
        high = right
        while low <= high:
            while keys[places[low]] > pivot:
                low += 1
            while keys[places[high]] < pivot:
                high -= 1
            if low <= high:
                kept = places[low]
                places[low] = places[high]
                places[high] = kept
                low += 1
                high -= 1
        if place <= high:
            right = high
        elif place >= low:
            left = low
        else:
            break
    return keys[places[place]]  # type: ignore[no-any-return]


@lean
def mend(keys: Floats, order: Places, held: Floats, first: int, last: int, budget: int) -> bool:
    """Insertion sort of order[first:last]; False when it took more moves than the budget and was given up half-way.

    The keys lie beside the order in ``held[first:last]`` and move with it, which is quicker than looking them up.
    """
    if last <= first:
        return True
    for place in range(first, last):
        held[place] = keys[order[place]]
    lowest = held[first]
    for place in range(first + 1, last):
        key = held[place]
        if lowest > key:
            lowest = key
            continue
        candidate = order[place]
        target = place
        while target > first:
            other = held[target - 1]
            if other > key or (other == key and order[target - 1] < candidate):
                break
            held[target] = other
            order[target] = order[target - 1]
            target -= 1
        held[target] = key
        order[target] = candidate
        if target == place:
            lowest = key
        budget -= place - target
        if budget < 0:
            return False
    return True


@lean
def merge_runs(keys: Floats, source: Places, target: Places, left: int, middle: int, right: int) -> None:
    """Merge source[left:middle] and source[middle:right], both sorted, into target[left:right]."""
    first = left
    second = middle
    place = left
    while first < middle and second < right:
        candidate = source[first]
        rival = source[second]
        if keys[candidate] > keys[rival] or (keys[candidate] == keys[rival] and candidate < rival):
            target[place] = candidate
            first += 1
        else:
            target[place] = rival
            second += 1
        place += 1
    while first < middle:
        target[place] = source[first]
        first += 1
        place += 1
    while second < right:
        target[place] = source[second]
        second += 1
        place += 1
