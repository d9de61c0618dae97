"""From the face of an optimum to a lottery of at most r + 1 rankings, heaviest first."""

from __future__ import annotations

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.solver.ordering import new_spare, sort_descending
from excalibr.solver.permutohedron import decompose
from excalibr.solver.program import Program, copy_into, ranking_effect
from excalibr.solver.reduction import reduce_lottery
from excalibr.solver.state import Best

__all__ = ["lottery_of_face", "tidy_lottery"]

NEGLIGIBLE = 1e-13
"""Rankings with a smaller probability are left out."""


@compiled
def lottery_of_face(program: Program, best: Best) -> tuple[Integers, Floats]:
    """The best exposure as a lottery: at most one ranking more than its face has dimensions."""
    k = program.slots.size
    blocks = best.blocks[0]
    seen = 0
    while seen < blocks and best.starts[seen] < k:
        seen += 1
    ties = best.starts[seen] - seen
    rankings = np.empty((ties + 1, k), dtype=np.int64)
    weights = np.zeros(ties + 1)
    decompose(best.exposure, best.order, best.starts, blocks, program.slots, rankings, weights)
    return rankings, weights


@compiled
def tidy_lottery(program: Program, rankings: Integers, weights: Floats, slot_order: Places) -> tuple[Integers, Floats]:
    """At most r + 1 rankings in slot order, heaviest first, with weights that sum to 1. Changes ``weights``."""
    order = np.arange(weights.size, dtype=PLACE)
    spare = new_spare(weights.size)
    sort_descending(weights, order, spare, weights.size)
    count = _weighty(weights, order)
    if count > program.low.size + 1:
        _reduce(program, rankings, weights, order, count)
        sort_descending(weights, order, spare, weights.size)
        count = _weighty(weights, order)
    total = 0.0
    for place in range(count):
        total += weights[order[place]]
    chosen = np.empty((count, rankings.shape[1]), dtype=np.int64)
    probabilities = np.empty(count)
    for place in range(count):
        for rank in range(slot_order.size):
            chosen[place, slot_order[rank]] = rankings[order[place], rank]
        probabilities[place] = weights[order[place]] / total
    return chosen, probabilities


@lean
def _weighty(weights: Floats, order: Places) -> int:
    """How many rankings have a weight that counts."""
    count = 0
    while count < weights.size and weights[order[count]] > NEGLIGIBLE:
        count += 1
    return count


@compiled
def _reduce(program: Program, rankings: Integers, weights: Floats, order: Places, count: int) -> None:
    """Take superfluous rankings' weights away, keeping the heavier ones where there is a choice."""
    r = program.low.size
    effects = np.empty((count, r + 1))
    kept = np.empty(count)
    one = np.empty(r)
    for place in range(count):
        effects[place, r] = ranking_effect(program, program.gains, rankings[order[place]], one)
        copy_into(one, effects[place], r)
        kept[place] = weights[order[place]]
    reduce_lottery(effects, kept, count)
    for place in range(count):
        weights[order[place]] = kept[place]
