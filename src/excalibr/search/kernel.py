"""The search's doors: one user's program and some rankings in, better rankings out. Arrays only.

``improve_rankings`` makes local optima of the best starts and of kicked copies of the best optimum so far;
``try_all_rankings`` looks at every ranking there is. They are compiled apart: most callers need only one.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import FLOAT, FLOATS, INTEGER, INTEGERS, RANKINGS, compiled, entry
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.search.descent import improve, kick
from excalibr.search.exhaustive import best_of_all
from excalibr.search.program import Terms, terms_of
from excalibr.search.state import State, load, new_state
from excalibr.solver.ordering import new_spare, sort_descending

__all__ = ["improve_rankings", "try_all_rankings"]

_PROGRAM = (FLOATS, INTEGERS, INTEGERS, *(FLOATS,) * 8, FLOAT, FLOAT, INTEGERS, INTEGERS)


@entry(*_PROGRAM, RANKINGS, INTEGER, INTEGER)
def improve_rankings(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    base: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    smoothing: Floats,
    position_weights: Floats,
    charge: float,
    allowance: float,
    group_of: Integers,
    group_limits: Integers,
    starts: Integers,
    descents: int,
    kicks: int,
) -> tuple[Integers, Floats]:
    """Local optima found from the ``descents`` best starts, and then from ``kicks`` kicks of the best so far.

    Returns rankings (descents + kicks, k) in slot order, in the order in which they were found, and their values.
    """
    penalty = (low, high, below, above, smoothing)
    limits = (charge, allowance, group_of, group_limits)
    terms = terms_of(gains, indptr, indices, values, base, *penalty, position_weights, *limits)
    k = position_weights.size
    state = new_state(gains.size, k, base.size, group_limits.size, terms.pair_count)
    by_rank, order = _rank_starts(terms, state, starts)
    found = np.empty((descents + kicks, k), dtype=np.int64)
    found_values = np.empty(descents + kicks)
    start = np.empty(k, dtype=np.int64)
    best = 0
    seed = 1
    for attempt in range(descents + kicks):
        for rank in range(k):
            start[rank] = by_rank[order[attempt], rank] if attempt < descents else found[best, rank]
        if attempt >= descents:
            seed = kick(start, gains.size, seed)
        load(terms, state, start)
        improve(terms, state)
        for rank in range(k):
            found[attempt, rank] = state.ranking[rank]
        found_values[attempt] = state.totals[1]
        if state.totals[1] > found_values[best]:
            best = attempt
    _to_slots(terms, found, found_values)
    return found, found_values


@entry(*_PROGRAM)
def try_all_rankings(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    base: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    smoothing: Floats,
    position_weights: Floats,
    charge: float,
    allowance: float,
    group_of: Integers,
    group_limits: Integers,
) -> tuple[Integers, Floats]:
    """The best ranking of all, as rankings (1, k) in slot order, and its value; the first one in a tie."""
    penalty = (low, high, below, above, smoothing)
    limits = (charge, allowance, group_of, group_limits)
    terms = terms_of(gains, indptr, indices, values, base, *penalty, position_weights, *limits)
    found = np.empty((1, position_weights.size), dtype=np.int64)
    found_values = np.empty(1)
    found_values[0] = best_of_all(terms, found[0])
    _to_slots(terms, found, found_values)
    return found, found_values


@compiled
def _rank_starts(terms: Terms, state: State, starts: Integers) -> tuple[Integers, Places]:
    """The starts by rank instead of slot, and their order by value, best first."""
    count, k = starts.shape
    by_rank = np.empty((count, k), dtype=np.int64)
    start_values = np.empty(count)
    for row in range(count):
        for rank in range(k):
            by_rank[row, rank] = starts[row, terms.slot_order[rank]]
        load(terms, state, by_rank[row])
        start_values[row] = state.totals[1]
    order = np.arange(count, dtype=PLACE)
    sort_descending(start_values, order, new_spare(count), count)
    return by_rank, order


@compiled
def _to_slots(terms: Terms, found: Integers, found_values: Floats) -> None:
    """Rankings by rank become rankings by slot, and values count gains from 0 again."""
    k = terms.weights.size
    by_rank = np.empty(k, dtype=np.int64)
    offset = 0.0
    for rank in range(k):
        offset += terms.top * terms.weights[rank]
    for row in range(found_values.size):
        for rank in range(k):
            by_rank[rank] = found[row, rank]
        for rank in range(k):
            found[row, terms.slot_order[rank]] = by_rank[rank]
        found_values[row] += offset
