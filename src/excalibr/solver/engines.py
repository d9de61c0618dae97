"""Which engine of the kernel solves a program: the quicker one first, another where that one stalls."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.problem import Limits
from excalibr.solver.arrangement import Arrays
from excalibr.solver.kernel import STALLED, close_curved_program, close_program, solve_program

__all__ = ["FEW_CATEGORIES", "NO_PRICES", "NO_RANKINGS", "Answer", "answer", "sorts_allowed"]

Answer: TypeAlias = tuple[Integers, Floats, Floats, float, int, int]
"""Rankings, weights, prices, the gap that these prove, status and sorts."""

Groups: TypeAlias = tuple[Integers, Integers]
"""The group of each candidate and how many of each a ranking may have; both empty for none."""

UNLIMITED = 2**62
FEW_CATEGORIES = 12
"""Up to so many categories column generation is quicker than the proximal method."""

NO_RANKINGS = np.empty((0, 0), dtype=np.int64)
NO_PRICES = np.empty(0)

NO_GROUPS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def answer(program: Arrays, limits: Limits, *, curved: bool = False, groups: Groups = NO_GROUPS) -> Answer:
    """What the kernel finds. The simplex is for straight penalties, the proximal method for rankings without groups."""
    tolerance, budget = limits.tolerance, sorts_allowed(limits)
    if groups[0].size:
        return close_curved_program(*program, *groups, tolerance, budget, NO_RANKINGS, NO_PRICES)
    if not curved and program[4].shape[1] <= FEW_CATEGORIES:
        return close_program(*program, tolerance, budget, NO_RANKINGS, NO_PRICES)
    found = solve_program(*program, tolerance, budget)
    rankings, _, prices, gap, status, sorts = found
    if status == STALLED and sorts < budget:
        left = budget - sorts
        if curved:
            closed = close_curved_program(*program, *groups, tolerance, left, rankings, prices)
        else:
            closed = close_program(*program, tolerance, left, rankings, prices)
        if closed[3] < gap:
            return closed
    return found


def sorts_allowed(limits: Limits) -> int:
    """The cap on sorts as the kernel takes it."""
    return UNLIMITED if limits.max_sorts is None else limits.max_sorts
