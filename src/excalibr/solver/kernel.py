"""The kernel's doors: one user's program in, a lottery with its prices out. Arrays and status codes only.

``solve_program`` finds prices and the face of the optimum by the proximal method, and the rankings by a walk through
that face. ``close_program`` is column generation by the simplex: few categories, sweeps, last digits.
``close_curved_program`` is column generation by an interior-point method, for curved penalties. Each is compiled when
it is first needed.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import (
    FLOAT,
    FLOAT_ROWS,
    FLOAT_TABLES,
    FLOATS,
    INTEGER,
    INTEGERS,
    OWN_FLOAT_ROWS,
    OWN_FLOATS,
    OWN_INTEGERS,
    OWN_RANKINGS,
    RANKINGS,
    compiled,
    entry,
)
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.capped import new_sorting, plain_sorting
from excalibr.solver.certificate import gap_of_lottery
from excalibr.solver.corrective import close_curved_gap
from excalibr.solver.lottery import lottery_of_face, tidy_lottery
from excalibr.solver.master import Pool, new_pool
from excalibr.solver.merging import no_lists
from excalibr.solver.ordering import new_spare, sort_afresh
from excalibr.solver.path import RANKINGS_KEPT, SAFETY, SORTS, STATUS, close_path
from excalibr.solver.program import ABOVE, BELOW, HIGH, LOW, Program, copy_into, largest, scaled_program
from excalibr.solver.proximal import CONVERGED, SORTS_SPENT, STALLED, find_prices
from excalibr.solver.state import State, new_best, new_state, new_step

__all__ = [
    "CONVERGED",
    "SORTS_SPENT",
    "STALLED",
    "close_curved_program",
    "close_plain",
    "close_program",
    "solve_program",
    "thin_lottery",
]

_new_pool = compiled(new_pool)

_PROGRAM = (FLOATS, INTEGERS, INTEGERS, FLOATS, FLOAT_ROWS, FLOATS)


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
    slot_order = np.arange(position_weights.size, dtype=PLACE)
    program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
    state = new_state(n, r)
    prices = np.zeros(r)
    sort_afresh(program.gains, state.order, state.spare, n)
    copy_into(state.order, state.ranked, n)
    rho = _begin(program, state)
    best = new_best(n, r)
    allowed = tolerance * max(1.0, -program.gains[state.order[n - 1]] * unit)
    status, sorts = find_prices(program, state, new_step(r), best, prices, rho, SAFETY * allowed / unit, max_sorts)
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
        plain_sorting(),
    )
    if status == CONVERGED and gap > allowed:
        status = STALLED  # rounding got between the exposure and its rankings
    return rankings, weights, prices, gap, status, sorts


@entry(
    *(FLOATS, INTEGERS, INTEGERS, FLOATS, FLOAT_TABLES, FLOATS, FLOATS, FLOAT, INTEGER),
    *(INTEGERS, INTEGERS, RANKINGS, FLOAT_ROWS),
    *(OWN_RANKINGS, OWN_FLOAT_ROWS, OWN_FLOATS, OWN_INTEGERS, OWN_INTEGERS, OWN_INTEGERS),
)
def close_program(
    scores: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalties: Floats,
    position_weights: Floats,
    factors: Floats,
    tolerance: float,
    max_sorts: int,
    group_of: Integers,
    group_limits: Integers,
    first_rankings: Integers,
    first_prices: Floats,
    pool_rankings: Integers,
    pool_shares: Floats,
    pool_relevance: Floats,
    pool_basis: Integers,
    pool_piece: Integers,
    pool_counts: Integers,
) -> tuple[Integers, Floats, Floats, Floats, Integers]:
    """:func:`excalibr.solver.path.close_path` for Python.

    The pool is what :func:`excalibr.solver.master.new_pool` made, or what an earlier call left in it.
    """
    pool = Pool(pool_rankings, pool_shares, pool_relevance, pool_basis, pool_piece, pool_counts)
    program = (scores, indptr, indices, values, penalties, position_weights)
    start = (first_rankings, first_prices)
    return close_path(*program, factors, tolerance, max_sorts, group_of, group_limits, *start, pool)


@entry(FLOATS, INTEGERS, INTEGERS, FLOATS, FLOATS, FLOAT, FLOATS, FLOAT, INTEGER)
def close_plain(
    scores: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    target: Floats,
    trade_off: float,
    position_weights: Floats,
    tolerance: float,
    max_sorts: int,
) -> tuple[Integers, Floats, Floats, float, int, int]:
    """The same for the paper's program at one trade-off, from nothing, with all arrays made in here.

    Returns rankings, weights, prices, the gap that these prove, status and sorts.
    """
    r, k = target.size, position_weights.size
    gains = np.empty(scores.size)
    for candidate in range(scores.size):
        gains[candidate] = (1.0 - trade_off) * scores[candidate]
    penalty = np.zeros((1, 6, r))
    for category in range(r):
        penalty[0, LOW, category] = penalty[0, HIGH, category] = target[category]
        penalty[0, BELOW, category] = penalty[0, ABOVE, category] = trade_off
    none = np.empty(0, dtype=np.int64)
    pool = _new_pool(k, r, 0)
    rankings, weights, prices, gaps, reports = close_path(
        *(gains, indptr, indices, values, penalty, position_weights, np.ones(1), tolerance, max_sorts),
        *(none, none, np.empty((0, 0), dtype=np.int64), np.empty((0, 0)), pool),
    )
    kept = reports[0, RANKINGS_KEPT]
    return (
        *(rankings[0, :kept].copy(), weights[0, :kept].copy(), prices[0].copy()),
        *(gaps[0], reports[0, STATUS], reports[0, SORTS]),
    )


@compiled
def _begin(program: Program, state: State) -> float:
    """Start at the ranking by scores, with prices of 0; returns the first ρ."""
    for rank in range(program.slots.size):
        state.centre[state.order[rank]] = program.slots[rank]
    spread = -program.gains[state.order[program.gains.size - 1]]
    steepest = max(largest(program.below), largest(program.above))
    return 8.0 * program.slots[0] / max(spread + steepest, 1e-12)  # type: ignore[no-any-return]


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
    slot_order = np.arange(position_weights.size, dtype=PLACE)
    program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
    sorting = new_sorting(group_of, group_limits, no_lists())
    by_rank = _by_rank(first_rankings, slot_order)
    prices = np.zeros(penalty.shape[1])
    for category in range(first_prices.size):
        price = first_prices[category] / unit
        prices[category] = min(max(price, program.floors[category]), program.ceilings[category])
    order = np.arange(gains.size, dtype=PLACE)
    sort_afresh(program.gains, order, new_spare(gains.size), gains.size)
    allowed = tolerance * max(1.0, -program.gains[order[gains.size - 1]] * unit)
    rankings, weights, sorts, _ = close_curved_gap(
        program, sorting, by_rank, prices, SAFETY * allowed / unit, max_sorts, order
    )
    rankings, weights = tidy_lottery(program, rankings, weights, slot_order)
    for category in range(prices.size):
        prices[category] *= unit
    gap = gap_of_lottery(
        gains, indptr, indices, values, penalty, position_weights, rankings, weights, prices, order, sorting
    )
    status = CONVERGED if gap <= allowed else (SORTS_SPENT if sorts >= max_sorts else STALLED)
    return rankings, weights, prices, gap, status, sorts


@compiled
def _by_rank(rankings: Integers, slot_order: Places) -> Integers:
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
    slot_order = np.arange(position_weights.size, dtype=PLACE)
    nothing = np.zeros((6, n_categories))
    program, _ = scaled_program(scores, indptr, indices, values, nothing, position_weights, slot_order)
    return tidy_lottery(program, _by_rank(rankings, slot_order), weights.copy(), slot_order)
