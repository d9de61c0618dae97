"""The moves of the search: replace an item by one outside, swap two, move one and shift those between.

Each function finds the best move of its kind for one rank and returns (its gain, the other rank or candidate). Only
the categories that a move touches are evaluated; ties go to the lower index.
"""

from __future__ import annotations

from excalibr._jit import lean
from excalibr._types import Floats, Integers
from excalibr.search.program import Terms, category_cost, charged
from excalibr.search.state import State

__all__ = ["best_insertion", "best_replacement", "best_swap", "exchange_cost", "insert", "is_full", "replace", "swap"]


@lean
def best_replacement(terms: Terms, state: State, rank: int, floor: float) -> tuple[float, int]:
    """The candidate outside that gains most at this rank, if more than ``floor``; otherwise (floor, −1)."""
    # Fields are read into names before a loop: reading them inside counts references at every step.
    gains, indptr, indices, values, pieces = terms.gains, terms.indptr, terms.indices, terms.values, terms.pieces
    pair_of, pair_costs, pair_scans, moved = terms.pair_of, state.pair_costs, state.pair_scans, state.moved
    group_of, group_limits, group_counts = terms.group_of, terms.group_limits, state.group_counts
    rank_of, worth, charge, allowance = state.rank_of, state.worth, terms.charge, terms.allowance
    leaving, weight, limited = state.ranking[rank], terms.weights[rank], group_limits.size > 0
    state.scans[0] += 1
    scan = state.scans[0]
    cost_without = _take_out(
        leaving, weight, state.totals[0], indptr, indices, values, state.shares, state.costs, pieces, moved
    )
    charged_now = charged(state.totals[0], charge, allowance)
    best, chosen = floor, -1
    for candidate in range(gains.size):
        if rank_of[candidate] >= 0 or weight * (worth[candidate] - worth[leaving]) <= best:
            continue
        if limited and is_full(group_of, group_limits, group_counts, leaving, candidate):
            continue
        cost = cost_without + _entering_cost(
            candidate, weight, indptr, indices, values, pair_of, moved, pieces, pair_costs, pair_scans, scan
        )
        gain = weight * (gains[candidate] - gains[leaving]) - (charged(cost, charge, allowance) - charged_now)
        if gain > best:
            best, chosen = gain, candidate
    return best, chosen


@lean
def _take_out(
    leaving: int,
    weight: float,
    cost: float,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    shares: Floats,
    costs: Floats,
    pieces: Floats,
    moved: Floats,
) -> float:
    """Make ``moved`` the shares without one item, and return what those cost."""
    for category in range(moved.size):
        moved[category] = shares[category]
    for entry in range(indptr[leaving], indptr[leaving + 1]):
        category = indices[entry]
        moved[category] -= weight * values[entry]
        cost += category_cost(pieces, category, moved[category]) - costs[category]
    return cost


@lean
def _entering_cost(
    candidate: int,
    weight: float,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    pair_of: Integers,
    shares: Floats,
    pieces: Floats,
    pair_costs: Floats,
    pair_scans: Integers,
    scan: int,
) -> float:
    """How much the penalties rise when a candidate gets this weight; a pair met before in this scan is only added."""
    change = 0.0
    for entry in range(indptr[candidate], indptr[candidate + 1]):
        pair = pair_of[entry]
        if pair_scans[pair] != scan:
            pair_scans[pair] = scan
            share = shares[indices[entry]]
            after = category_cost(pieces, indices[entry], share + weight * values[entry])
            pair_costs[pair] = after - category_cost(pieces, indices[entry], share)
        change += pair_costs[pair]
    return change


@lean
def best_swap(terms: Terms, state: State, rank: int, floor: float) -> tuple[float, int]:
    """The lower rank with which an exchange gains most, if more than ``floor``; otherwise (floor, −1)."""
    indptr, indices, values, gains = terms.indptr, terms.indices, terms.values, terms.gains
    shares, costs, worth, ranking, pieces = state.shares, state.costs, state.worth, state.ranking, terms.pieces
    weights, falling = terms.weights, state.ranking[rank]
    charge, allowance, cost = terms.charge, terms.allowance, state.totals[0]
    charged_now = charged(cost, charge, allowance)
    best, chosen = floor, -1
    for other in range(rank + 1, ranking.size):
        rising = ranking[other]
        weight = weights[rank] - weights[other]
        if weight * (worth[rising] - worth[falling]) <= best:
            continue
        change = exchange_cost(falling, rising, weight, indptr, indices, values, shares, costs, pieces)
        gain = weight * (gains[rising] - gains[falling])
        gain -= charged(cost + change, charge, allowance) - charged_now
        if gain > best:
            best, chosen = gain, other
    return best, chosen


@lean
def best_insertion(terms: Terms, state: State, rank: int, step: int, floor: float) -> tuple[float, int]:
    """The rank, in one direction, to which moving this item gains most, if more than ``floor``; otherwise (floor, −1).

    ``moved`` holds the shares after the items passed so far have shifted by one rank, before the item itself moves.
    """
    gains, indptr, indices, values, pieces = terms.gains, terms.indptr, terms.indices, terms.values, terms.pieces
    weights, worth, ranking, moved, shares = terms.weights, state.worth, state.ranking, state.moved, state.shares
    charge, allowance, item = terms.charge, terms.allowance, state.ranking[rank]
    charged_now = charged(state.totals[0], charge, allowance)
    for category in range(moved.size):
        moved[category] = shares[category]
    best, chosen = floor, -1
    bound, gain, place = 0.0, 0.0, rank
    while 0 <= place + step < ranking.size:
        passed = ranking[place + step]
        weight = weights[place] - weights[place + step]
        place += step
        bound += weight * worth[passed]
        gain += weight * gains[passed]
        for entry in range(indptr[passed], indptr[passed + 1]):
            moved[indices[entry]] += weight * values[entry]
        lift = weights[place] - weights[rank]
        if bound + lift * worth[item] <= best or place == rank + step:
            continue  # one rank further is a swap
        cost = _cost_with(item, lift, indptr, indices, values, moved, pieces)
        total = gain + lift * gains[item] - (charged(cost, charge, allowance) - charged_now)
        if total > best:
            best, chosen = total, place
    return best, chosen


@lean
def exchange_cost(
    leaving: int,
    entering: int,
    weight: float,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    shares: Floats,
    costs: Floats,
    pieces: Floats,
) -> float:
    """How much the penalties rise when ``weight`` of exposure goes from one candidate to another: two rows merged."""
    first, first_end = indptr[leaving], indptr[leaving + 1]
    second, second_end = indptr[entering], indptr[entering + 1]
    change = 0.0
    while first < first_end or second < second_end:
        if second == second_end or (first < first_end and indices[first] < indices[second]):
            category = indices[first]
            share = shares[category] - weight * values[first]
            first += 1
        elif first == first_end or indices[second] < indices[first]:
            category = indices[second]
            share = shares[category] + weight * values[second]
            second += 1
        else:
            category = indices[first]
            share = shares[category] + weight * (values[second] - values[first])
            first += 1
            second += 1
        change += category_cost(pieces, category, share) - costs[category]
    return change


@lean
def replace(terms: Terms, state: State, rank: int, candidate: int) -> None:
    """Put a candidate from outside at this rank."""
    leaving = state.ranking[rank]
    state.ranking[rank] = candidate
    state.rank_of[leaving] = -1
    state.rank_of[candidate] = rank
    if terms.group_limits.size:
        if terms.group_of[leaving] >= 0:
            state.group_counts[terms.group_of[leaving]] -= 1
        if terms.group_of[candidate] >= 0:
            state.group_counts[terms.group_of[candidate]] += 1


@lean
def swap(state: State, rank: int, other: int) -> None:
    """Exchange the items of two ranks."""
    first, second = state.ranking[rank], state.ranking[other]
    state.ranking[rank], state.ranking[other] = second, first
    state.rank_of[second], state.rank_of[first] = rank, other


@lean
def insert(state: State, rank: int, target: int) -> None:
    """Move the item of one rank to another; those between shift by one towards where it was."""
    step = 1 if target > rank else -1
    while rank != target:
        swap(state, rank, rank + step)
        rank += step


@lean
def is_full(group_of: Integers, group_limits: Integers, group_counts: Integers, leaving: int, entering: int) -> bool:
    """Whether the group of a candidate that would enter has no room, even when the other one leaves."""
    group = group_of[entering]
    return bool(group >= 0 and group != group_of[leaving] and group_counts[group] >= group_limits[group])


@lean
def _cost_with(
    item: int, lift: float, indptr: Integers, indices: Integers, values: Floats, shares: Floats, pieces: Floats
) -> float:
    """The sum of all penalties at ``shares`` and ``lift`` more exposure of one item."""
    cost = 0.0
    entry, end = indptr[item], indptr[item + 1]
    for category in range(shares.size):
        share = shares[category]
        if entry < end and indices[entry] == category:
            share += lift * values[entry]
            entry += 1
        cost += category_cost(pieces, category, share)
    return cost
