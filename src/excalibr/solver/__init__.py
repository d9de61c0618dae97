"""The exact solver: a problem in, the optimal lottery with its certificate out.

``solve`` takes one problem, ``solve_path`` the same problem at several trade-offs, each started from the one before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from excalibr.errors import GapWarning
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.arranged import solve_arranged, thinned
from excalibr.solver.arrangement import Arrays
from excalibr.solver.ends import at_end
from excalibr.solver.engines import FEW_CATEGORIES, answer, sorts_allowed
from excalibr.solver.kernel import STALLED, close_program

__all__ = ["prepare", "solve", "solve_path", "thinned"]


def solve(problem: Problem, limits: Limits | None = None) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove.

    At λ = 0 and 1, where many lotteries are optimal, the best of them by the other aim.
    """
    limits = limits or Limits()
    policy = _solve(problem, limits)
    if problem.trade_off in (0.0, 1.0):
        policy = at_end(policy, limits, _solve)
    _warn_if_short(policy, limits)
    return policy


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


def _solve(problem: Problem, limits: Limits) -> Policy:
    if problem.terms is not None:
        return solve_arranged(problem, limits)
    rankings, weights, prices, gap, _, _ = answer(_program(problem), limits)
    return Policy(problem, rankings, weights, gap, prices)


def _solve_after(last: Policy | None, problem: Problem, limits: Limits) -> Policy:
    """Solve from the rankings and prices of a neighbouring optimum; from nothing if that leads nowhere."""
    if last is None or last.category_prices is None or problem.terms is not None or problem.trade_off == 1.0:
        return solve(problem, limits)
    start = (last.rankings, last.category_prices)
    found = close_program(*_program(problem), limits.tolerance, sorts_allowed(limits), *start)
    if found[4] == STALLED:
        return solve(problem, limits)
    rankings, weights, prices, gap, _, _ = found
    policy = Policy(problem, rankings, weights, gap, prices)
    _warn_if_short(policy, limits)
    return policy


def _program(problem: Problem) -> Arrays:
    """A plain problem as the kernel takes it."""
    rows = problem.memberships
    return problem.gains, rows.indptr, rows.indices, rows.values, problem.penalty.table(), problem.position_weights


def _warn_if_short(policy: Policy, limits: Limits) -> None:
    if policy.gap <= limits.tolerance:
        return
    allowed = limits.tolerance * max(1.0, float(np.ptp(policy.problem.gains)))
    if policy.gap <= allowed:
        return
    reason = (
        "max_sorts was reached" if limits.max_sorts is not None else "the tolerance is finer than rounding allows here"
    )
    warnings.warn(
        f"proved a gap of {policy.gap:.2g}, not the {allowed:.2g} that was asked: {reason}. The lottery is valid.",
        GapWarning,
        stacklevel=5,
    )
