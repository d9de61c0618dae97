"""Column generation with curved penalties: the best lottery of the rankings found, a new ranking at its prices.

What simplex steps do for straight penalties an interior-point method does here. It closes what the proximal method
leaves, and takes any way of finding the best ranking, so also one that passes over full groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Floats, Integers, Places
from excalibr.solver.capped import Sorting, best_ranking
from excalibr.solver.interior import mix_rankings, new_parts
from excalibr.solver.ordering import Spare, new_spare
from excalibr.solver.program import Program, adjust, copy_into, penalty_cost, price_value, ranking_effect

__all__ = ["close_curved_gap"]

SORTS_A_CATEGORY = 40
IDLE = 1e-11
"""A ranking with a smaller weight may be forgotten when there are many."""

WORTH_ADDING = 1e-13

EFFORT = 1_000_000_000
"""Multiplications after which the lottery found so far has to do: some seconds, which only hundreds of categories need.
A count, so that answers do not depend on a machine's speed."""


@compiled
def close_curved_gap(
    program: Program,
    sorting: Sorting,
    first_rankings: Integers,
    prices: Floats,
    tolerance: float,
    max_sorts: int,
    order: Places,
) -> tuple[Integers, Floats, int, bool]:
    """Add rankings (by rank) until the gap is within ``tolerance``; returns rankings, weights, sorts, and if it is.

    ``prices`` (r,) is where to start and ends as the best found; ``order`` is any permutation of the candidates.
    """
    r = program.low.size
    k = program.slots.size
    room = max(first_rankings.shape[0], 4 * (r + 8)) + 1
    rankings = np.empty((room, k), dtype=np.int64)
    values = np.empty(room)
    shares = np.empty((room, r))
    weights = np.zeros(room)
    adjusted = np.empty(order.size)
    spare = new_spare(order.size)
    trial = prices.copy()
    parts = new_parts(program)
    count = 0
    for place in range(first_rankings.shape[0]):
        count = _add(program, first_rankings[place], rankings, values, shares, count)
    bound = _sort(program, sorting, trial, adjusted, order, spare)
    count = _add(program, order, rankings, values, shares, count)
    limit = min(max_sorts, SORTS_A_CATEGORY * (r + 10))
    sorts = 1
    effort = 0
    while True:
        steps = mix_rankings(program, parts, values, shares, count, tolerance, trial, weights)
        objective = _value(program, values, shares, weights, count)
        effort += steps * count * parts.category.size**2
        if bound - objective <= tolerance or sorts >= limit or effort >= EFFORT:
            break
        latest = _sort(program, sorting, trial, adjusted, order, spare)
        sorts += 1
        if latest < bound:
            bound = latest
            copy_into(trial, prices, r)
        if bound - objective <= tolerance:
            break
        if count == room:
            count = _forget_idle(rankings, values, shares, weights, count)
        if count == room:
            break
        count = _add(program, order, rankings, values, shares, count)
        if not _is_new(values, shares, count - 1):
            break
    return rankings[:count], weights[:count].copy(), sorts, bound - objective <= tolerance


@lean
def _sort(program: Program, sorting: Sorting, prices: Floats, adjusted: Floats, order: Places, spare: Spare) -> float:
    """Make ``order[:k]`` the best ranking at the prices; returns the bound that it proves."""
    adjust(program, prices, adjusted)
    best_ranking(sorting, adjusted, program.slots.size, order, spare)
    bound = price_value(program, prices)
    for rank in range(program.slots.size):
        bound += program.slots[rank] * adjusted[order[rank]]
    return bound


@lean
def _add(program: Program, ranking: Any, rankings: Integers, values: Floats, shares: Floats, count: int) -> int:
    """Put one more ranking into the pool."""
    copy_into(ranking, rankings[count], program.slots.size)
    values[count] = ranking_effect(program, program.gains, ranking, shares[count])
    return count + 1


@lean
def _is_new(values: Floats, shares: Floats, place: int) -> bool:
    """Whether the ranking at a place does anything that none before it does."""
    for other in range(place):
        apart = abs(values[other] - values[place])
        for category in range(shares.shape[1]):
            apart += abs(shares[other, category] - shares[place, category])
        if apart <= WORTH_ADDING:
            return False
    return True


@compiled
def _value(program: Program, values: Floats, shares: Floats, weights: Floats, count: int) -> float:
    """The objective of the lottery, with its weights brought to a sum of 1."""
    total = 0.0
    for ranking in range(count):
        total += weights[ranking]
    mixed = np.zeros(shares.shape[1])
    value = 0.0
    for ranking in range(count):
        weights[ranking] /= total
        value += weights[ranking] * values[ranking]
        for category in range(mixed.size):
            mixed[category] += weights[ranking] * shares[ranking, category]
    return value - penalty_cost(program, mixed)


@lean
def _forget_idle(rankings: Integers, values: Floats, shares: Floats, weights: Floats, count: int) -> int:
    """Drop the rankings that have no weight to speak of; returns how many stay."""
    kept = 0
    for ranking in range(count):
        if weights[ranking] > IDLE:
            copy_into(rankings[ranking], rankings[kept], rankings.shape[1])
            copy_into(shares[ranking], shares[kept], shares.shape[1])
            values[kept] = values[ranking]
            weights[kept] = weights[ranking]
            kept += 1
    return kept
