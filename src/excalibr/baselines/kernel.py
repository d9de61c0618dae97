"""The hot loops of the greedy baselines: arrays in, an order of selection out.

A step selects, for a slot of weight e, the candidate with the best value. Values leave out what is the same for every
candidate of the step. Two values within ``TIE`` of each other, relative to the size of what is compared, are a tie, and
ties go to the lower index: rounding then cannot decide between candidates that are equal.
"""

from __future__ import annotations

import math

import numpy as np

from excalibr._jit import BOOLEAN, FLOAT, FLOATS, INTEGER, INTEGERS, entry, lean
from excalibr._types import Floats, Integers

__all__ = ["TIE", "calibrated_order", "marginal_order"]

TIE = 1e-12
NEGLIGIBLE = 1e-300  # a target below it counts as 0: a ratio to it could overflow


@lean
def take_best(remaining: Integers, values: Floats, count: int, slack: float) -> int:
    """Take the first of the ``count`` remaining candidates whose value is within ``slack`` of the largest."""
    largest = values[0]
    for at in range(1, count):
        largest = max(largest, values[at])
    best = 0
    while values[best] < largest - slack:
        best += 1
    taken: int = remaining[best]
    for at in range(best, count - 1):  # the rest stay in rising order
        remaining[at] = remaining[at + 1]
    return taken


@lean
def largest_size(numbers: Floats) -> float:
    largest = 0.0
    for number in numbers:
        largest = max(largest, abs(number))
    return largest


@lean
def price_terms(
    changes: Floats,
    holders: Integers,
    term_categories: Integers,
    term_shares: Floats,
    filled: Floats,
    target: Floats,
    density: float,
    anchor: float,
    weight: float,
    trade_off: float,
) -> None:
    """How much λ·KL(q ‖ p̃) falls in a category when a candidate with this share of it takes the slot.

    Without the candidate p̃ = density·filled + anchor·q, with it density·weight·share more; anchor ≥ α > 0. Terms that
    no remaining candidate has (``holders`` counts them) are not looked at: with arbitrary shares each has only one.
    """
    for term in range(len(term_shares)):
        if not holders[term]:
            continue
        category = term_categories[term]
        wanted = target[category]
        changes[term] = 0.0
        if wanted > NEGLIGIBLE:
            before = density * filled[category] + anchor * wanted
            changes[term] = trade_off * wanted * math.log(1.0 + density * weight * term_shares[term] / before)


@entry(INTEGERS, FLOATS, INTEGERS, INTEGERS, INTEGERS, FLOATS, FLOATS, FLOATS, FLOAT, FLOAT, BOOLEAN)
def calibrated_order(
    candidates: Integers,
    gains: Floats,
    indptr: Integers,
    terms: Integers,
    term_categories: Integers,
    term_shares: Floats,
    target: Floats,
    weights: Floats,
    trade_off: float,
    smoothing: float,
    projected: bool,
) -> Integers:
    """Select, by gain and smoothed KL, one of the ``candidates`` for each of the slot ``weights`` in turn.

    The distribution of the filled slots is divided by their weight or, ``projected``, completed to 1 with the target.
    """
    remaining, order, filled = candidates.copy(), np.empty(len(weights), np.int64), np.zeros(len(target))
    values, changes = np.empty(len(candidates)), np.empty(len(term_shares))
    holders = np.zeros(len(term_shares), np.int64)
    for candidate in candidates:
        for place in range(indptr[candidate], indptr[candidate + 1]):
            holders[terms[place]] += 1
    size = largest_size(gains)
    total = 0.0
    for slot in range(len(weights)):  # heaviest first, so that total > 0
        weight = weights[slot]
        total += weight
        density = 1.0 - smoothing if projected else (1.0 - smoothing) / total
        anchor = smoothing + (1.0 - smoothing) * max(1.0 - total, 0.0) if projected else smoothing
        # All candidates of a step meet the same density and anchor: one logarithm for each distinct (category, share).
        price_terms(changes, holders, term_categories, term_shares, filled, target, density, anchor, weight, trade_off)
        count = len(remaining) - slot
        for at in range(count):
            values[at] = weight * gains[remaining[at]]
            for place in range(indptr[remaining[at]], indptr[remaining[at] + 1]):
                values[at] += changes[terms[place]]
        chosen = take_best(remaining, values, count, TIE * (weight * size + trade_off))
        for place in range(indptr[chosen], indptr[chosen + 1]):
            filled[term_categories[terms[place]]] += weight * term_shares[terms[place]]
            holders[terms[place]] -= 1
        order[slot] = chosen
    return order


@lean
def raise_overlaps(
    overlaps: Floats, chosen: int, row: Floats, indptr: Integers, indices: Integers, shares: Floats
) -> None:
    """Count ``chosen`` into each candidate's largest overlap with a chosen one; ``row`` is scratch, all 0."""
    for place in range(indptr[chosen], indptr[chosen + 1]):
        row[indices[place]] = shares[place]
    for candidate in range(len(overlaps)):
        overlap = 0.0
        for place in range(indptr[candidate], indptr[candidate + 1]):
            overlap += min(shares[place], row[indices[place]])
        overlaps[candidate] = max(overlaps[candidate], overlap)
    for place in range(indptr[chosen], indptr[chosen + 1]):
        row[indices[place]] = 0.0


@entry(FLOATS, INTEGERS, INTEGERS, FLOATS, INTEGER, INTEGER, FLOAT)
def marginal_order(
    gains: Floats, indptr: Integers, indices: Integers, shares: Floats, categories: int, slots: int, trade_off: float
) -> Integers:
    """Select ``slots`` candidates in turn, by gain − λ·(largest overlap with one chosen before)."""
    remaining, order = np.arange(len(gains)), np.empty(slots, np.int64)
    overlaps, values, row = np.zeros(len(gains)), np.empty(len(gains)), np.zeros(categories)
    slack = TIE * (largest_size(gains) + trade_off)
    for slot in range(slots):
        count = len(gains) - slot
        for at in range(count):
            values[at] = gains[remaining[at]] - trade_off * overlaps[remaining[at]]
        order[slot] = take_best(remaining, values, count, slack)
        raise_overlaps(overlaps, order[slot], row, indptr, indices, shares)
    return order
