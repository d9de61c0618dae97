"""Between problems and the kernel: which method solves a problem, and the policy that comes back.

The kernel takes and returns plain arrays. A solve that falls short of its tolerance warns, and says what it proved.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple, TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.errors import GapWarning
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.kernel import STALLED, close_program, solve_program

__all__ = ["UNLIMITED", "Answer", "Pool", "answer_to", "close", "new_pool", "policy_of", "program_of"]

_Arrays: TypeAlias = tuple[Floats, Integers, Integers, Floats, Floats, Floats, Floats, Floats, Floats]

UNLIMITED = 2**62
FEW_CATEGORIES = 12
FEW_FOR_MANY_SLOTS = 20
"""Up to so many categories column generation is quicker than the proximal method; the second where most candidates are
shown (n ≤ 2k)."""

ROOM = 64
ROOM_A_CATEGORY = 6

_NO_RANKINGS = np.empty((0, 0), dtype=np.int64)
_NO_PRICES = np.empty(0)
_NO_GROUPS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Answer(NamedTuple):
    """What the kernel found: a lottery, its prices, the gap that these prove, status and sorts."""

    rankings: Integers
    weights: Floats
    prices: Floats
    gap: float
    status: int
    sorts: int


class Pool(NamedTuple):
    """What column generation carries from solve to solve, and writes to: rankings, what they do, and a basis."""

    rankings: Integers
    shares: Floats
    relevance: Floats
    basis: Integers
    piece: Integers
    counts: Integers


def new_pool(k: int, r: int, rankings: int = 0) -> Pool:
    """An empty pool for k slots and r categories, with room for so many rankings to start with."""
    capacity = rankings + ROOM + ROOM_A_CATEGORY * r
    return Pool(
        rankings=np.empty((capacity, k), dtype=np.int64),
        shares=np.empty((r, capacity)),
        relevance=np.empty(capacity),
        basis=np.zeros(r + 1, dtype=np.int64),
        piece=np.zeros(r, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


def answer_to(problem: Problem, limits: Limits) -> Answer:
    """The quicker method's answer; where that stalls, column generation goes on from it."""
    few = FEW_FOR_MANY_SLOTS if problem.n <= 2 * problem.k else FEW_CATEGORIES
    if problem.r <= few:
        return close(problem, [problem], limits, new_pool(problem.k, problem.r))[0]
    tolerance, budget = limits.tolerance, _budget(limits)
    answer = Answer(*solve_program(*program_of(problem), tolerance, budget))
    if answer.status == STALLED and answer.sorts < budget:
        pool = new_pool(problem.k, problem.r, len(answer.weights))
        closed = close(problem, [problem], limits, pool, answer)[0]
        if closed.gap < answer.gap:
            return closed
    return answer


def close(
    problem: Problem,
    problems: list[Problem],
    limits: Limits,
    pool: Pool,
    first: Answer | None = None,
    groups: tuple[Integers, Integers] = _NO_GROUPS,
) -> list[Answer]:
    """Column generation for one problem at several trade-offs, in this order, from the pool and a first answer.

    ``groups`` are the group of each candidate (−1 for none) and how many of each group a ranking may show.
    """
    rows, penalties = problem.memberships, [each.penalty for each in problems]
    rankings, weights, prices, gaps, reports = close_program(
        problem.scores,
        rows.indptr,
        rows.indices,
        rows.values,
        penalties[0].low,
        penalties[0].high,
        np.array([penalty.below for penalty in penalties]),
        np.array([penalty.above for penalty in penalties]),
        problem.position_weights,
        np.array([1.0 - each.trade_off for each in problems]),
        limits.tolerance,
        _budget(limits) - (first.sorts if first else 0),
        groups[0],
        groups[1],
        first.rankings if first else _NO_RANKINGS,
        first.prices if first else _NO_PRICES,
        pool.rankings,
        pool.shares,
        pool.relevance,
        pool.basis,
        pool.piece,
        pool.counts,
    )
    return [
        Answer(rankings[place, :count], weights[place, :count], prices[place], gap, status, sorts)
        for place, (gap, (count, status, sorts)) in enumerate(zip(gaps.tolist(), reports.tolist(), strict=True))
    ]


def policy_of(problem: Problem, limits: Limits, answer: Answer) -> Policy:
    """The policy, with a warning if its gap is not what was asked."""
    if answer.gap > limits.tolerance:
        _warn_if_short(problem, answer.gap, limits)
    return Policy(problem, answer.rankings, answer.weights, answer.gap, answer.prices)


def program_of(problem: Problem) -> _Arrays:
    """The problem as the kernel takes it."""
    rows, penalty = problem.memberships, problem.penalty
    band, slopes = (penalty.low, penalty.high), (penalty.below, penalty.above)
    return problem.gains, rows.indptr, rows.indices, rows.values, *band, *slopes, problem.position_weights


def _budget(limits: Limits) -> int:
    return UNLIMITED if limits.max_sorts is None else limits.max_sorts


def _warn_if_short(problem: Problem, gap: float, limits: Limits) -> None:
    allowed = limits.tolerance * max(1.0, float(np.ptp(problem.gains)))
    if gap <= allowed:
        return
    reason = (
        "max_sorts was reached" if limits.max_sorts is not None else "the tolerance is finer than rounding allows here"
    )
    warnings.warn(
        f"proved a gap of {gap:.2g}, not the {allowed:.2g} that was asked: {reason}. The lottery is valid.",
        GapWarning,
        stacklevel=5,
    )
