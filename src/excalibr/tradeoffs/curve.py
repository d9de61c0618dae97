"""One user's optimal policies, solved where they are asked for: the points of the curve that trades relevance for cost.

A point is optimal at its own λ, so the curve lies below the line through it with that slope; and every mix of two
policies is a policy, so the curve lies above the chord of two points. The rest of this room follows from these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from excalibr._types import Floats
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver import Sweep, thinned
from excalibr.solver.certificate import proven_gap

__all__ = ["Curve", "Point", "chord", "mix"]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What an optimal policy reaches, and the λ that it is optimal for."""

    relevance: float
    cost: float
    trade_off: float
    policy: Policy

    def value(self, trade_off: float) -> float:
        """Its objective at any λ."""
        return (1.0 - trade_off) * self.relevance - trade_off * self.cost


class Curve:
    """The optimal points of a problem, whose own trade-off does not matter here.

    Parameters
    ----------
    problem
        What is asked, at any trade-off.
    limits
        How exactly each point is solved.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem = problem
        self.limits = limits
        self.solves = 0
        self._sweep = Sweep(problem, limits)

    def at(self, trade_off: float) -> Point:
        """The optimum at λ."""
        return self.at_all([trade_off])[0]

    def at_all(
        self, trade_offs: Sequence[float], tolerance: float | None = None, prices: Floats | None = None
    ) -> list[Point]:
        """The optima at several λ, quickest in rising order; to another tolerance than the curve's, if one is given.

        ``prices`` (T, r) are near those of the optima, where that is known.
        """
        self.solves += len(trade_offs)
        limits = self.limits if tolerance is None else replace(self.limits, tolerance=tolerance)
        problems = [self.problem.with_trade_off(trade_off) for trade_off in trade_offs]
        policies = self._sweep.solve_all(problems, limits, prices)
        if not policies:
            return []
        costs = self.problem.divergence.costs(np.array([policy.shares for policy in policies])).sum(axis=1)
        return [
            Point(policy.relevance, cost, policy.problem.trade_off, policy)
            for policy, cost in zip(policies, costs.tolist(), strict=True)
        ]

    def gap_at(self, trade_off: float, point: Point, prices: Floats) -> float:
        """How far below any policy a point can be at λ, by the bound that these prices prove."""
        policy = point.policy
        return proven_gap(self.problem.with_trade_off(trade_off), policy.rankings, policy.weights, prices)

    @cached_property
    def most_relevant(self) -> Point:
        """The end at λ = 0: of the most relevant policies the best calibrated."""
        return self.at(0.0)

    @cached_property
    def best_calibrated(self) -> Point:
        """The end at λ = 1: of the best calibrated policies the most relevant."""
        return self.at(1.0)

    @cached_property
    def relevance_unit(self) -> float:
        """The spread of the scores: what differences in relevance are measured by."""
        return float(np.ptp(self.problem.scores)) or 1.0

    @property
    def is_straight(self) -> bool:
        """Whether the curve is made of straight lines, as it is with L1, and has vertices to find."""
        return not self.problem.penalty.smoothing


def chord(left: Point, right: Point) -> float:
    """The λ at which two points are worth the same; the left one is the more relevant."""
    relevance, cost = max(left.relevance - right.relevance, 0.0), max(left.cost - right.cost, 0.0)
    return relevance / (relevance + cost) if relevance + cost > 0.0 else 0.5


def mix(left: Point, right: Point, share: float, trade_off: float, prices: Floats | None) -> Policy:
    """The lottery that is ``left`` with probability ``share`` and ``right`` otherwise, as a policy for a λ."""
    if share >= 1.0 or share <= 0.0:
        policy = (left if share >= 1.0 else right).policy
        rankings, weights = policy.rankings, policy.weights
    else:
        rankings = np.vstack((left.policy.rankings, right.policy.rankings))
        weights = np.concatenate((share * left.policy.weights, (1.0 - share) * right.policy.weights))
    problem = left.policy.problem.with_trade_off(trade_off)
    if len(weights) > problem.r + 1 or not 0.0 < share < 1.0:
        rankings, weights = thinned(problem, rankings, weights)
    order = np.argsort(-weights, kind="stable")
    rankings, weights = rankings[order], weights[order]
    gap = float("nan") if prices is None else proven_gap(problem, rankings, weights, prices)
    return Policy(problem, rankings, weights, gap, prices)
