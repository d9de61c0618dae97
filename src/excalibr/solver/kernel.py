"""The kernel's two doors: one user's program in, a lottery with its prices out. Arrays and status codes only.

``solve_program`` finds prices and the face of the optimum by the proximal method, and the rankings by a walk through
that face. ``close_program`` is column generation: the whole way where there are few categories, the last digits
elsewhere. They are compiled apart, because most problems never need the second.
"""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.solver.columns import close_gap
from excalibr.solver.jit import FLOAT, FLOATS, INTEGER, INTEGERS, RANKINGS, compiled, entry
from excalibr.solver.lottery import lottery_of_face, lottery_value, tidy_lottery
from excalibr.solver.ordering import sort_descending
from excalibr.solver.program import Program, copy_into, largest, scaled_program
from excalibr.solver.proximal import BOUND, CONVERGED, SORTS_SPENT, STALLED, State, find_prices, new_best, new_state

__all__ = ["CONVERGED", "SORTS_SPENT", "STALLED", "close_program", "solve_program"]

SAFETY = 0.25
"""The part of the tolerance that the search aims at, so that rounding cannot take the certificate past the whole."""

_PROGRAM = (FLOATS, INTEGERS, INTEGERS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)


@entry(*_PROGRAM, FLOAT, INTEGER, FLOATS, FLOATS, FLOAT)
def solve_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    slots: Floats,
    tolerance: float,
    max_sorts: int,
    first_prices: Floats,
    first_exposure: Floats,
    first_rho: float,
) -> tuple[Integers, Floats, Floats, Floats, float, int, int]:
    """Solve one user's program; rankings hold candidates by falling weight of their slots (``slots`` falls).

    ``tolerance`` is absolute. ``first_…`` is where to start: empty arrays and 0 for a cold start. Returns rankings,
    weights, prices, exposure, ρ, status and sorts.
    """
    n = gains.size
    r = low.size
    program, unit = scaled_program(gains, indptr, indices, values, low, high, below, above, slots)
    state = new_state(n, r)
    prices = np.zeros(r)
    sort_descending(program.gains, state.order, state.spare, n)
    copy_into(state.order, state.ranked, n)
    if first_prices.size == r:
        rho = _begin_warm(program, state, prices, first_prices, first_exposure, unit, first_rho)
    else:
        rho = _begin_cold(program, state)
    best = new_best(n, r)
    aim = SAFETY * tolerance / unit
    status, sorts, rho = find_prices(program, state, best, prices, rho, aim, max_sorts)
    rankings, weights = lottery_of_face(program, best)
    rankings, weights = tidy_lottery(program, rankings, weights)
    if status == CONVERGED and best.values[BOUND] - lottery_value(program, rankings, weights) > 2.0 * aim:
        status = STALLED  # rounding got between the exposure and its rankings
    for category in range(r):
        prices[category] = best.prices[category] * unit
    return rankings, weights, prices, best.exposure, rho, status, sorts


@entry(*_PROGRAM, FLOAT, INTEGER, RANKINGS, FLOATS)
def close_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    slots: Floats,
    tolerance: float,
    max_sorts: int,
    first_rankings: Integers,
    first_prices: Floats,
) -> tuple[Integers, Floats, Floats, int, int]:
    """Solve the same program by column generation from some rankings and prices; without any, from the best scores.

    Returns rankings, weights, prices, status and sorts.
    """
    r = low.size
    program, unit = scaled_program(gains, indptr, indices, values, low, high, below, above, slots)
    prices = np.zeros(r)
    for category in range(first_prices.size):
        prices[category] = first_prices[category] / unit
    aim = SAFETY * tolerance / unit
    rankings, weights, sorts, closed = close_gap(program, first_rankings, prices, aim, max_sorts)
    rankings, weights = tidy_lottery(program, rankings, weights)
    for category in range(r):
        prices[category] *= unit
    status = CONVERGED if closed else (SORTS_SPENT if sorts >= max_sorts else STALLED)
    return rankings, weights, prices, status, sorts


@compiled
def _begin_cold(program: Program, state: State) -> float:
    """Start at the ranking by scores, with prices of 0; returns the first ρ."""
    for rank in range(program.slots.size):
        state.centre[state.order[rank]] = program.slots[rank]
    spread = -program.gains[state.order[program.gains.size - 1]]
    steepest = max(largest(program.below), largest(program.above))
    return 4.0 * program.slots[0] / max(spread + steepest, 1e-12)  # type: ignore[no-any-return]


@compiled
def _begin_warm(
    program: Program,
    state: State,
    prices: Floats,
    first_prices: Floats,
    first_exposure: Floats,
    unit: float,
    first_rho: float,
) -> float:
    """Start where a neighbouring problem ended; prices are brought inside this problem's bounds."""
    for category in range(prices.size):
        price = first_prices[category] / unit
        prices[category] = min(max(price, -program.below[category]), program.above[category])
    copy_into(first_exposure, state.centre, state.centre.size)
    return first_rho
