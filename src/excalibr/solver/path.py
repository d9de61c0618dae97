"""One program at several trade-offs, or at one, by column generation: each from all that was found before.

Rankings and basis stay in the pool from trade-off to trade-off: only the objective changes, so that what is feasible
for one is feasible for the next.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.capped import new_sorting
from excalibr.solver.certificate import gap_of_lottery
from excalibr.solver.columns import close_gap, new_search, write_lottery
from excalibr.solver.master import Master, Pool, add_ranking, new_master
from excalibr.solver.merging import new_lists, no_lists
from excalibr.solver.ordering import sort_afresh
from excalibr.solver.program import Program, largest, scaled_program
from excalibr.solver.proximal import CONVERGED, SORTS_SPENT, STALLED

__all__ = ["RANKINGS_KEPT", "SAFETY", "SORTS", "STATUS", "close_path"]

SAFETY = 0.25
"""The part of the tolerance that the search aims at, so that rounding cannot take the certificate past the whole."""

# places in the reports
RANKINGS_KEPT, STATUS, SORTS = 0, 1, 2


@compiled
def close_path(
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
    pool: Pool,
) -> tuple[Integers, Floats, Floats, Floats, Integers]:
    """Solve by column generation, at T trade-offs one after the other, each from all that was found before.

    Trade-off t has the gains ``factors[t]`` · ``scores`` and the penalty ``penalties[t]``, straight ones only, with the
    same bands at every trade-off. ``first_rankings`` and ``first_prices`` (T, r) are where to start, either may be
    empty. ``group_of`` (n,) and ``group_limits`` (G,) allow so many of each group in a ranking, if there are any.
    Returns rankings (T, r + 1, k), weights (T, r + 1), prices (T, r), the gaps that these prove (T,), and of each
    trade-off the number of rankings, the status and the sorts (T, 3).
    """
    count = factors.size
    r = penalties.shape[2]
    rankings = np.empty((count, r + 1, position_weights.size), dtype=np.int64)
    weights = np.empty((count, r + 1))
    prices = np.zeros((count, r))
    gaps = np.empty(count)
    reports = np.empty((count, 3), dtype=np.int64)
    master = new_master(pool)
    search = new_search(scores.size, r)
    centred = _centred(scores)
    gains = np.empty(scores.size)
    order = np.arange(scores.size, dtype=PLACE)
    slot_order = np.arange(position_weights.size, dtype=PLACE)
    sort_afresh(centred, order, search.spare, scores.size)
    spread = -centred[order[scores.size - 1]]
    plain = new_sorting(group_of, group_limits, no_lists())
    sorting = new_sorting(group_of, group_limits, new_lists(indptr, indices, order, r, position_weights.size))
    for t in range(count):
        penalty = penalties[t]
        best = prices[t]
        lottery = rankings[t]
        likely = weights[t]
        for candidate in range(scores.size):
            gains[candidate] = factors[t] * scores[candidate]
        program, unit = scaled_program(gains, indptr, indices, values, penalty, position_weights, slot_order)
        factor = factors[t] / unit
        if t == 0:
            _take_rankings(program, master, centred, factor, first_rankings, slot_order)
        given = first_prices.shape[0] > 0
        if given:
            _take_prices(first_prices[t], unit, program.below, program.above, best)
        allowed = tolerance * max(1.0, factors[t] * spread)
        sorts = close_gap(
            *(program, sorting, master, search, centred, factor, best, given, t > 0),
            *(SAFETY * allowed / unit, max_sorts, order),
        )
        for category in range(r):
            best[category] *= unit
        kept = write_lottery(master, slot_order, lottery, likely)
        gaps[t] = gap_of_lottery(
            *(gains, indptr, indices, values, penalty, position_weights),
            *(lottery, likely[:kept], best, order, plain),
        )
        reports[t, RANKINGS_KEPT] = kept
        reports[t, SORTS] = sorts
        reports[t, STATUS] = CONVERGED if gaps[t] <= allowed else (SORTS_SPENT if sorts >= max_sorts else STALLED)
    return rankings, weights, prices, gaps, reports


@compiled
def _centred(scores: Floats) -> Floats:
    """The scores with the best one at 0."""
    best = largest(scores)
    centred = np.empty(scores.size)
    for candidate in range(scores.size):
        centred[candidate] = scores[candidate] - best
    return centred


@compiled
def _take_rankings(
    program: Program, master: Master, centred: Floats, factor: float, rankings: Integers, slot_order: Places
) -> None:
    """Put the rankings of a first answer into the pool."""
    by_rank = np.empty(slot_order.size, dtype=PLACE)
    for ranking in range(rankings.shape[0]):
        for rank in range(slot_order.size):
            by_rank[rank] = rankings[ranking, slot_order[rank]]
        add_ranking(program, master, centred, factor, by_rank)


@lean
def _take_prices(first: Floats, unit: float, below: Floats, above: Floats, prices: Floats) -> None:
    """First prices in the program's unit, inside their box."""
    for category in range(prices.size):
        prices[category] = min(max(first[category] / unit, -below[category]), above[category])
