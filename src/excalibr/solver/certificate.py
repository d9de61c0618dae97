"""The certificate: objective and bound recomputed from a lottery's rankings and the prices, whoever made them.

Nothing that a solver carried along enters here. The objective is that of the rankings as they stand; the bound is the
dual function at the prices, which no policy can exceed. Scores are centred first, so that large ones do not hide a
small gap.
"""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.problem import Problem
from excalibr.solver.capped import Groups, best_ranking, new_groups
from excalibr.solver.jit import FLOATS, INTEGERS, RANKINGS, compiled, entry
from excalibr.solver.ordering import sort_descending
from excalibr.solver.program import largest

__all__ = ["gap_of_lottery", "proven_gap"]


def proven_gap(problem: Problem, rankings: Integers, weights: Floats, prices: Floats) -> float:
    """Upper bound at ``prices`` − objective of the lottery, at least 0.

    Parameters
    ----------
    problem
        What was asked.
    rankings, weights
        The lottery, (L, k) candidates in slot order and (L,) probabilities.
    prices
        (r,) category prices; those outside the penalty's slopes are brought inside, which keeps the bound valid.
    """
    penalty = problem.penalty
    rows = problem.memberships
    gap: float = _gap_of_lottery(
        problem.gains,
        rows.indptr,
        rows.indices,
        rows.values,
        penalty.low,
        penalty.high,
        penalty.below,
        penalty.above,
        problem.position_weights,
        rankings,
        weights,
        prices,
    )
    return gap


@compiled
def gap_of_lottery(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    position_weights: Floats,
    rankings: Integers,
    weights: Floats,
    prices: Floats,
    order: Integers,
    groups: Groups,
) -> float:
    """The same on plain arrays, for the kernel, which ends every solve with it.

    ``order`` is any permutation of the candidates. The nearer it is to sorted, the quicker; the result is the same.
    """
    centre = largest(gains)
    objective = 0.0
    shares = np.zeros(low.size)
    for ranking in range(weights.size):
        for slot in range(position_weights.size):
            candidate = rankings[ranking, slot]
            exposure = weights[ranking] * position_weights[slot]
            objective += exposure * (gains[candidate] - centre)
            for place in range(indptr[candidate], indptr[candidate + 1]):
                shares[indices[place]] += exposure * values[place]
    bound = 0.0
    inside = np.empty(low.size)
    for category in range(low.size):
        objective -= below[category] * max(low[category] - shares[category], 0.0)
        objective -= above[category] * max(shares[category] - high[category], 0.0)
        price = min(max(prices[category], -below[category]), above[category])
        inside[category] = price
        bound += (high[category] if price > 0.0 else low[category]) * price
    bound += _best_ranking(gains, centre, indptr, indices, values, position_weights, inside, order, groups)
    return max(bound - objective, 0.0)


@compiled
def _best_ranking(
    gains: Floats,
    centre: float,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    position_weights: Floats,
    prices: Floats,
    order: Integers,
    groups: Groups,
) -> float:
    """The value of the ranking that sorts the price-adjusted scores into the heaviest slots."""
    adjusted = np.empty(gains.size)
    for candidate in range(gains.size):
        adjusted[candidate] = gains[candidate] - centre
        for place in range(indptr[candidate], indptr[candidate + 1]):
            adjusted[candidate] -= values[place] * prices[indices[place]]
    k = position_weights.size
    slots = np.arange(k)
    spare = np.empty(gains.size, dtype=np.int64)
    sort_descending(position_weights, slots, spare, k)
    best_ranking(groups, adjusted, k, order, spare)
    value = 0.0
    for rank in range(k):
        value += position_weights[slots[rank]] * adjusted[order[rank]]
    return value


@entry(FLOATS, INTEGERS, INTEGERS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, RANKINGS, FLOATS, FLOATS)
def _gap_of_lottery(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    position_weights: Floats,
    rankings: Integers,
    weights: Floats,
    prices: Floats,
) -> float:
    """:func:`gap_of_lottery` for Python."""
    order = np.arange(gains.size)
    nothing = np.empty(0, dtype=np.int64)
    groups = new_groups(nothing, nothing)
    return gap_of_lottery(
        gains,
        indptr,
        indices,
        values,
        low,
        high,
        below,
        above,
        position_weights,
        rankings,
        weights,
        prices,
        order,
        groups,
    )
