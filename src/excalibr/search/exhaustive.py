"""Every ranking tried: rank after rank takes each candidate in turn, and each depth keeps the shares so far."""

from __future__ import annotations

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Booleans, Floats, Integers
from excalibr.search.program import Terms, category_cost, charged

__all__ = ["best_of_all"]


@compiled
def best_of_all(terms: Terms, best: Integers) -> float:
    """Fill ``best`` with the best ranking (by rank) that the groups allow, the first in a tie; returns its value.

    A depth-first walk: ``shares[d]`` and ``gains[d]`` are those of the candidates at ranks before d. Where no ranking
    is allowed the value is −∞ and ``best`` holds the first candidates.
    """
    k, n = best.size, terms.gains.size
    shares = np.zeros((k + 1, terms.base.size))
    gains = np.zeros(k + 1)
    used = np.zeros(n, dtype=np.bool_)
    group_counts = np.zeros(terms.group_limits.size, dtype=np.int64)
    chosen = np.full(k, -1)
    for category in range(terms.base.size):
        shares[0, category] = terms.base[category]
    for rank in range(k):
        best[rank] = rank
    best_value = -np.inf
    depth = 0
    while depth >= 0:
        if depth == k:
            value = gains[k] - _charge_of(terms, shares[k])
            if value > best_value:
                best_value = value
                for rank in range(k):
                    best[rank] = chosen[rank]
            depth -= 1
        elif _advance(terms, chosen, depth, used, group_counts):
            _extend(terms, chosen[depth], depth, shares, gains)
            depth += 1
        else:
            chosen[depth] = -1
            depth -= 1
    return best_value


@lean
def _advance(terms: Terms, chosen: Integers, depth: int, used: Booleans, group_counts: Integers) -> bool:
    """Put the next allowed candidate at this rank, after the one that stands there; False when there is none left."""
    limited = terms.group_limits.size > 0
    candidate = chosen[depth]
    if candidate >= 0:
        used[candidate] = False
        if limited and terms.group_of[candidate] >= 0:
            group_counts[terms.group_of[candidate]] -= 1
    candidate += 1
    while candidate < used.size:
        group = terms.group_of[candidate] if limited else -1
        if not used[candidate] and (group < 0 or group_counts[group] < terms.group_limits[group]):
            used[candidate] = True
            if group >= 0:
                group_counts[group] += 1
            chosen[depth] = candidate
            return True
        candidate += 1
    return False


@lean
def _extend(terms: Terms, candidate: int, depth: int, shares: Floats, gains: Floats) -> None:
    weight = terms.weights[depth]
    gains[depth + 1] = gains[depth] + weight * terms.gains[candidate]
    for category in range(shares.shape[1]):
        shares[depth + 1, category] = shares[depth, category]
    for entry in range(terms.indptr[candidate], terms.indptr[candidate + 1]):
        shares[depth + 1, terms.indices[entry]] += weight * terms.values[entry]


@lean
def _charge_of(terms: Terms, shares: Floats) -> float:
    cost = 0.0
    for category in range(shares.size):
        cost += category_cost(terms.pieces, category, shares[category])
    return charged(cost, terms.charge, terms.allowance)
