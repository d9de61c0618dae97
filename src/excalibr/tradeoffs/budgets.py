"""Budgets instead of λ: as calibrated as possible for a loss of relevance, as relevant as possible within a deviation.

Two points of the curve, one on either side of the budget, are drawn together: each step solves at the λ of their chord.
Where the solution is no better than the chord, the chord is the curve, and the mix that meets the budget is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import numpy as np

from excalibr.errors import InfeasibleError, InputError, explain
from excalibr.policy import Policy
from excalibr.problem import Problem, is_real
from excalibr.solver.reach import extreme_relevances
from excalibr.tradeoffs.curve import Curve, Point, chord, mix

__all__ = ["most_relevant_within", "nearest_within", "read_deviation", "read_loss", "relevance_floor"]

MAX_SOLVES = 200


def nearest_within(curve: Curve, relevance_loss: float) -> Policy:
    """The best calibrated policy that gives up at most this part of the relevance that plain sorting has."""
    floor = relevance_floor(curve.problem, read_loss(relevance_loss))
    slack = 1e-12 * curve.relevance_unit
    if curve.most_relevant.relevance < floor - slack:
        raise InfeasibleError(
            f"relevance_loss: is {relevance_loss:g}, and the other limits alone cost more: the relevance within them "
            f"is at most {curve.most_relevant.relevance:.6g}, and {floor:.6g} was asked."
        )
    if curve.best_calibrated.relevance >= floor - slack:
        return curve.best_calibrated.policy
    return _meet(curve, _Budget(lambda point: point.relevance, floor))


def most_relevant_within(curve: Curve, max_deviation: float) -> Policy:
    """The most relevant policy whose cost is at most this."""
    allowed = read_deviation(max_deviation)
    if curve.best_calibrated.cost > allowed + 1e-9:
        raise _out_of_reach(curve, allowed)
    if curve.most_relevant.cost <= allowed:
        return curve.most_relevant.policy
    if curve.best_calibrated.cost >= allowed:
        return curve.best_calibrated.policy
    return _meet(curve, _Budget(lambda point: point.cost, allowed))


def relevance_floor(problem: Problem, relevance_loss: float) -> float:
    """The least relevance that the budget allows.

    The loss is a part of the best relevance, unless relevance can be zero or negative: then it is a part of the spread
    between the best and the worst relevance that any ranking has.
    """
    worst, best = extreme_relevances(problem)
    return best - relevance_loss * (best if worst > 0.0 else best - worst)


def read_loss(relevance_loss: object) -> float:
    """A part from 0 to 1."""
    if not is_real(relevance_loss) or not 0.0 <= float(relevance_loss) <= 1.0:  # type: ignore[arg-type]
        hint = "0.02 gives up at most 2 % of the relevance."
        raise InputError(explain("relevance_loss", f"is {relevance_loss!r}", "be a number from 0 to 1", hint))
    return float(relevance_loss)  # type: ignore[arg-type]


def read_deviation(max_deviation: object) -> float:
    """A finite number of at least 0."""
    if not is_real(max_deviation) or not 0.0 <= float(max_deviation) < np.inf:  # type: ignore[arg-type]
        raise InputError(explain("max_deviation", f"is {max_deviation!r}", "be a finite number of at least 0"))
    return float(max_deviation)  # type: ignore[arg-type]


def _out_of_reach(curve: Curve, allowed: float) -> InfeasibleError:
    """No policy was found that comes so near: because there is none, or because sorts were limited."""
    nearest = curve.best_calibrated
    if curve.limits.max_sorts is None or nearest.cost - nearest.policy.gap > allowed:
        return InfeasibleError(
            f"max_deviation: is {allowed:g}, and no policy comes nearer than {nearest.cost - nearest.policy.gap:.6g}."
        )
    return InfeasibleError(
        f"max_deviation: is {allowed:g}, and the nearest policy that was found within max_sorts is at "
        f"{nearest.cost:.6g}. Hint: allow more sorts."
    )


@dataclass(frozen=True, slots=True)
class _Budget:
    """What is limited, and where. Both measures fall along the curve, from the most relevant point on."""

    measure: Callable[[Point], float]
    limit: float

    def share(self, left: Point, right: Point) -> float:
        """The probability of ``left`` in the mix that meets the limit."""
        here, there = self.measure(left), self.measure(right)
        return min(max((self.limit - there) / (here - there), 0.0), 1.0) if here > there else 1.0


def _meet(curve: Curve, budget: _Budget) -> Policy:
    """The point of the curve at the limit, between its two ends."""
    left, right = curve.most_relevant, curve.best_calibrated
    for step in range(MAX_SOLVES):
        trade_off = chord(left, right) if curve.is_straight or step % 3 == 0 else _between(budget, left, right)
        point = curve.at(trade_off)
        if budget.measure(point) >= budget.limit:
            left = point
        else:
            right = point
        share = budget.share(left, right)
        lost = point.value(trade_off) - share * left.value(trade_off) - (1.0 - share) * right.value(trade_off)
        if lost <= curve.limits.tolerance * max(1.0, (1.0 - trade_off) * curve.relevance_unit):
            break
    return mix(left, right, share, trade_off, point.policy.category_prices)


def _between(budget: _Budget, left: Point, right: Point) -> float:
    """Where the measure should meet the limit if it falls evenly with the logarithm of λ / (1 − λ) in between."""
    if left.trade_off <= 0.0 or right.trade_off >= 1.0:
        return chord(left, right)
    share = min(max(budget.share(left, right), 0.02), 0.98)
    logit = share * _logit(left.trade_off) + (1.0 - share) * _logit(right.trade_off)
    return 1.0 / (1.0 + exp(-logit))


def _logit(trade_off: float) -> float:
    return log(trade_off / (1.0 - trade_off))
