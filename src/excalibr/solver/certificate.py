"""The certificate: objective and bound recomputed from a lottery's rankings and the prices, whoever made them.

Nothing that a solver carried along enters here. The objective is that of the rankings as they stand; the bound is the
dual function at the prices, which no policy can exceed. Scores are centred first, so that large ones do not hide a
small gap.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import FLOAT_ROWS, FLOATS, INTEGERS, RANKINGS, compiled, entry
from excalibr._types import PLACE, Floats, Integers, Places
from excalibr.problem import Problem
from excalibr.solver.arrangement import Arrays, arrange, program_of
from excalibr.solver.capped import Sorting, best_ranking, new_sorting
from excalibr.solver.merging import no_lists
from excalibr.solver.ordering import new_spare, sort_descending
from excalibr.solver.penalty import cost_of_share, dual_of_price, highest_price, lowest_price
from excalibr.solver.program import ABOVE, BASE, BELOW, HIGH, LOW, SMOOTHING, largest

__all__ = ["gap_of", "gap_of_lottery", "proven_gap"]

_NONE = np.empty(0, dtype=np.int64)


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
    if problem.terms is None:
        return gap_of(program_of(problem), rankings, weights, prices)
    arrangement = arrange(problem)
    by_row = arrangement.rows_of(prices)
    steepness = float(np.abs(by_row[problem.r :]).max(initial=0.0))
    program = arrangement.program(problem.trade_off, steepness)
    return gap_of(program, arrangement.free_part(rankings), weights, by_row, arrangement.watched)


def gap_of(
    program: Arrays,
    rankings: Integers,
    weights: Floats,
    prices: Floats,
    groups: tuple[Integers, Integers] = (_NONE, _NONE),
) -> float:
    """The same for a program as the kernel takes it."""
    gap: float = _gap_of_lottery(*program, *groups, rankings, weights, prices)
    return gap


@compiled
def gap_of_lottery(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    rankings: Integers,
    weights: Floats,
    prices: Floats,
    order: Places,
    sorting: Sorting,
) -> float:
    """The same on plain arrays, for the kernel, which ends every solve with it.

    ``order`` is any permutation of the candidates. The nearer it is to sorted, the quicker; the result is the same.
    """
    centre = largest(gains)
    exposure = np.zeros(gains.size)
    for ranking in range(weights.size):
        for slot in range(position_weights.size):
            exposure[rankings[ranking, slot]] += weights[ranking] * position_weights[slot]
    objective = 0.0
    shares = np.zeros(penalty.shape[1])
    for candidate in range(gains.size):
        objective += exposure[candidate] * (gains[candidate] - centre)
        for place in range(indptr[candidate], indptr[candidate + 1]):
            shares[indices[place]] += exposure[candidate] * values[place]
    bound = 0.0
    inside = np.empty(shares.size)
    for category in range(shares.size):
        low = penalty[LOW, category]
        high = penalty[HIGH, category]
        below = penalty[BELOW, category]
        above = penalty[ABOVE, category]
        smoothing = penalty[SMOOTHING, category]
        base = penalty[BASE, category]
        objective -= cost_of_share(shares[category], low, high, below, above, smoothing, base)
        price = max(prices[category], lowest_price(low, below, smoothing, base))
        price = min(price, highest_price(high, above, smoothing, base))
        inside[category] = price
        bound += dual_of_price(price, low, high, below, above, smoothing, base)
    bound += _best_value(gains, centre, indptr, indices, values, position_weights, inside, order, sorting)
    return max(bound - objective, 0.0)


@compiled
def _best_value(
    gains: Floats,
    centre: float,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    position_weights: Floats,
    prices: Floats,
    order: Places,
    sorting: Sorting,
) -> float:
    """The value of the ranking that sorts the price-adjusted scores into the heaviest slots."""
    adjusted = np.empty(gains.size)
    for candidate in range(gains.size):
        adjusted[candidate] = gains[candidate] - centre
        for place in range(indptr[candidate], indptr[candidate + 1]):
            adjusted[candidate] -= values[place] * prices[indices[place]]
    k = position_weights.size
    slots = np.arange(k, dtype=PLACE)
    spare = new_spare(gains.size)
    sort_descending(position_weights, slots, spare, k)
    best_ranking(sorting, adjusted, k, order, spare)
    value = 0.0
    for rank in range(k):
        value += position_weights[slots[rank]] * adjusted[order[rank]]
    return value


@entry(FLOATS, INTEGERS, INTEGERS, FLOATS, FLOAT_ROWS, FLOATS, INTEGERS, INTEGERS, RANKINGS, FLOATS, FLOATS)
def _gap_of_lottery(
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    penalty: Floats,
    position_weights: Floats,
    group_of: Integers,
    group_limits: Integers,
    rankings: Integers,
    weights: Floats,
    prices: Floats,
) -> float:
    """:func:`gap_of_lottery` for Python."""
    order = np.arange(gains.size, dtype=PLACE)
    sorting = new_sorting(group_of, group_limits, no_lists())
    return gap_of_lottery(
        gains, indptr, indices, values, penalty, position_weights, rankings, weights, prices, order, sorting
    )
