"""A ranking under improvement: its items by rank, its shares and costs, and each candidate's price-adjusted worth.

Penalties are convex, so a move that shifts exposure by d from one candidate to another gains at most d times the
difference of their worth ``c − A·(slopes)``: most moves are passed over for the price of a subtraction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Floats, Integers
from excalibr.search.program import Terms, category_cost, category_slope, charged

__all__ = ["State", "evaluate", "load", "new_state"]


class State(NamedTuple):
    """One ranking and everything that a move is judged by; ``totals`` are the sum of costs and the value."""

    ranking: Integers
    rank_of: Integers
    group_counts: Integers
    shares: Floats
    costs: Floats
    slopes: Floats
    worth: Floats
    totals: Floats
    moved: Floats
    pair_costs: Floats
    pair_scans: Integers
    scans: Integers


@compiled
def new_state(n: int, k: int, r: int, groups: int, pairs: int) -> State:
    """Room for a ranking of k out of n candidates."""
    return State(
        np.zeros(k, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(groups, dtype=np.int64),
        np.empty(r),
        np.empty(r),
        np.empty(r),
        np.empty(n),
        np.zeros(2),
        np.empty(r),
        np.empty(pairs),
        np.zeros(pairs, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@lean
def load(terms: Terms, state: State, ranking: Integers) -> None:
    """Take up a ranking (by rank); one that has too many of a group gets the best allowed candidates in their place."""
    for candidate in range(state.rank_of.size):
        state.rank_of[candidate] = -1
    for group in range(state.group_counts.size):
        state.group_counts[group] = 0
    for rank in range(state.ranking.size):
        state.ranking[rank] = -1
        if _has_room(terms.group_of, terms.group_limits, state.group_counts, ranking[rank]):
            _place(terms, state, rank, ranking[rank])
    for rank in range(state.ranking.size):
        if state.ranking[rank] < 0:
            _place(terms, state, rank, _best_allowed(terms, state))
    evaluate(terms, state)


@lean
def evaluate(terms: Terms, state: State) -> None:
    """Everything that follows from the ranking, from nothing: cheap beside a scan of the moves, and it cannot drift."""
    gains, indptr, indices, values, pieces = terms.gains, terms.indptr, terms.indices, terms.values, terms.pieces
    shares, costs, slopes, worths = state.shares, state.costs, state.slopes, state.worth
    base, weights, ranking = terms.base, terms.weights, state.ranking
    for category in range(shares.size):
        shares[category] = base[category]
    gain = 0.0
    for rank in range(ranking.size):
        candidate, weight = ranking[rank], weights[rank]
        gain += weight * gains[candidate]
        for entry in range(indptr[candidate], indptr[candidate + 1]):
            shares[indices[entry]] += weight * values[entry]
    cost = 0.0
    for category in range(shares.size):
        costs[category] = category_cost(pieces, category, shares[category])
        cost += costs[category]
    charge = terms.charge if cost > terms.allowance else 0.0
    for category in range(shares.size):
        slopes[category] = charge * category_slope(pieces, category, shares[category])
    for candidate in range(worths.size):
        worth = gains[candidate]
        for entry in range(indptr[candidate], indptr[candidate + 1]):
            worth -= values[entry] * slopes[indices[entry]]
        worths[candidate] = worth
    state.totals[0] = cost
    state.totals[1] = gain - charged(cost, terms.charge, terms.allowance)


@lean
def _place(terms: Terms, state: State, rank: int, candidate: int) -> None:
    state.ranking[rank] = candidate
    state.rank_of[candidate] = rank
    if terms.group_limits.size and terms.group_of[candidate] >= 0:
        state.group_counts[terms.group_of[candidate]] += 1


@lean
def _has_room(group_of: Integers, group_limits: Integers, group_counts: Integers, candidate: int) -> bool:
    if group_limits.size == 0 or group_of[candidate] < 0:
        return True
    return bool(group_counts[group_of[candidate]] < group_limits[group_of[candidate]])


@lean
def _best_allowed(terms: Terms, state: State) -> int:
    """The candidate outside with the largest gain whose group has room; any outside one when no group has."""
    best = -1
    allowed = False
    for candidate in range(terms.gains.size):
        if state.rank_of[candidate] >= 0:
            continue
        room = _has_room(terms.group_of, terms.group_limits, state.group_counts, candidate)
        if best < 0 or (room and not allowed) or (room == allowed and terms.gains[candidate] > terms.gains[best]):
            best = candidate
            allowed = room
    return best
