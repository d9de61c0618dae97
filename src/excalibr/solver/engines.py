"""Which engine of the kernel solves a program: the quicker one first, another where that one stalls.

The simplex (``close``) is for straight penalties and goes on from whatever a pool holds; the proximal method is for
rankings without group limits; the interior-point method takes what neither can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.problem import Limits, Problem
from excalibr.solver.arrangement import Arrays, program_of
from excalibr.solver.kernel import STALLED, close_curved_program, close_plain, close_program, solve_program
from excalibr.solver.master import Pool, new_pool

__all__ = [
    "UNLIMITED",
    "Answer",
    "Groups",
    "answer",
    "answer_plain",
    "close",
    "prefers_simplex",
    "sorts_allowed",
]

Groups: TypeAlias = tuple[Integers, Integers]
"""The group of each candidate and how many of each a ranking may have; both empty for none."""

UNLIMITED = 2**62
FEW_CATEGORIES = 12
FEW_FOR_GENTLE_SLOPES = 20
GENTLE = 0.75
"""Up to so many categories the simplex is quicker than the proximal method; the second where most candidates are shown
(n ≤ 2k), and the penalty's slope is at most this part of the spread of the gains, or nobody gains more than others."""

_NO_RANKINGS = np.empty((0, 0), dtype=np.int64)
_NO_PRICES = np.empty(0)
_NO_STARTS = np.empty((0, 0))
_NO_GROUPS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
_ONCE = np.ones(1)


class Answer(NamedTuple):
    """What the kernel found: a lottery, its prices, the gap that these prove, status and sorts."""

    rankings: Integers
    weights: Floats
    prices: Floats
    gap: float
    status: int
    sorts: int


def prefers_simplex(gains: Floats, penalty: Floats, k: int) -> bool:
    """Whether the simplex is the quicker engine for a straight penalty; compiled too, for ranges of users."""
    rows = penalty.shape[1]
    if rows <= FEW_CATEGORIES:
        return True
    if rows > FEW_FOR_GENTLE_SLOPES or gains.size > 2 * k:
        return False
    spread = gains.max() - gains.min()
    return bool(spread == 0.0 or penalty[3].max() <= GENTLE * spread)


def sorts_allowed(limits: Limits) -> int:
    """The cap on sorts as the kernel takes it."""
    return UNLIMITED if limits.max_sorts is None else limits.max_sorts


def answer(program: Arrays, limits: Limits, *, curved: bool = False, groups: Groups = _NO_GROUPS) -> Answer:
    """The quicker engine's answer; where that stalls, another goes on from it."""
    if not curved and (groups[0].size or prefers_simplex(program[0], program[4], len(program[5]))):
        return _closed(program, limits, None, groups)
    budget = sorts_allowed(limits)
    if groups[0].size:
        return _closed_curved(program, limits, None, groups)
    found = Answer(*solve_program(*program, limits.tolerance, budget))
    if found.status != STALLED or found.sorts >= budget:
        return found
    closed = (_closed_curved if curved else _closed)(program, limits, found, groups)
    return closed if closed.gap < found.gap else found


def answer_plain(problem: Problem, limits: Limits) -> Answer:
    """The same for a problem without terms; with few categories all of it is one call of the kernel."""
    if problem.r > FEW_CATEGORIES:
        return answer(program_of(problem), limits)
    rows = problem.memberships
    found = close_plain(
        problem.scores,
        rows.indptr,
        rows.indices,
        rows.values,
        problem.target,
        problem.trade_off,
        problem.position_weights,
        limits.tolerance,
        sorts_allowed(limits),
    )
    return Answer(*found)


def close(
    program: Arrays,
    penalties: Floats,
    factors: Floats,
    limits: Limits,
    pool: Pool,
    first: Answer | None = None,
    groups: Groups = _NO_GROUPS,
    prices: Floats | None = None,
) -> Sequence[Answer]:
    """The simplex for one program at several trade-offs, in this order, from the pool and a first answer.

    Trade-off t has the gains ``factors[t]`` · those of the program, and the penalty ``penalties[t]`` (6, rows);
    ``prices[t]`` are near those of its optimum, where that is known.
    """
    if first is not None:
        prices = first.prices[None]
    gains, indptr, indices, values, _, position_weights = program
    rankings, weights, found, gaps, reports = close_program(
        gains,
        indptr,
        indices,
        values,
        penalties,
        position_weights,
        factors,
        limits.tolerance,
        sorts_allowed(limits) - (first.sorts if first else 0),
        groups[0],
        groups[1],
        first.rankings if first else _NO_RANKINGS,
        _NO_STARTS if prices is None else prices,
        pool.rankings,
        pool.shares,
        pool.relevance,
        pool.basis,
        pool.piece,
        pool.counts,
    )
    return [
        Answer(rankings[place, :count], weights[place, :count], found[place], gap, status, sorts)
        for place, (gap, (count, status, sorts)) in enumerate(zip(gaps.tolist(), reports.tolist(), strict=True))
    ]


def _closed(program: Arrays, limits: Limits, first: Answer | None, groups: Groups) -> Answer:
    """The simplex for one program, from a first answer or from nothing."""
    pool = new_pool(len(program[5]), program[4].shape[1], len(first.weights) if first else 0)
    return close(program, program[4][None], _ONCE, limits, pool, first, groups)[0]


def _closed_curved(program: Arrays, limits: Limits, first: Answer | None, groups: Groups) -> Answer:
    """The interior-point method for one program, from a first answer or from nothing."""
    left = sorts_allowed(limits) - (first.sorts if first else 0)
    rankings, prices = (first.rankings, first.prices) if first else (_NO_RANKINGS, _NO_PRICES)
    return Answer(*close_curved_program(*program, *groups, limits.tolerance, left, rankings, prices))
