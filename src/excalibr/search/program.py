"""What a ranking is judged by, as the search sees it: plain arrays, and the sums over one ranking.

    value(Q) = c·x − charge · max(0, Σ_j penalty_j(t_j) − allowance),   t = base + Aᵀx,   x the exposure of Q

A penalty is 0 on a band; outside it is linear, or an I-divergence from the band's edge where it is smoothed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.ordering import new_spare, sort_descending
from excalibr.solver.program import largest

__all__ = ["SearchProgram", "Terms", "category_cost", "category_slope", "charged", "terms_of"]

LOW, HIGH, BELOW, ABOVE, SMOOTHING = range(5)
"""The columns of ``Terms.pieces``: one row holds all that a category's penalty needs, next to one another in memory."""

LOOKED_AT = 12


class SearchProgram(NamedTuple):
    """One user's program for single rankings.

    Attributes
    ----------
    gains
        c, (n,): what a unit of exposure of each candidate is worth.
    indptr, indices, values
        A by rows: candidate i has ``values[indptr[i]:indptr[i + 1]]`` of the categories ``indices[…]``,
        in rising order.
    base
        (r,): where the categories' shares start.
    low, high
        (r,): the band on which a category costs nothing.
    below, above
        (r,): what it costs below and above the band.
    smoothing
        (r,): 0 for a linear cost; α > 0 for KL: beyond an edge l it is ``l·log(l / t̃) − l + t̃`` with
        ``t̃ = (1 − α)·t + α·l``.
    position_weights
        (k,) non-negative, in slot order.
    charge, allowance
        The penalties cost ``charge · max(0, sum − allowance)``.
    group_of
        (n,): each candidate's group, −1 for none; empty when there are no limits.
    group_limits
        (G,): how many candidates of each group a ranking may have.
    """

    gains: Floats
    indptr: Integers
    indices: Integers
    values: Floats
    base: Floats
    low: Floats
    high: Floats
    below: Floats
    above: Floats
    smoothing: Floats
    position_weights: Floats
    charge: float = 1.0
    allowance: float = 0.0
    group_of: Integers = np.empty(0, dtype=np.int64)
    group_limits: Integers = np.empty(0, dtype=np.int64)


class Terms(NamedTuple):
    """The same inside the kernel: gains measured from the best one, weights largest first, penalties in rows."""

    gains: Floats
    indptr: Integers
    indices: Integers
    values: Floats
    base: Floats
    pieces: Floats
    pair_of: Integers
    pair_count: int
    weights: Floats
    slot_order: Places
    charge: float
    allowance: float
    group_of: Integers
    group_limits: Integers
    top: float


@compiled
def terms_of(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    base: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    smoothing: Floats,
    position_weights: Floats,
    charge: float,
    allowance: float,
    group_of: Integers,
    group_limits: Integers,
) -> Terms:
    """The program in the kernel's own arrangement; ``top`` is what a unit of weight is worth before its gain counts."""
    k = position_weights.size
    slot_order = np.arange(k, dtype=PLACE)
    sort_descending(position_weights, slot_order, new_spare(k), k)
    weights = np.empty(k)
    for rank in range(k):
        weights[rank] = position_weights[slot_order[rank]]
    top = largest(gains)
    centred = np.empty(gains.size)
    for candidate in range(gains.size):
        centred[candidate] = gains[candidate] - top
    pieces = np.empty((base.size, 5))
    for category in range(base.size):
        pieces[category, LOW] = low[category]
        pieces[category, HIGH] = high[category]
        pieces[category, BELOW] = below[category]
        pieces[category, ABOVE] = above[category]
        pieces[category, SMOOTHING] = smoothing[category]
    pair_of, pair_count = _distinct_pairs(indices, values, base.size)
    rows = (indptr, indices, values, base, pieces, pair_of, pair_count, weights, slot_order)
    return Terms(centred, *rows, charge, allowance, group_of, group_limits, top)


@compiled
def _distinct_pairs(indices: Integers, values: Floats, categories: int) -> tuple[Integers, int]:
    """Number the distinct pairs of a category and a share in it: movies have few, and each is evaluated only once.

    Where nearly all shares differ there is nothing to save: after ``LOOKED_AT`` others a pair is called new.
    """
    pair_of = np.empty(values.size, dtype=np.int64)
    first = np.full(categories, -1)
    following = np.empty(values.size, dtype=np.int64)
    shares = np.empty(values.size)
    count = 0
    for entry in range(values.size):
        pair = first[indices[entry]]
        looked_at = 0
        while pair >= 0 and shares[pair] != values[entry]:
            looked_at += 1
            pair = following[pair] if looked_at < LOOKED_AT else -1
        if pair < 0:
            pair = count
            shares[pair] = values[entry]
            following[pair] = first[indices[entry]]
            first[indices[entry]] = pair
            count += 1
        pair_of[entry] = pair
    return pair_of, count


@lean
def category_cost(pieces: Floats, category: int, share: float) -> float:
    """What one category costs at this share."""
    if share < pieces[category, LOW]:
        edge = pieces[category, LOW]
        slope = pieces[category, BELOW]
    elif share > pieces[category, HIGH]:
        edge = pieces[category, HIGH]
        slope = pieces[category, ABOVE]
    else:
        return 0.0
    smoothing = pieces[category, SMOOTHING]
    if smoothing == 0.0:
        return slope * abs(share - edge)  # type: ignore[no-any-return]
    seen = (1.0 - smoothing) * share + smoothing * edge
    if edge <= 0.0:
        return slope * abs(seen - edge)  # type: ignore[no-any-return]
    return slope * (edge * math.log(edge / seen) - edge + seen)  # type: ignore[no-any-return]


@lean
def category_slope(pieces: Floats, category: int, share: float) -> float:
    """The slope of that cost, a subgradient at the band's edges."""
    if share < pieces[category, LOW]:
        edge = pieces[category, LOW]
        slope = -pieces[category, BELOW]
    elif share > pieces[category, HIGH]:
        edge = pieces[category, HIGH]
        slope = pieces[category, ABOVE]
    else:
        return 0.0
    smoothing = pieces[category, SMOOTHING]
    if smoothing == 0.0:
        return slope  # type: ignore[no-any-return]
    if edge <= 0.0:
        return (1.0 - smoothing) * slope  # type: ignore[no-any-return]
    seen = (1.0 - smoothing) * share + smoothing * edge
    return (1.0 - smoothing) * abs(slope) * (1.0 - edge / seen)  # type: ignore[no-any-return]


@lean
def charged(cost: float, charge: float, allowance: float) -> float:
    """What is charged for penalties of this sum."""
    return charge * (cost - allowance) if cost > allowance else 0.0
