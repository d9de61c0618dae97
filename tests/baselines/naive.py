"""The baselines as a reader would write them first: the oracles of the compiled ones."""

from __future__ import annotations

import numpy as np

from excalibr import Problem
from excalibr._types import Floats
from excalibr.positions import slots_by_weight

ALPHA, TIE = 0.01, 1e-12


def greedy(problem: Problem, *, simple: bool = False, projected: bool = False) -> list[int]:
    rows, target, trade_off = problem.memberships.dense(), problem.target, problem.trade_off
    gains, size = centred(problem)
    falling = problem.position_weights[slots_by_weight(problem.position_weights)]
    filled, total, order = np.zeros(problem.r), 0.0, list[int]()
    for weight in np.ones(problem.k) if simple else falling:
        total += weight
        shares = filled + weight * rows
        shares = shares + (1 - total) * target if projected else shares / total
        order.append(first_best(weight * gains - trade_off * kl(shares, target), order, weight * size + trade_off))
        filled += weight * rows[order[-1]]
    return in_slots(problem, order)


def mmr(problem: Problem) -> list[int]:
    rows, trade_off = problem.memberships.dense(), problem.trade_off
    gains, size = centred(problem)
    order = list[int]()
    for _ in range(problem.k):
        overlaps = np.minimum(rows[:, None, :], rows[order]).sum(axis=2).max(axis=1, initial=0.0)
        order.append(first_best(gains - trade_off * overlaps, order, size + trade_off))
    return in_slots(problem, order)


def kl(shares: Floats, target: Floats) -> Floats:
    wanted = target > 0
    smoothed = (1 - ALPHA) * shares[:, wanted] + ALPHA * target[wanted]
    return np.asarray((target[wanted] * np.log(target[wanted] / smoothed)).sum(axis=1))


def first_best(values: Floats, taken: list[int], size: float) -> int:
    values[taken] = -np.inf
    return int(np.flatnonzero(values >= values.max() - TIE * size)[0])


def centred(problem: Problem) -> tuple[Floats, float]:
    gains = problem.gains - (0.5 * problem.gains.max() + 0.5 * problem.gains.min())
    return gains, float(np.abs(gains).max())


def in_slots(problem: Problem, order: list[int]) -> list[int]:
    ranking = np.empty(problem.k, dtype=np.int64)
    ranking[slots_by_weight(problem.position_weights)] = order
    return [int(candidate) for candidate in ranking]
