"""Compiled sums over rankings and rows of memberships, and rows packed and looked over in one pass.

They are the small steps around every solve. Numpy needs ten passes for each, which would be most of a small call.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import FLOAT_ROWS, FLOATS, INTEGER, INTEGERS, RANKINGS, entry, lean
from excalibr._types import PLACE, Floats, Integers

__all__ = ["exposure_of", "look_over", "pack_rows", "shares_of", "with_sums_of_one"]


@entry(FLOAT_ROWS)
def pack_rows(array: Floats) -> tuple[Integers, Integers, Floats, bool, float]:
    """The non-zeros of an (n, r) array by rows (indptr, indices, values), and what :func:`look_over` says of them."""
    n, r = array.shape
    indptr = np.empty(n + 1, dtype=np.int64)
    indptr[0] = 0
    for row in range(n):
        count = 0
        for column in range(r):
            count += array[row, column] != 0.0
        indptr[row + 1] = indptr[row] + count
    indices = np.empty(indptr[n] + 1, dtype=np.int64)
    values = np.empty(indptr[n] + 1)
    place = 0
    for row in range(n):
        for column in range(r):  # written always and kept if not 0: a branch would be guessed wrong for every entry
            target = PLACE(place)
            indices[target] = column
            values[target] = array[row, column]
            place += array[row, column] != 0.0
    indices, values = indices[:place], values[:place]
    are_shares, off = _look_over(indptr, values)
    return indptr, indices, values, are_shares, off


@entry(INTEGERS, FLOATS)
def look_over(indptr: Integers, values: Floats) -> tuple[bool, float]:
    """Whether all values are finite and at least 0, and how far from 1 a row's sum is at most."""
    return _look_over(indptr, values)


@entry(INTEGERS, FLOATS)
def with_sums_of_one(indptr: Integers, values: Floats) -> Floats:
    """The values with every row divided by its sum."""
    divided = np.empty(values.size)
    for row in range(indptr.size - 1):
        total = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            total += values[place]
        for place in range(indptr[row], indptr[row + 1]):
            divided[place] = values[place] / total
    return divided


@entry(RANKINGS, FLOATS, FLOATS, INTEGER)
def exposure_of(rankings: Integers, weights: Floats, position_weights: Floats, n: int) -> Floats:
    """(n,) the expected position weight of each candidate under a lottery."""
    exposure = np.zeros(n)
    for ranking in range(weights.size):
        for slot in range(position_weights.size):
            exposure[rankings[ranking, slot]] += weights[ranking] * position_weights[slot]
    return exposure


@entry(INTEGERS, INTEGERS, FLOATS, INTEGER, FLOATS)
def shares_of(indptr: Integers, indices: Integers, values: Floats, n_categories: int, exposure: Floats) -> Floats:
    """(r,) p = Aᵀx."""
    shares = np.zeros(n_categories)
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            shares[indices[place]] += values[place] * exposure[row]
    return shares


@lean
def _look_over(indptr: Integers, values: Floats) -> tuple[bool, float]:
    are_shares = True
    off = 0.0
    for row in range(indptr.size - 1):
        total = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            if not 0.0 <= values[place] < np.inf:
                are_shares = False
            total += values[place]
        off = max(off, abs(total - 1.0))
    return are_shares, off
