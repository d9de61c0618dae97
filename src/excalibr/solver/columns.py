"""Column generation: prices from the master program, a new ranking from sorting at them, until the gap closes.

It ends exactly where the proximal method only comes close, and starts from whatever rankings and basis are there. So it
has three jobs: small problems, sweeps over trade-offs, and the last digits of hard problems. Prices for the next
ranking lie between the best so far and the master's (Wentges smoothing), which keeps the dual from swinging.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, inlined, lean
from excalibr._types import Floats, Integers, Places
from excalibr.solver.capped import Sorting, best_ranking
from excalibr.solver.lottery import NEGLIGIBLE
from excalibr.solver.master import (
    PIVOTS_SINCE,
    RANKINGS_FOUND,
    Master,
    add_ranking,
    lottery_value,
    make_room,
    renew,
    resume,
)
from excalibr.solver.ordering import Spare, new_spare, sort_descending
from excalibr.solver.program import Program, adjust, copy_into
from excalibr.solver.simplex import optimise

__all__ = ["Search", "close_gap", "new_search", "write_lottery"]

FIRST_SMOOTHING = 0.5
SMOOTHING_IF_GIVEN = 0.85
"""The weight of the best prices at first; larger where the first prices are near the optimum's already."""

WORTH_ADDING = 1e-11
MAX_DOUBTS = 5
SMOOTHER = 0.1
ROUGHER = 0.1
SORTS_A_CATEGORY = 40
PIVOTS_A_ROW = 50
FEW_PASSES = 2
ALL_PASSES = 1 << 30

# places in the pace of the search
BOUND, SMOOTHING = 0, 1


class Search(NamedTuple):
    """What the search for rankings works with; ``pace`` is the best bound so far and the weight of smoothing."""

    adjusted: Floats
    trial: Floats
    spare: Spare
    pace: Floats


@compiled
def new_search(n: int, r: int) -> Search:
    """Room for n candidates and r categories."""
    return Search(np.empty(n), np.empty(r), new_spare(n), np.empty(2))


@lean
def close_gap(
    program: Program,
    sorting: Sorting,
    master: Master,
    search: Search,
    centred: Floats,
    factor: float,
    prices: Floats,
    given: bool,
    fresh: bool,
    tolerance: float,
    max_sorts: int,
    order: Places,
) -> int:
    """Add rankings to the master's until the gap is within ``tolerance``; the basis ends as the best lottery found.

    ``centred`` · ``factor`` are the program's gains. ``prices`` (r,) ends as the best prices found, and is where to
    start if it is ``given`` or the pool is empty; otherwise the start is where the master's basis would stay optimal.
    ``fresh`` says that the master's basis is factorised; ``order`` is any permutation of the candidates and ends as
    the last sort. Returns the number of sorts.
    """
    r = program.low.size
    limit = min(max_sorts, SORTS_A_CATEGORY * (r + 10))
    first_smoothing = FIRST_SMOOTHING if r > 2 else 0.0  # a single price difference does not swing
    search.pace[SMOOTHING] = SMOOTHING_IF_GIVEN if given else first_smoothing
    alive = master.counts[RANKINGS_FOUND] == 0 or resume(program, master, factor, fresh)
    if master.counts[RANKINGS_FOUND] > 0 and not given:
        _between(program.below, program.above, prices, master.prices, 0.0, prices)
    if master.counts[RANKINGS_FOUND] == master.relevance.size:
        make_room(master)
    newest = _first_ranking(program, sorting, master, search, centred, factor, prices, order)
    if newest == 0:
        alive = resume(program, master, factor, False)
    sorts = 1
    doubts = 0
    while alive:
        thorough = newest < 0
        alive = optimise(program, master, newest, PIVOTS_A_ROW * (r + 10), ALL_PASSES if thorough else FEW_PASSES)
        if search.pace[BOUND] - _basis_value(master.prices, master.edge) <= tolerance:
            # believe an end only on a fresh factorisation, and do not go in circles over its rounding
            alive = renew(program, master) and doubts < MAX_DOUBTS
            alive = alive and search.pace[BOUND] - lottery_value(program, master) > tolerance
            doubts += 1
            continue
        if master.counts[RANKINGS_FOUND] == master.relevance.size:
            make_room(master)
        newest = -1
        for attempt in range(2):  # between the best prices and the master's, then at the master's own
            if newest < 0 and sorts < limit:
                newest = _next_ranking(program, sorting, master, search, centred, factor, prices, order, attempt == 0)
                sorts += 1
        if newest < 0 and thorough:
            alive = master.counts[PIVOTS_SINCE] > 0 and renew(program, master) and doubts < MAX_DOUBTS
            doubts += 1
        alive = alive and sorts < limit
    renew(program, master)
    return sorts


@inlined
def _first_ranking(
    program: Program,
    sorting: Sorting,
    master: Master,
    search: Search,
    centred: Floats,
    factor: float,
    prices: Floats,
    order: Places,
) -> int:
    """Sort at the first prices and add that ranking."""
    place = _rank_at(program, sorting, master, search, centred, factor, prices, order)
    search.pace[BOUND] = _value_at(program, prices, master.values[place], master.shares, place)
    return place


@inlined
def _next_ranking(
    program: Program,
    sorting: Sorting,
    master: Master,
    search: Search,
    centred: Floats,
    factor: float,
    prices: Floats,
    order: Places,
    smooth: bool,
) -> int:
    """Sort at the next trial prices, learn from the bound there, and add the ranking if it earns something, else -1."""
    trial, pace = search.trial, search.pace
    _between(program.below, program.above, prices, master.prices, pace[SMOOTHING] if smooth else 0.0, trial)
    place = _rank_at(program, sorting, master, search, centred, factor, trial, order)
    bound = _value_at(program, trial, master.values[place], master.shares, place)
    if smooth:
        pace[SMOOTHING] = _next_smoothing(
            program.low, program.high, master.shares, place, prices, trial, pace[SMOOTHING]
        )
    if bound < pace[BOUND]:
        pace[BOUND] = bound
        copy_into(trial, prices, trial.size)
    return _kept_if_worth(master.values, master.shares, master.prices, master.counts, place)


@inlined
def _rank_at(
    program: Program,
    sorting: Sorting,
    master: Master,
    search: Search,
    centred: Floats,
    factor: float,
    prices: Floats,
    order: Places,
) -> int:
    """Make ``order[:k]`` the best ranking at some prices and put it into the pool; returns its place."""
    adjust(program, prices, search.adjusted)
    best_ranking(sorting, search.adjusted, program.slots.size, order, search.spare)
    return add_ranking(program, master, centred, factor, order)


@inlined
def _value_at(program: Program, prices: Floats, relevance: float, shares: Floats, place: int) -> float:
    """What no policy can exceed, by these prices: the penalty's part and what the best ranking at them is worth."""
    value = relevance
    for category in range(prices.size):
        price = prices[category]
        edge = program.high[category] if price > 0.0 else program.low[category]
        value += price * (edge - shares[category, place])
    return value


@inlined
def _basis_value(prices: Floats, edge: Floats) -> float:
    """The objective by the master's prices: as good as they are, and cheap."""
    value = prices[edge.size]
    for category in range(edge.size):
        value += prices[category] * edge[category]
    return float(value)


@inlined
def _kept_if_worth(values: Floats, shares: Floats, prices: Floats, counts: Integers, place: int) -> int:
    """The last ranking's place; -1, and the ranking dropped, if it earns nothing at the master's prices."""
    r = shares.shape[0]
    earns = values[place] - prices[r]
    for category in range(r):
        earns -= prices[category] * shares[category, place]
    if earns > WORTH_ADDING:
        return place
    counts[RANKINGS_FOUND] = place
    return -1


@inlined
def _next_smoothing(
    low: Floats, high: Floats, shares: Floats, place: int, best: Floats, trial: Floats, smoothing: float
) -> float:
    """Nearer to the best prices if the bound rises from the trial towards the master's prices, else further away."""
    rise = 0.0
    for category in range(trial.size):
        edge = high[category] if trial[category] > 0.0 else low[category]
        rise += (edge - shares[category, place]) * (trial[category] - best[category])
    if rise > 0.0:
        return smoothing + SMOOTHER * (1.0 - smoothing)
    return max(smoothing - ROUGHER, 0.0)


@inlined
def _between(below: Floats, above: Floats, best: Floats, latest: Floats, weight: float, trial: Floats) -> None:
    """weight · best + (1 − weight) · latest, inside the box of the prices."""
    for category in range(trial.size):
        inside = min(max(latest[category], -below[category]), above[category])
        trial[category] = weight * best[category] + (1.0 - weight) * inside


@lean
def write_lottery(master: Master, slot_order: Places, rankings: Integers, weights: Floats) -> int:
    """Write the basic rankings, by slot, and their probabilities to the first rows, heaviest first; count them."""
    heaviest, levels = master.heaviest, master.levels
    basic = 0
    for place in range(master.basis.size):
        if master.basis[place] >= 0:
            heaviest[basic] = place
            basic += 1
    sort_descending(levels, heaviest, master.spare, basic)
    count = 0
    total = 0.0
    while count < basic and levels[heaviest[count]] > NEGLIGIBLE:
        total += levels[heaviest[count]]
        count += 1
    for row in range(count):
        ranking = master.basis[heaviest[row]]
        weights[row] = levels[heaviest[row]] / total
        for rank in range(slot_order.size):
            rankings[row, slot_order[rank]] = master.rankings[ranking, rank]
    return count
