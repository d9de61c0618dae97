"""The exact solver: a problem in, the optimal lottery with its certificate out.

``solve`` takes one problem, ``solve_path`` the same problem at several trade-offs, each started from the one before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.errors import GapWarning
from excalibr.policy import Policy
from excalibr.positions import slots_by_weight
from excalibr.problem import Limits, Problem
from excalibr.solver.certificate import proven_gap
from excalibr.solver.kernel import STALLED, close_program, solve_program

__all__ = ["solve", "solve_path"]

_Arrays: TypeAlias = tuple[Floats, Integers, Integers, Floats, Floats, Floats, Floats, Floats, Floats]

UNLIMITED = 2**62
FEW_CATEGORIES = 2
"""Up to so many categories column generation is quicker than the proximal method."""

COOLING = 0.02
"""A warm start begins with this part of the last ρ: the exposure is near, not there."""


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a solve starts: prices, exposure and ρ of a neighbouring one, or nothing."""

    prices: Floats
    exposure: Floats
    rho: float


_COLD = _Start(np.empty(0), np.empty(0), 0.0)
_NO_RANKINGS = np.empty((0, 0), dtype=np.int64)


def solve(problem: Problem, limits: Limits | None = None) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove."""
    policy, _ = _solve_from(_COLD, problem, limits or Limits())
    return policy


def solve_path(problems: Sequence[Problem], limits: Limits | None = None) -> list[Policy]:
    """The policies of one user's problem at several trade-offs, in the order given."""
    rising = sorted(range(len(problems)), key=lambda place: problems[place].trade_off)
    policies: dict[int, Policy] = {}
    start = _COLD
    for place in rising:
        policies[place], start = _solve_from(start, problems[place], limits or Limits())
    return [policies[place] for place in range(len(problems))]


def _solve_from(start: _Start, problem: Problem, limits: Limits) -> tuple[Policy, _Start]:
    slots = slots_by_weight(problem.position_weights)
    allowed = limits.tolerance * max(1.0, float(np.ptp(problem.gains)))
    by_rank, weights, prices, end = _by_rank(start, _program(problem, slots), problem.r, allowed, limits)
    rankings = np.empty_like(by_rank)
    rankings[:, slots] = by_rank
    gap = proven_gap(problem, rankings, weights, prices)
    if gap > allowed:
        _warn(gap, allowed, limits)
    return Policy(problem, rankings, weights, gap, prices), end


def _program(problem: Problem, slots: Integers) -> _Arrays:
    """The problem as the kernel takes it, slots heaviest first."""
    rows, penalty = problem.memberships, problem.penalty
    band, slopes = (penalty.low, penalty.high), (penalty.below, penalty.above)
    return problem.gains, rows.indptr, rows.indices, rows.values, *band, *slopes, problem.position_weights[slots]


def _by_rank(
    start: _Start, program: _Arrays, r: int, allowed: float, limits: Limits
) -> tuple[Integers, Floats, Floats, _Start]:
    """Rankings by falling slot weight, weights, prices, and where a neighbouring problem may start."""
    budget = UNLIMITED if limits.max_sorts is None else limits.max_sorts
    if r <= FEW_CATEGORIES:
        rankings, weights, prices, _, _ = close_program(*program, allowed, budget, _NO_RANKINGS, start.prices)
        return rankings, weights, prices, _Start(prices, start.exposure, start.rho)
    rankings, weights, prices, exposure, rho, status, sorts = solve_program(
        *program, allowed, budget, start.prices, start.exposure, start.rho
    )
    if status == STALLED and sorts < budget:
        rankings, weights, prices, _, _ = close_program(*program, allowed, budget - sorts, rankings, prices)
    return rankings, weights, prices, _Start(prices, exposure, COOLING * rho)


def _warn(gap: float, allowed: float, limits: Limits) -> None:
    reason = (
        "max_sorts was reached" if limits.max_sorts is not None else "the tolerance is finer than rounding allows here"
    )
    warnings.warn(
        f"proved a gap of {gap:.2g}, not the {allowed:.2g} that was asked: {reason}. The lottery is valid.",
        GapWarning,
        stacklevel=5,
    )
