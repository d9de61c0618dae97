"""Column generation: prices from the master program, a new ranking from sorting at them, until the gap closes.

It needs few sorts when there are few categories, and it ends exactly where the proximal method only comes close, so it
has both jobs: small problems, and the last digits of hard ones. Rankings are priced between the best prices so far and
the master's (Wentges smoothing), which keeps the dual from swinging.
"""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.solver.jit import compiled
from excalibr.solver.master import (
    PIVOTS_SINCE,
    RANKINGS_FOUND,
    Master,
    keep_basic,
    new_master,
    optimise,
    refactorise,
    start,
)
from excalibr.solver.program import Program, copy_into, dual_value, penalty_cost, ranking_effect

__all__ = ["close_gap"]

FIRST_SMOOTHING = 0.5
WORTH_ADDING = 1e-11
MAX_DOUBTS = 5
SMOOTHER = 0.1
ROUGHER = 0.1
ROOM_FOR_RANKINGS = 64
SORTS_A_CATEGORY = 40


@compiled
def close_gap(
    program: Program, rankings: Integers, prices: Floats, tolerance: float, max_sorts: int, order: Integers
) -> tuple[Integers, Floats, int, bool]:
    """Add rankings to those given, or to the one by scores if there are none, until the gap is within ``tolerance``.

    ``prices`` (r,) is where to start and ends as the best prices found; ``order`` is any permutation of the candidates
    and ends as the last sort. Returns the lottery's rankings (by rank), their weights (some may be 0), the number of
    sorts and whether the gap was closed.
    """
    n = program.gains.size
    r = program.low.size
    capacity = max(rankings.shape[0], r + 1) + ROOM_FOR_RANKINGS + 8 * r
    limit = min(max_sorts, SORTS_A_CATEGORY * (r + 10))
    master = new_master(capacity, r, program.slots.size)
    for ranking in range(rankings.shape[0]):
        _add(program, master, rankings[ranking])
    spare = np.empty(n, dtype=np.int64)
    adjusted = np.empty(n)
    trial = prices.copy()
    bound = dual_value(program, trial, adjusted, order, spare)
    sorts = 1
    _add(program, master, order)
    alive = start(program, master)
    doubts = 0
    smoothing = FIRST_SMOOTHING
    while alive:
        alive = optimise(program, master, 50 * (r + 10))
        if bound - _objective(program, master) <= tolerance:
            # believe an end only on a fresh factorisation, and do not go in circles over its rounding
            alive = refactorise(master) and bound - _objective(program, master) > tolerance and doubts < MAX_DOUBTS
            doubts += 1
            continue
        if master.counts[RANKINGS_FOUND] == capacity:
            keep_basic(master)
        added = False
        for attempt in range(2):  # between the best prices and the master's, then at the master's own
            if added or sorts >= limit:
                break
            weight = smoothing if attempt == 0 else 0.0
            _between(program, prices, master.prices, weight, trial)
            value = dual_value(program, trial, adjusted, order, spare)
            sorts += 1
            added = _add_if_worth(program, master, order)
            if attempt == 0:
                smoothing = _next_smoothing(program, master, prices, trial, smoothing, added)
            if value < bound:
                bound = value
                copy_into(trial, prices, r)
        if not added:
            alive = master.counts[PIVOTS_SINCE] > 0 and refactorise(master) and doubts < MAX_DOUBTS
            doubts += 1
    refactorise(master)
    chosen, weights = _support(master)
    return chosen, weights, sorts, bound - _objective(program, master) <= tolerance


@compiled
def _add(program: Program, master: Master, ranking: Integers) -> None:
    place = master.counts[RANKINGS_FOUND]
    for rank in range(program.slots.size):
        master.rankings[place, rank] = ranking[rank]
    effect = np.empty(program.low.size)
    master.values[place] = ranking_effect(program, ranking, effect)
    for category in range(effect.size):
        master.shares[category, place] = effect[category]
    master.counts[RANKINGS_FOUND] = place + 1


@compiled
def _add_if_worth(program: Program, master: Master, ranking: Integers) -> bool:
    """Add the ranking unless the master's prices say that it earns nothing."""
    r = program.low.size
    _add(program, master, ranking)
    place = master.counts[RANKINGS_FOUND] - 1
    earns = master.values[place] - master.prices[r]
    for category in range(r):
        earns -= master.prices[category] * master.shares[category, place]
    if earns <= WORTH_ADDING:
        master.counts[RANKINGS_FOUND] = place
        return False
    return True


@compiled
def _next_smoothing(
    program: Program, master: Master, best: Floats, trial: Floats, smoothing: float, added: bool
) -> float:
    """Nearer to the best prices if the bound rises from the trial towards the master's prices, else further away."""
    place = master.counts[RANKINGS_FOUND] - (1 if added else 0)
    rise = 0.0
    for category in range(trial.size):
        edge = program.high[category] if trial[category] > 0.0 else program.low[category]
        rise += (edge - master.shares[category, place]) * (trial[category] - best[category])
    if rise > 0.0:
        return smoothing + SMOOTHER * (1.0 - smoothing)
    return max(smoothing - ROUGHER, 0.0)


@compiled
def _between(program: Program, best: Floats, latest: Floats, weight: float, trial: Floats) -> None:
    """weight · best + (1 − weight) · latest, inside the box of the prices."""
    for category in range(trial.size):
        inside = min(max(latest[category], -program.below[category]), program.above[category])
        trial[category] = weight * best[category] + (1.0 - weight) * inside


@compiled
def _objective(program: Program, master: Master) -> float:
    """The value of the master's lottery, from its rankings and weights."""
    shares = np.zeros(program.low.size)
    value = 0.0
    for place in range(master.basis.size):
        ranking = master.basis[place]
        if ranking >= 0:
            weight = master.levels[place]
            value += weight * master.values[ranking]
            for category in range(shares.size):
                shares[category] += weight * master.shares[category, ranking]
    return value - penalty_cost(program, shares)


@compiled
def _support(master: Master) -> tuple[Integers, Floats]:
    """The basic rankings and their weights."""
    count = 0
    for place in range(master.basis.size):
        if master.basis[place] >= 0:
            count += 1
    rankings = np.empty((count, master.rankings.shape[1]), dtype=np.int64)
    weights = np.empty(count)
    count = 0
    for place in range(master.basis.size):
        if master.basis[place] >= 0:
            copy_into(master.rankings[master.basis[place]], rankings[count], rankings.shape[1])
            weights[count] = max(master.levels[place], 0.0)
            count += 1
    return rankings, weights
