"""The exact solver: a problem in, the optimal lottery with its certificate out.

``solve`` takes one problem, ``solve_path`` the same problem at several trade-offs, each started from the one before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.errors import GapWarning
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.kernel import STALLED, close_program, solve_program

__all__ = ["prepare", "solve", "solve_path"]

_Arrays: TypeAlias = tuple[Floats, Integers, Integers, Floats, Floats, Floats, Floats, Floats, Floats]
_Answer: TypeAlias = tuple[Integers, Floats, Floats, float, int, int]

UNLIMITED = 2**62
FEW_CATEGORIES = 12
"""Up to so many categories column generation is quicker than the proximal method."""

_NO_RANKINGS = np.empty((0, 0), dtype=np.int64)
_NO_PRICES = np.empty(0)


def solve(problem: Problem, limits: Limits | None = None) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove."""
    limits = limits or Limits()
    return _policy(problem, limits, _answer(_program(problem), limits))


def solve_path(problems: Sequence[Problem], limits: Limits | None = None) -> list[Policy]:
    """The policies of one user's problem at several trade-offs, in the order given.

    Only the objective changes with the trade-off, so the rankings of one optimum are a good start for the next.
    """
    limits = limits or Limits()
    policies: dict[int, Policy] = {}
    last: Policy | None = None
    for place in sorted(range(len(problems)), key=lambda place: problems[place].trade_off):
        problem = problems[place]
        policies[place] = last = _solve_after(last, problem, limits)
    return [policies[place] for place in range(len(problems))]


def prepare() -> None:
    """Have every part of the kernel compiled, or loaded from the machine's cache, before a request needs it."""
    for r in (1, FEW_CATEGORIES + 1):
        solve(Problem.of(np.arange(r), np.eye(r), np.full(r, 1.0 / r), k=1))
    from excalibr.solver.many import prepare_ranges  # which only batches need

    prepare_ranges()


def _solve_after(last: Policy | None, problem: Problem, limits: Limits) -> Policy:
    """Solve from the rankings and prices of a neighbouring optimum; from nothing if that leads nowhere."""
    if last is None or last.prices is None:
        return solve(problem, limits)
    program = _program(problem)
    answer = close_program(*program, limits.tolerance, _budget(limits), last.rankings, last.prices)
    return solve(problem, limits) if answer[4] == STALLED else _policy(problem, limits, answer)


def _answer(program: _Arrays, limits: Limits) -> _Answer:
    """What the kernel finds: the quicker method first, column generation where that one stalls."""
    tolerance, budget = limits.tolerance, _budget(limits)
    if len(program[4]) <= FEW_CATEGORIES:
        return close_program(*program, tolerance, budget, _NO_RANKINGS, _NO_PRICES)
    answer = solve_program(*program, tolerance, budget)
    rankings, _, prices, gap, status, sorts = answer
    if status == STALLED and sorts < budget:
        closed = close_program(*program, tolerance, budget - sorts, rankings, prices)
        if closed[3] < gap:
            return closed
    return answer


def _policy(problem: Problem, limits: Limits, answer: _Answer) -> Policy:
    rankings, weights, prices, gap, _, _ = answer
    if gap > limits.tolerance:
        _warn_if_short(problem, gap, limits)
    return Policy(problem, rankings, weights, gap, prices)


def _budget(limits: Limits) -> int:
    return UNLIMITED if limits.max_sorts is None else limits.max_sorts


def _program(problem: Problem) -> _Arrays:
    """The problem as the kernel takes it."""
    rows, penalty = problem.memberships, problem.penalty
    band, slopes = (penalty.low, penalty.high), (penalty.below, penalty.above)
    return problem.gains, rows.indptr, rows.indices, rows.values, *band, *slopes, problem.position_weights


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
