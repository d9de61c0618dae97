"""Problems with terms beyond the paper's: arranged for the kernel, solved, and brought back.

Hard limits become slopes that are made steeper until the optimum keeps them; where no policy can, the error says why.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.errors import InfeasibleError
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.arrangement import Arrangement, arrange
from excalibr.solver.certificate import proven_gap
from excalibr.solver.engines import Answer, answer
from excalibr.solver.kernel import thin_lottery
from excalibr.solver.reach import extreme_shares

__all__ = ["policy_of", "solve_arranged", "thinned"]

STEEPNESS_AND_SLACK = ((1e2, 1e-9), (1e4, 1e-9), (1e6, 1e-7))
"""How much steeper than anything else a hard limit is made, in turn, and by how much it may be missed then."""

KEPT = 1e-9
"""A limit that is missed by no more than this is kept: the rounding of sums."""


def solve_arranged(problem: Problem, limits: Limits) -> Policy:
    """The optimal lottery of a problem with terms, with the gap that its rankings and prices prove."""
    arrangement = arrange(problem)
    if not arrangement.slots.size:
        return _all_pinned(arrangement)
    return policy_of(problem, arrangement, _within_limits(arrangement, limits))


def policy_of(problem: Problem, arrangement: Arrangement, found: Answer) -> Policy:
    """What the kernel found for the free part, as a policy of the whole; the problem may be at another trade-off."""
    rankings, weights = arrangement.rankings(found.rankings), found.weights
    prices = arrangement.prices(found.prices, problem.trade_off)
    if len(weights) > problem.r + 1:
        rankings, weights = thinned(problem, rankings, weights)
    return Policy(problem, rankings, weights, proven_gap(problem, rankings, weights, prices), prices)


def thinned(problem: Problem, rankings: Integers, weights: Floats) -> tuple[Integers, Floats]:
    """At most r + 1 of the rankings, with weights that show and are worth the same; heaviest first."""
    rows = problem.memberships
    arrays = (problem.scores, rows.indptr, rows.indices, rows.values)
    return thin_lottery(*arrays, problem.r, problem.position_weights, rankings, weights)


def _all_pinned(arrangement: Arrangement) -> Policy:
    """Nothing is left to decide."""
    problem = arrangement.problem
    rankings = arrangement.rankings(np.empty((1, 0), dtype=np.int64))
    if _excess(problem, rankings, np.ones(1)).max(initial=0.0) > KEPT:
        raise InfeasibleError("floors and caps: every slot is pinned, and the pinned items do not keep them.")
    shares = Policy(problem, rankings, np.ones(1)).shares
    prices = problem.penalty.slopes(shares, rising=True) - problem.penalty.price_offset
    return Policy(problem, rankings, np.ones(1), proven_gap(problem, rankings, np.ones(1), prices), prices)


def _within_limits(arrangement: Arrangement, limits: Limits) -> Answer:
    """An optimum that keeps the hard limits."""
    problem = arrangement.problem
    asked = problem.penalty
    scale = float(np.ptp(problem.gains)) + float(asked.above.max(initial=0.0)) or 1.0
    for steepness, slack in STEEPNESS_AND_SLACK if arrangement.limited.size else ((0.0, 0.0),):
        program = arrangement.program(problem.trade_off, steepness * scale)
        found = answer(program, limits, curved=asked.smoothing > 0.0, groups=arrangement.watched)
        if not arrangement.limited.size:
            return found
        if _excess(problem, arrangement.rankings(found.rankings), found.weights).max() <= slack:
            return found
    raise _conflict(arrangement, limits)


def _excess(problem: Problem, rankings: Integers, weights: Floats) -> Floats:
    """(r,) by how much each category misses its floor or its cap."""
    terms, shares = problem.terms, Policy(problem, rankings, weights).shares
    assert terms is not None
    return np.maximum(np.maximum(terms.floors - shares, shares - terms.caps), 0.0)


def _conflict(arrangement: Arrangement, limits: Limits) -> InfeasibleError:
    """Which limits cannot be met: one by itself, with the most that can be reached, or several together."""
    problem = arrangement.problem
    terms = problem.terms
    assert terms is not None
    for category in arrangement.limited:
        least, most = extreme_shares(arrangement, int(category))
        if terms.floors[category] > most + KEPT:
            return InfeasibleError(
                f"floors: category {_name(problem, category)} cannot reach {terms.floors[category]:g}; "
                f"the most that any policy shows of it is {most:.6g}."
            )
        if terms.caps[category] < least - KEPT:
            return InfeasibleError(
                f"caps: category {_name(problem, category)} cannot stay within {terms.caps[category]:g}; "
                f"the least that any policy shows of it is {least:.6g}."
            )
    return _joint_conflict(arrangement, limits)


def _joint_conflict(arrangement: Arrangement, limits: Limits) -> InfeasibleError:
    """The limits that stand against one another: those with a price when nothing but the limits counts."""
    problem, r = arrangement.problem, arrangement.problem.r
    gains, indptr, indices, values, penalty, weights = arrangement.program(1.0, 1.0)
    penalty[2:4, :r] = 0.0
    program = (np.zeros_like(gains), indptr, indices, values, penalty, weights)
    found = answer(program, replace(limits, max_sorts=None), groups=arrangement.watched)
    missing = float(_excess(problem, arrangement.rankings(found.rankings), found.weights).sum())
    if limits.max_sorts is not None and missing <= STEEPNESS_AND_SLACK[-1][1]:
        return InfeasibleError(
            f"floors and caps: no policy that keeps them was found within max_sorts={limits.max_sorts}, "
            "and there is one. Hint: allow more sorts."
        )
    terms = problem.terms
    assert terms is not None
    priced = [
        f"{'floor' if price < 0 else 'cap'} {(terms.floors if price < 0 else terms.caps)[category]:g} "
        f"of category {_name(problem, category)}"
        for category, price in zip(arrangement.limited, found.prices[r:], strict=True)
        if abs(price) > 1e-6
    ]
    return InfeasibleError(
        f"floors and caps: no policy keeps all of them; these conflict: {', '.join(priced)}. "
        f"Together they miss by at least {missing:.6g}."
    )


def _name(problem: Problem, category: int) -> str:
    for attribute in problem.attributes:
        if attribute.start <= category < attribute.stop:
            return f"{category - attribute.start} of {attribute.name!r}"
    return str(category)
