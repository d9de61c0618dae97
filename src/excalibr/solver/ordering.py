"""Sorting candidates, largest key first, ties by the lower index: the one order that every part of the kernel uses.

Prices move little from one evaluation to the next, so an order is mended by insertion, and sorted anew by merging only
when too much has changed. The result never depends on the order that it started from.
"""

from __future__ import annotations

from excalibr._types import Booleans, Floats, Integers
from excalibr.solver.jit import compiled

__all__ = ["rank_best", "select_above", "sort_descending", "value_at_rank"]

WORTH_SELECTING = 5
"""With more candidates than this for each one wanted, the best are selected first and only they are sorted."""

MOVES_A_CANDIDATE = 8
"""Insertion is given up for a merge sort when it has moved this many entries for each candidate."""


@compiled
def sort_descending(keys: Floats, order: Integers, spare: Integers, count: int) -> None:
    """Sort ``order[:count]`` by ``keys``, largest first, ties by the lower index."""
    if not _mend(keys, order, count):
        _merge_sort(keys, order, spare, count)


@compiled
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


@compiled
def rank_best(keys: Floats, count: int, order: Integers, spare: Integers) -> None:
    """Make ``order[:count]`` the candidates with the largest keys, best first; ``order`` must hold a permutation."""
    if keys.size <= WORTH_SELECTING * count:
        sort_descending(keys, order, spare, keys.size)
        return
    threshold = value_at_rank(keys, count)
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


@compiled
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


@compiled
def value_at_rank(keys: Floats, rank: int) -> float:
    """The key that ``rank`` candidates reach or exceed (rank 1 is the largest key), by quickselect."""
    pool = keys.copy()
    place = rank - 1
    left = 0
    right = pool.size - 1
    while left < right:
        pivot = pool[(left + right) // 2]
        low = left
        high = right
        while low <= high:
            while pool[low] > pivot:
                low += 1
            while pool[high] < pivot:
                high -= 1
            if low <= high:
                kept = pool[low]
                pool[low] = pool[high]
                pool[high] = kept
                low += 1
                high -= 1
        if place <= high:
            right = high
        elif place >= low:
            left = low
        else:
            break
    return pool[place]  # type: ignore[no-any-return]


@compiled
def _before(keys: Floats, first: int, second: int) -> bool:
    return keys[first] > keys[second] or (keys[first] == keys[second] and first < second)


@compiled
def _mend(keys: Floats, order: Integers, count: int) -> bool:
    """Insertion sort; False when it was given up half-way (``order`` is still a permutation then)."""
    budget = MOVES_A_CANDIDATE * count
    for place in range(1, count):
        candidate = order[place]
        key = keys[candidate]
        target = place
        while target > 0:
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


@compiled
def _merge_sort(keys: Floats, order: Integers, spare: Integers, count: int) -> None:
    """Bottom-up merge sort; after the pass of ``width`` every run of 2·width is sorted."""
    width = 1
    while width < count:
        for left in range(0, count, 2 * width):
            middle = min(left + width, count)
            right = min(left + 2 * width, count)
            _merge(keys, order, spare, left, middle, right)
        for place in range(count):
            order[place] = spare[place]
        width *= 2


@compiled
def _merge(keys: Floats, order: Integers, spare: Integers, left: int, middle: int, right: int) -> None:
    first = left
    second = middle
    for place in range(left, right):
        if second >= right or (first < middle and _before(keys, order[first], order[second])):
            spare[place] = order[first]
            first += 1
        else:
            spare[place] = order[second]
            second += 1
