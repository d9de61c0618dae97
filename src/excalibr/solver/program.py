"""One user's program as the kernel sees it: plain arrays in a named tuple, and the few sums that every part needs.

    maximise  c·x − Σ_j penalty_j((Aᵀx)_j)   over the permutohedron of the position weights

with a penalty a category (:mod:`excalibr.solver.penalty`): nothing on a band, straight or curved below and above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from excalibr._jit import compiled, inlined, lean
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.ordering import Spare, new_spare, rank_best, sort_descending
from excalibr.solver.penalty import cost_of_share, dual_of_price, highest_price, lowest_price

__all__ = [
    "Program",
    "adjust",
    "copy_into",
    "dual_value",
    "largest",
    "penalty_cost",
    "price_value",
    "ranking_effect",
    "scaled_program",
]

LOW, HIGH, BELOW, ABOVE, SMOOTHING, BASE = range(6)
"""The rows of a penalty as the kernel takes it, a (6, r) array."""


class Program(NamedTuple):
    """c, A by rows and by columns, the penalty with the limits of its prices, and the position weights, largest first.

    Category j has the candidates ``members[starts[j]:starts[j + 1]]``, in rising order, with the shares ``parts[…]``.
    """

    gains: Floats
    indptr: Places
    indices: Places
    values: Floats
    starts: Places
    members: Places
    parts: Floats
    low: Floats
    high: Floats
    below: Floats
    above: Floats
    smoothing: Floats
    base: Floats
    floors: Floats
    ceilings: Floats
    slots: Floats


@compiled
def scaled_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    slot_order: Places,
) -> tuple[Program, float]:
    """The program with its best gain at 0 and gains and slopes near 1, and what one unit of it was before.

    ``slot_order`` is filled with the slots, heaviest first; the program's rankings are in that order.
    """
    top = largest(gains)
    bottom = top
    for candidate in range(gains.size):
        bottom = min(bottom, gains[candidate])
    unit = _unit(top - bottom, penalty)
    scaled_gains = np.empty(gains.size)
    for candidate in range(gains.size):
        scaled_gains[candidate] = (gains[candidate] - top) / unit
    r = penalty.shape[1]
    below = np.empty(r)
    above = np.empty(r)
    floors = np.empty(r)
    ceilings = np.empty(r)
    for category in range(r):
        below[category] = penalty[BELOW, category] / unit
        above[category] = penalty[ABOVE, category] / unit
        smoothing = penalty[SMOOTHING, category]
        base = penalty[BASE, category]
        floors[category] = lowest_price(penalty[LOW, category], below[category], smoothing, base)
        ceilings[category] = highest_price(penalty[HIGH, category], above[category], smoothing, base)
    sort_descending(position_weights, slot_order, new_spare(slot_order.size), slot_order.size)
    slots = np.empty(slot_order.size)
    for rank in range(slots.size):
        slots[rank] = position_weights[slot_order[rank]]
    straight = (penalty[LOW], penalty[HIGH], below, above)
    bend = (penalty[SMOOTHING], penalty[BASE])
    rows = _as_places(indptr), _as_places(indices), values
    columns = _by_category(rows[0], rows[1], values, r)
    return Program(scaled_gains, *rows, *columns, *straight, *bend, floors, ceilings, slots), unit


@compiled
def _as_places(numbers: Integers) -> Places:
    places = np.empty(numbers.size, dtype=PLACE)
    for place in range(numbers.size):
        places[place] = numbers[place]
    return places


@compiled
def _by_category(indptr: Places, indices: Places, values: Floats, r: int) -> tuple[Places, Places, Floats]:
    """The entries of the rows by category: where each begins, the candidates, their shares."""
    starts = np.zeros(r + 2, dtype=PLACE)
    members = np.empty(indices.size, dtype=PLACE)
    parts = np.empty(indices.size)
    for entry in range(indices.size):
        starts[indices[entry] + 2] += 1
    for category in range(2, r + 2):
        starts[category] += starts[category - 1]
    for candidate in range(indptr.size - 1):
        for entry in range(indptr[candidate], indptr[candidate + 1]):
            place = starts[indices[entry] + 1]
            members[place] = candidate
            parts[place] = values[entry]
            starts[indices[entry] + 1] = place + 1
    return starts, members, parts


@lean
def _unit(spread: float, penalty: Floats) -> float:
    """The spread of the gains or the gentlest slope, whichever is larger; hard limits are far steeper than either."""
    gentlest = np.inf
    for category in range(penalty.shape[1]):
        for slope in (penalty[BELOW, category], penalty[ABOVE, category]):
            if slope > 0.0:
                gentlest = min(gentlest, slope)
    unit = max(spread, gentlest) if gentlest < np.inf else spread
    return unit if unit > 0.0 else 1.0


@lean
def largest(numbers: Floats) -> float:
    """The largest of some numbers."""
    top = numbers[0]
    for place in range(1, numbers.size):
        top = max(top, numbers[place])
    return top  # type: ignore[no-any-return]


@lean
def copy_into(source: Any, target: Any, count: int) -> None:
    """target[:count] = source[:count], without the checks that make a slice assignment slow to compile."""
    for place in range(count):
        target[place] = source[place]


@inlined
def adjust(program: Program, prices: Floats, adjusted: Floats) -> None:
    """z = c − A·y: what each candidate is worth once its categories are paid for."""
    for candidate in range(program.gains.size):
        adjusted[candidate] = program.gains[candidate]
    for category in range(prices.size):  # long loops, where the rows would make many short ones
        price = prices[category]
        if price != 0.0:
            for entry in range(program.starts[category], program.starts[category + 1]):
                adjusted[program.members[entry]] -= program.parts[entry] * price


@lean
def penalty_cost(program: Program, shares: Floats) -> float:
    """What the category shares cost."""
    cost = 0.0
    for category in range(shares.size):
        cost += cost_of_share(
            shares[category],
            program.low[category],
            program.high[category],
            program.below[category],
            program.above[category],
            program.smoothing[category],
            program.base[category],
        )
    return cost


@inlined
def dual_value(program: Program, prices: Floats, adjusted: Floats, order: Places, spare: Spare) -> float:
    """What no policy can exceed: the penalty's part at the prices plus σ(z), the best ranking at the adjusted scores.

    Fills ``adjusted`` and makes ``order[:k]`` that ranking.
    """
    adjust(program, prices, adjusted)
    rank_best(adjusted, program.slots.size, order, spare)
    value = price_value(program, prices)
    for rank in range(program.slots.size):
        value += program.slots[rank] * adjusted[order[rank]]
    return value


@lean
def price_value(program: Program, prices: Floats) -> float:
    """Σ_j φ*_j(y_j): the penalty's part of the bound."""
    value = 0.0
    for category in range(prices.size):
        value += dual_of_price(
            prices[category],
            program.low[category],
            program.high[category],
            program.below[category],
            program.above[category],
            program.smoothing[category],
            program.base[category],
        )
    return value


@inlined
def ranking_effect(program: Program, gains: Floats, ranking: Any, shares: Floats) -> float:
    """Fill the category shares of one ranking (by rank) and return its value by these gains."""
    value = 0.0
    for category in range(program.low.size):
        shares[category] = 0.0
    for rank in range(program.slots.size):
        candidate = PLACE(ranking[rank])
        weight = program.slots[rank]
        value += weight * gains[candidate]
        for place in range(program.indptr[candidate], program.indptr[candidate + 1]):
            shares[program.indices[place]] += weight * program.values[place]
    return value
