"""The search's doors: one user's program and some rankings in, better rankings out. Arrays only.

``improve_rankings`` finds one good ranking, ``improve_each`` a local optimum for every start, ``try_all`` the best
ranking of all by trying them.
"""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.search.descent import improve, kick
from excalibr.search.program import Terms, terms_of
from excalibr.search.state import State, load, new_state
from excalibr.solver.jit import FLOAT, FLOATS, INTEGER, INTEGERS, RANKINGS, compiled, entry
from excalibr.solver.program import copy_into

__all__ = ["improve_each", "improve_rankings"]

_PROGRAM = (FLOATS, INTEGERS, INTEGERS, *(FLOATS,) * 8, FLOAT, FLOAT, INTEGERS, INTEGERS)


@entry(*_PROGRAM, RANKINGS, INTEGER)
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
    kicks: int,
) -> tuple[Integers, float]:
    terms = terms_of(
        gains, indptr, indices, values, base, low, high, below, above, smoothing, position_weights, charge, allowance, group_of, group_limits
    )
    k = position_weights.size
    state = new_state(gains.size, k, base.size, group_limits.size, terms.pair_count)
    best = np.empty(k, dtype=np.int64)
    best_value = -np.inf
    start = np.empty(k, dtype=np.int64)
    seed = 1
    for attempt in range(starts.shape[0] + kicks):
        if attempt < starts.shape[0]:
            for rank in range(k):
                start[rank] = starts[attempt, terms.slot_order[rank]]
        else:
            copy_into(best, start, k)
            seed = kick(start, gains.size, seed)
        load(terms, state, start)
        improve(terms, state)
        if state.totals[1] > best_value:
            best_value = state.totals[1]
            copy_into(state.ranking, best, k)
    ranking = np.empty(k, dtype=np.int64)
    for rank in range(k):
        ranking[terms.slot_order[rank]] = best[rank]
    for rank in range(k):
        best_value += terms.top * terms.weights[rank]
    return ranking, best_value
