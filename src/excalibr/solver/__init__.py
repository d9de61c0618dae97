"""The exact solver: a problem in, the optimal lottery with its certificate out.

``solve`` takes one problem, ``solve_path`` the same problem at several trade-offs; ``Sweep`` keeps what it finds for
trade-offs that are chosen one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from excalibr.errors import GapWarning
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.arranged import solve_arranged, thinned
from excalibr.solver.arrangement import program_of
from excalibr.solver.ends import at_end
from excalibr.solver.engines import answer_plain
from excalibr.solver.sweep import Sweep

__all__ = ["Sweep", "prepare", "program_of", "solve", "solve_path", "thinned", "warn_if_short"]


def solve(problem: Problem, limits: Limits | None = None) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove.

    At λ = 0 and 1, where many lotteries are optimal, the best of them by the other aim.
    """
    limits = limits or Limits()
    policy = _solve(problem, limits)
    if problem.trade_off in (0.0, 1.0):
        policy = at_end(policy, limits, _solve)
    if policy.gap > limits.tolerance:
        warn_if_short(policy, limits)
    return policy


def solve_path(problems: Sequence[Problem], limits: Limits | None = None) -> list[Policy]:
    """The policies of one user's problem at several trade-offs, in the order given.

    They are solved from the smallest trade-off up, so that each starts near its optimum.
    """
    limits = limits or Limits()
    if not problems:
        return []
    places = sorted(range(len(problems)), key=lambda place: problems[place].trade_off)
    found = Sweep(problems[0], limits).solve_all([problems[place] for place in places])
    for policy in found:
        warn_if_short(policy, limits)
    policies = dict(zip(places, found, strict=True))
    return [policies[place] for place in range(len(problems))]


def prepare() -> None:
    """Have every part of the kernel compiled, or loaded from the machine's cache, before a request needs it."""
    every_engine = ((1, 0.5), (20, 0.01), (30, 0.5))  # few categories; more, with gentle slopes; many
    for r, trade_off in every_engine:
        solve(Problem.of(np.arange(r), np.eye(r), np.full(r, 1.0 / r), k=max(r // 2, 1), trade_off=trade_off))
    from excalibr.solver.many import prepare_ranges  # which only batches need

    prepare_ranges()


def _solve(problem: Problem, limits: Limits) -> Policy:
    if problem.terms is not None:
        return solve_arranged(problem, limits)
    found = answer_plain(problem, limits)
    return Policy(problem, found.rankings, found.weights, found.gap, found.prices)


def warn_if_short(policy: Policy, limits: Limits) -> None:
    """Say that a policy's gap is not what was asked, if so."""
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
