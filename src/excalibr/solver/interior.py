"""An interior-point method for the small program over the rankings found so far, with straight and curved penalties.

In the prices y and the level η, the value of the best ranking at them,

    minimise  η + Σ_j φ*_j(y_j)   subject to   η ≥ value_t − y·shares_t  for every ranking t,   floors ≤ y ≤ ceilings

and the multipliers of the rankings are their weights in the best lottery. A penalty with a band has a kink at 0, so its
price is split in two: what is paid above the band and what is paid below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Floats, Integers
from excalibr.solver.newton import factorise, substitute
from excalibr.solver.penalty import share_at_price, softness_at_price
from excalibr.solver.program import Program

__all__ = ["Parts", "mix_rankings", "new_parts"]

MAX_STEPS = 80
FINEST = 1e-16  # below it rounding takes over
ENOUGH = 0.02
MENDINGS = 3
TWINS = 1e-12  # keeps the system regular where two prices, or a price and the level, do the same
SHORTEST = 1e-10  # a shorter step, or none for rounding, leads nowhere
NEARLY_ALL_THE_WAY = 0.99
CENTRING = 0.15


class Parts(NamedTuple):
    """The parts of the prices: part m is ``side[m]`` · v of the price of ``category[m]``, with least ≤ v ≤ most."""

    category: Integers
    side: Floats
    least: Floats
    most: Floats


@compiled
def new_parts(program: Program) -> Parts:
    """One part for each category with a price to choose, two where it has a band."""
    r = program.low.size
    category = np.empty(2 * r, dtype=np.int64)
    side = np.empty(2 * r)
    least = np.empty(2 * r)
    most = np.empty(2 * r)
    count = 0
    for each in range(r):
        floor = program.floors[each]
        ceiling = program.ceilings[each]
        banded = program.low[each] < program.high[each]
        if floor < ceiling and not banded:
            category[count], side[count], least[count], most[count] = each, 1.0, floor, ceiling
            count += 1
        if banded and ceiling > 0.0:
            category[count], side[count], least[count], most[count] = each, 1.0, 0.0, ceiling
            count += 1
        if banded and floor < 0.0:
            category[count], side[count], least[count], most[count] = each, -1.0, 0.0, -floor
            count += 1
    return Parts(category[:count], side[:count], least[:count], most[:count])


@compiled
def mix_rankings(
    program: Program,
    parts: Parts,
    values: Floats,
    shares: Floats,
    count: int,
    tolerance: float,
    prices: Floats,
    weights: Floats,
) -> int:
    """Fill ``weights[:count]`` and ``prices`` with the optimum over the first ``count`` rankings; returns the steps.

    ``shares`` has a row a ranking. Starts from ``prices``. Every step goes toward a point where all products of slack
    and multiplier are a part of what they are now, and ends short of where one of the two would vanish.
    """
    m = parts.category.size
    v = np.empty(m)
    for part in range(m):
        inside = 1e-3 * (parts.most[part] - parts.least[part])
        price = parts.side[part] * prices[parts.category[part]]
        v[part] = min(max(price, parts.least[part] + inside), parts.most[part] - inside)
    work = np.empty((4, m))  # multipliers of the lower and upper limits, and the two's steps
    slack = np.empty(count)
    step = np.empty(m + 1)
    right = np.empty(m + 1)
    residual = np.empty(m + 1)
    system = np.empty((m + 1, m + 1))
    factor = np.empty((m + 1, m + 1))
    moves = np.empty((2, count))
    level = np.empty(1)
    _begin(parts, values, shares, count, v, level, weights, slack, work)
    steps = 0
    while steps < MAX_STEPS:
        steps += 1
        closeness = _complementarity(parts, v, weights, slack, count, work)
        amiss = _fill_system(
            program, parts, shares, count, v, weights, slack, work, CENTRING * closeness, system, right
        )
        if closeness <= FINEST or max(closeness * (count + 2 * m), amiss) <= ENOUGH * tolerance:
            break
        _solve(system, factor, right, residual, step)
        length = _directions(parts, shares, count, v, weights, slack, work, CENTRING * closeness, step, moves)
        if not length > SHORTEST:
            break
        for part in range(m):
            v[part] += length * step[part]
            work[0, part] += length * work[2, part]
            work[1, part] += length * work[3, part]
        level[0] += length * step[m]
        for ranking in range(count):
            weights[ranking] += length * moves[0, ranking]
            slack[ranking] = _slack(parts, values, shares, ranking, v, level[0])
    prices[:] = 0.0
    for part in range(m):
        prices[parts.category[part]] += parts.side[part] * v[part]
    return steps


@lean
def _slack(parts: Parts, values: Floats, shares: Floats, ranking: int, v: Floats, level: float) -> float:
    """η + y·shares − value of one ranking; kept positive where rounding would not."""
    slack = level - values[ranking]
    for part in range(v.size):
        slack += parts.side[part] * v[part] * shares[ranking, parts.category[part]]
    return float(max(slack, 1e-17))


@lean
def _begin(
    parts: Parts,
    values: Floats,
    shares: Floats,
    count: int,
    v: Floats,
    level: Floats,
    weights: Floats,
    slack: Floats,
    work: Floats,
) -> None:
    """Even weights, a level that leaves every ranking some slack, and multipliers to match."""
    highest = -np.inf
    lowest = np.inf
    for ranking in range(count):
        short = -_slack_at_zero(parts, values, shares, ranking, v)
        highest = max(highest, short)
        lowest = min(lowest, short)
    room = max(0.1 * (highest - lowest), 1e-3)
    level[0] = highest + room
    for ranking in range(count):
        weights[ranking] = 1.0 / count
        slack[ranking] = _slack(parts, values, shares, ranking, v, level[0])
    for part in range(v.size):
        work[0, part] = room / count / (v[part] - parts.least[part])
        work[1, part] = room / count / (parts.most[part] - v[part])


@lean
def _slack_at_zero(parts: Parts, values: Floats, shares: Floats, ranking: int, v: Floats) -> float:
    slack = -values[ranking]
    for part in range(v.size):
        slack += parts.side[part] * v[part] * shares[ranking, parts.category[part]]
    return float(slack)


@lean
def _complementarity(parts: Parts, v: Floats, weights: Floats, slack: Floats, count: int, work: Floats) -> float:
    """The mean product of slack and multiplier."""
    total = 0.0
    for ranking in range(count):
        total += weights[ranking] * slack[ranking]
    for part in range(v.size):
        total += work[0, part] * (v[part] - parts.least[part]) + work[1, part] * (parts.most[part] - v[part])
    return total / (count + 2 * v.size)


@lean
def _fill_system(
    program: Program,
    parts: Parts,
    shares: Floats,
    count: int,
    v: Floats,
    weights: Floats,
    slack: Floats,
    work: Floats,
    aim: float,
    system: Floats,
    right: Floats,
) -> float:
    """The Newton system in (v, η), upper triangle, with slacks and multipliers eliminated; returns what is amiss."""
    m = v.size
    amiss = 0.0
    for row in range(m + 1):
        for column in range(row, m + 1):
            system[row, column] = 0.0
    for part in range(m):
        each = parts.category[part]
        price = parts.side[part] * v[part]
        penalty = (program.low[each], program.high[each], program.below[each], program.above[each])
        bend = (program.smoothing[each], program.base[each])
        share = share_at_price(price, *penalty, *bend)
        if price == 0.0 and parts.side[part] < 0.0:
            share = program.low[each]
        gradient = parts.side[part] * share
        for ranking in range(count):
            gradient -= weights[ranking] * parts.side[part] * shares[ranking, each]
        under = v[part] - parts.least[part]
        over = parts.most[part] - v[part]
        amiss = max(amiss, abs(gradient - work[0, part] + work[1, part]) * max(1.0, abs(price)))
        right[part] = -gradient + aim / under - aim / over
        system[part, part] = softness_at_price(price, *penalty, *bend) + work[0, part] / under + work[1, part] / over
    right[m] = -1.0
    total = 0.0
    for ranking in range(count):
        total += weights[ranking]
        _add_ranking(parts, shares, ranking, weights[ranking] / slack[ranking], system)
        eased = aim / slack[ranking] - weights[ranking]
        right[m] += eased + weights[ranking]
        for part in range(m):
            right[part] += eased * parts.side[part] * shares[ranking, parts.category[part]]
    return max(amiss, abs(1.0 - total))


@lean
def _solve(system: Floats, factor: Floats, right: Floats, residual: Floats, step: Floats) -> None:
    """Solve system · step = right from the upper triangle: a regular neighbour is factorised, and its error mended."""
    size = right.size
    for row in range(size):
        step[row] = 0.0
        residual[row] = right[row]
        for column in range(row, size):
            factor[row, column] = system[row, column]
        factor[row, row] *= 1.0 + TWINS
    factorise(factor, size)
    for _ in range(MENDINGS):
        substitute(factor, residual, size)
        for row in range(size):
            step[row] += residual[row]
        for row in range(size):
            residual[row] = right[row]
            for column in range(size):
                residual[row] -= system[min(row, column), max(row, column)] * step[column]


@lean
def _add_ranking(parts: Parts, shares: Floats, ranking: int, stiffness: float, system: Floats) -> None:
    """Add stiffness · a aᵀ with a = (the ranking's shares by part, 1)."""
    m = parts.category.size
    for row in range(m):
        value = stiffness * parts.side[row] * shares[ranking, parts.category[row]]
        if value != 0.0:
            for column in range(row, m):
                system[row, column] += value * parts.side[column] * shares[ranking, parts.category[column]]
            system[row, m] += value
    system[m, m] += stiffness


@lean
def _directions(
    parts: Parts,
    shares: Floats,
    count: int,
    v: Floats,
    weights: Floats,
    slack: Floats,
    work: Floats,
    aim: float,
    step: Floats,
    moves: Floats,
) -> float:
    """The steps of multipliers and slacks that go with the step of (v, η); returns how far all of them may go."""
    m = v.size
    furthest = 1.0
    for ranking in range(count):
        eased = step[m]
        for part in range(m):
            eased += parts.side[part] * step[part] * shares[ranking, parts.category[part]]
        moves[1, ranking] = eased
        moves[0, ranking] = (aim - weights[ranking] * eased) / slack[ranking] - weights[ranking]
        if not abs(eased) < np.inf:
            return 0.0
        furthest = min(furthest, _reach(slack[ranking], eased), _reach(weights[ranking], moves[0, ranking]))
    for part in range(m):
        under = v[part] - parts.least[part]
        over = parts.most[part] - v[part]
        work[2, part] = (aim - work[0, part] * step[part]) / under - work[0, part]
        work[3, part] = (aim + work[1, part] * step[part]) / over - work[1, part]
        furthest = min(furthest, _reach(under, step[part]), _reach(over, -step[part]))
        furthest = min(furthest, _reach(work[0, part], work[2, part]), _reach(work[1, part], work[3, part]))
    return furthest


@lean
def _reach(value: float, move: float) -> float:
    """How far a positive value may move and stay positive."""
    return NEARLY_ALL_THE_WAY * value / -move if move < 0.0 else 1.0
