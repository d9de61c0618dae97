"""The two ends of the trade-off, where many policies are optimal: the best of them by the other aim.

At λ = 0, of the most relevant lotteries the best calibrated; at λ = 1, of the best calibrated the most relevant. An
optimum a little inside is such a policy if it is still an optimum at the end, and that is checked, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.certificate import proven_gap

__all__ = ["at_end"]

STEPS_INSIDE = (1e-3, 1e-5, 1e-7)
"""How far inside to look, relative to the spread of the scores, in turn."""

EXACTNESS, FINEST = 2e-8, 1e-14
"""How exactly the second aim is solved, and the smallest tolerance that is asked for it. The simplex method leaves what
earns less than 1e-11, and with a step of 1e-3 that is reached just so."""


def at_end(end: Policy, limits: Limits, solve: Callable[[Problem, Limits], Policy]) -> Policy:
    """The lexicographic optimum where ``end`` is an optimum at λ = 0 or 1; ``solve`` solves elsewhere.

    With a cap on sorts nothing more is solved, and ``end`` is returned.
    """
    if limits.max_sorts is not None or end.category_prices is None or not _has_ties(end):
        return end
    for step in STEPS_INSIDE:
        inside = solve(_a_step_inside(end.problem, step), replace(limits, tolerance=max(FINEST, EXACTNESS * step)))
        gap = proven_gap(end.problem, inside.rankings, inside.weights, end.category_prices)
        if gap <= max(end.gap, 1e-10 * max(1.0, float(np.ptp(end.problem.gains)))):
            return Policy(end.problem, inside.rankings, inside.weights, gap, end.category_prices)
    return end


def _has_ties(end: Policy) -> bool:
    """At λ = 0 with nobody tied and nothing limited there is one optimum only."""
    problem = end.problem
    if problem.trade_off == 1.0 or (problem.terms is not None and problem.terms.limited.size):
        return True
    return len(np.unique(problem.scores)) < problem.n


def _a_step_inside(problem: Problem, step: float) -> Problem:
    """The problem with the other aim counting ``step`` of what the first counts."""
    spread = float(np.ptp(problem.scores)) or 1.0
    relevance, calibration = (1.0, step * spread) if problem.trade_off == 0.0 else (step / spread, 1.0)
    return problem.with_trade_off(calibration / (relevance + calibration))
