"""Sorting candidates, largest key first, ties by the lower index: the one order that every part of the kernel uses.

Prices move little from one evaluation to the next, so an order is mended by insertion, and sorted anew by merging only
when too much has changed. The result never depends on the order that it started from.
"""

from __future__ import annotations

from excalibr._jit import lean
from excalibr._types import Booleans, Floats, Integers

__all__ = ["key_at_rank", "mend", "merge_runs", "rank_best", "select_above", "sort_afresh", "sort_descending"]

WORTH_SELECTING = 5
"""With more candidates than this for each one wanted, the best are selected first and only they are sorted."""

RUN = 12

MOVES_A_CANDIDATE = 8
"""Insertion is given up for a merge sort when it has moved this many entries for each candidate."""


@lean
def sort_descending(keys: Floats, order: Integers, spare: Integers, count: int) -> None:
    """Sort ``order[:count]`` by ``keys``, largest first, ties by the lower index."""
    if not mend(keys, order, 0, count, MOVES_A_CANDIDATE * count):
        sort_afresh(keys, order, spare, count)


@lean
def sort_afresh(keys: Floats, order: Integers, spare: Integers, count: int) -> None:
    """The same for an order that is no better than chance: short runs by insertion, then merged two by two."""
    for first in range(0, count, RUN):
        mend(keys, order, first, min(first + RUN, count), RUN * RUN)
    width = RUN
    while width < count:
        for left in range(0, count, 2 * width):
            merge_runs(keys, order, spare, left, min(left + width, count), min(left + 2 * width, count))
        for place in range(count):
            order[place] = spare[place]
        width *= 2


@lean
def select_above(
    keys: Floats, threshold: float, order: Integers, inside: Booleans, exposure: Floats, count: int
) -> int:
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
def rank_best(keys: Floats, count: int, order: Integers, spare: Integers) -> None:
    """Make ``order[:count]`` the candidates with the largest keys, best first; ``order`` must hold a permutation."""
    if keys.size <= WORTH_SELECTING * count:
        sort_descending(keys, order, spare, keys.size)
        return
    threshold = key_at_rank(keys, count, spare)
    above = 0
    tied = 0
    for candidate in range(keys.size):
        above += keys[candidate] > threshold
    for candidate in range(keys.size):  # those at the threshold fill up, lower index first
        if keys[candidate] > threshold or (keys[candidate] == threshold and above + tied < count):
            tied += keys[candidate] == threshold
            spare[candidate] = 1
        else:
            spare[candidate] = 0
    _chosen_first(spare, order)
    sort_descending(keys, order, spare, count)


@lean
def _chosen_first(chosen: Integers, order: Integers) -> None:
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
def key_at_rank(keys: Floats, rank: int, places: Integers) -> float:
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
def mend(keys: Floats, order: Integers, first: int, last: int, budget: int) -> bool:
    """Insertion sort of order[first:last]; False when it took more moves than the budget and was given up half-way."""
    for place in range(first + 1, last):
        candidate = order[place]
        key = keys[candidate]
        target = place
        while target > first:
            other = order[target - 1]
            if keys[other] > key or (keys[other] == key and other < candidate):
                break
            order[target] = other
            target -= 1
        order[target] = candidate
        budget -= place - target
        if budget < 0:
            return False
    return True


@lean
def merge_runs(keys: Floats, source: Integers, target: Integers, left: int, middle: int, right: int) -> None:
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
