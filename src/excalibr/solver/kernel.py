"""The kernel's two doors: one user's program in, a lottery with its prices out. Arrays and status codes only.

``solve_program`` finds prices and the face of the optimum by the proximal method, and the rankings by a walk through
that face. ``close_program`` is column generation: the whole way where there are few categories, the last digits
elsewhere. They are compiled apart, because most problems never need the second.
"""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.solver.capped import new_groups, no_groups
from excalibr.solver.certificate import gap_of_lottery
from excalibr.solver.columns import close_gap
from excalibr.solver.corrective import close_curved_gap
from excalibr.solver.jit import FLOAT, FLOATS, INTEGER, INTEGERS, RANKINGS, TABLE, compiled, entry
from excalibr.solver.lottery import lottery_of_face, tidy_lottery
from excalibr.solver.ordering import sort_afresh
from excalibr.solver.program import Program, copy_into, largest, scaled_program
from excalibr.solver.proximal import CONVERGED, SORTS_SPENT, STALLED, State, find_prices, new_best, new_state

__all__ = [
    "CONVERGED",
    "SORTS_SPENT",
    "STALLED",
    "close_curved_program",
    "close_program",
    "solve_program",
    "thin_lottery",
]

SAFETY = 0.25
"""The part of the tolerance that the search aims at, so that rounding cannot take the certificate past the whole."""

_PROGRAM = (FLOATS, INTEGERS, INTEGERS, FLOATS, TABLE, FLOATS)


@entry(*_PROGRAM, FLOAT, INTEGER)
def solve_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    tolerance: float,
    max_sorts: int,
) -> tuple[Integers, Floats, Floats, float, int, int]:
    """Solve one user's program by the proximal method, to a gap of ``tolerance`` · max(1, spread of the gains).

    Returns rankings, weights, prices, the gap that these prove, status and sorts.
    """
    n = gains.size
    r = penalty.shape[1]
    slot_order = np.arange(position_weights.size)
    program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
    state = new_state(n, r)
    prices = np.zeros(r)
    sort_afresh(program.gains, state.order, state.spare, n)
    copy_into(state.order, state.ranked, n)
    rho = _begin(program, state)
    best = new_best(n, r)
    allowed = tolerance * max(1.0, -program.gains[state.order[n - 1]] * unit)
    status, sorts = find_prices(program, state, best, prices, rho, SAFETY * allowed / unit, max_sorts)
    rankings, weights = lottery_of_face(program, best)
    rankings, weights = tidy_lottery(program, rankings, weights, slot_order)
    for category in range(r):
        prices[category] = best.prices[category] * unit
    gap = gap_of_lottery(
        gains,
        indptr,
        indices,
        values,
        penalty,
        position_weights,
        rankings,
        weights,
        prices,
        state.ranked,
        no_groups(),
    )
    if status == CONVERGED and gap > allowed:
        status = STALLED  # rounding got between the exposure and its rankings
    return rankings, weights, prices, gap, status, sorts


@entry(*_PROGRAM, FLOAT, INTEGER, RANKINGS, FLOATS)
def close_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    tolerance: float,
    max_sorts: int,
    first_rankings: Integers,
    first_prices: Floats,
) -> tuple[Integers, Floats, Floats, float, int, int]:
    """Solve the same program by column generation from some rankings and prices; without any, from the best scores.

    Returns rankings, weights, prices, the gap that these prove, status and sorts.
    """
    slot_order = np.arange(position_weights.size)
    program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
    by_rank = np.empty((first_rankings.shape[0], slot_order.size), dtype=np.int64)
    for ranking in range(by_rank.shape[0]):
        for rank in range(slot_order.size):
            by_rank[ranking, rank] = first_rankings[ranking, slot_order[rank]]
    prices = np.zeros(penalty.shape[1])
    for category in range(first_prices.size):
        price = first_prices[category] / unit
        prices[category] = min(max(price, -program.below[category]), program.above[category])
    spread = 0.0
    for candidate in range(gains.size):
        spread = max(spread, -program.gains[candidate] * unit)
    aim = SAFETY * tolerance * max(1.0, spread) / unit
    order = np.arange(gains.size)
    sort_afresh(program.gains, order, np.empty(gains.size, dtype=np.int64), gains.size)
    rankings, weights, sorts, closed = close_gap(program, by_rank, prices, aim, max_sorts, order)
    rankings, weights = tidy_lottery(program, rankings, weights, slot_order)
    for category in range(prices.size):
        prices[category] *= unit
    gap = gap_of_lottery(
        gains, indptr, indices, values, penalty, position_weights, rankings, weights, prices, order, no_groups()
    )
    status = CONVERGED if closed else (SORTS_SPENT if sorts >= max_sorts else STALLED)
    return rankings, weights, prices, gap, status, sorts


@compiled
def _begin(program: Program, state: State) -> float:
    """Start at the ranking by scores, with prices of 0; returns the first ρ."""
    for rank in range(program.slots.size):
        state.centre[state.order[rank]] = program.slots[rank]
    spread = -program.gains[state.order[program.gains.size - 1]]
    steepest = max(largest(program.below), largest(program.above))
    return 4.0 * program.slots[0] / max(spread + steepest, 1e-12)  # type: ignore[no-any-return]


@entry(*_PROGRAM, INTEGERS, INTEGERS, FLOAT, INTEGER, RANKINGS, FLOATS)
def close_curved_program(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    group_of: Integers,
    group_limits: Integers,
    tolerance: float,
    max_sorts: int,
    first_rankings: Integers,
    first_prices: Floats,
) -> tuple[Integers, Floats, Floats, float, int, int]:
    """Column generation for any penalty, curved ones too, from some rankings and prices, if there are any.

    ``group_of`` (n,) and ``group_limits`` (G,) allow so many of each group in a ranking, if there are any. Returns
    rankings, weights, prices, the gap that these prove, status and sorts.
    """
    slot_order = np.arange(position_weights.size)
    program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
    groups = new_groups(group_of, group_limits)
    by_rank = _by_rank(first_rankings, slot_order)
    prices = np.zeros(penalty.shape[1])
    for category in range(first_prices.size):
        price = first_prices[category] / unit
        prices[category] = min(max(price, program.floors[category]), program.ceilings[category])
    order = np.arange(gains.size)
    sort_afresh(program.gains, order, np.empty(gains.size, dtype=np.int64), gains.size)
    allowed = tolerance * max(1.0, -program.gains[order[gains.size - 1]] * unit)
    rankings, weights, sorts, _ = close_curved_gap(
        program, groups, by_rank, prices, SAFETY * allowed / unit, max_sorts, order
    )
    rankings, weights = tidy_lottery(program, rankings, weights, slot_order)
    for category in range(prices.size):
        prices[category] *= unit
    gap = gap_of_lottery(
        gains, indptr, indices, values, penalty, position_weights, rankings, weights, prices, order, groups
    )
    status = CONVERGED if gap <= allowed else (SORTS_SPENT if sorts >= max_sorts else STALLED)
    return rankings, weights, prices, gap, status, sorts


@compiled
def _by_rank(rankings: Integers, slot_order: Integers) -> Integers:
    """Rankings by slot as rankings by rank: the candidate of the heaviest slot first."""
    by_rank = np.empty(rankings.shape, dtype=np.int64)
    for ranking in range(rankings.shape[0]):
        for rank in range(slot_order.size):
            by_rank[ranking, rank] = rankings[ranking, slot_order[rank]]
    return by_rank


@entry(FLOATS, INTEGERS, INTEGERS, FLOATS, INTEGER, FLOATS, RANKINGS, FLOATS)
def thin_lottery(
    scores: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    n_categories: int,
    position_weights: Floats,
    rankings: Integers,
    weights: Floats,
) -> tuple[Integers, Floats]:
    """The lottery with at most r + 1 of its rankings, the same category shares and the same relevance."""
    slot_order = np.arange(position_weights.size)
    nothing = np.zeros((6, n_categories))
    program, _ = scaled_program(scores, indptr, indices, values, nothing, position_weights, slot_order)
    return tidy_lottery(program, _by_rank(rankings, slot_order), weights.copy(), slot_order)
