"""How far single rankings can get: the worst and the best relevance of any, the least and the most of a category."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.problem import Problem, first_allowed, room_left
from excalibr.solver.arrangement import Arrangement

__all__ = ["extreme_relevances", "extreme_shares"]

Groups: TypeAlias = tuple[Integers, Integers]

_NONE = np.empty(0, dtype=np.int64)


def extreme_relevances(problem: Problem) -> tuple[float, float]:
    """The worst and the best relevance that any ranking has; pinned items keep their slots."""
    if problem.terms is None:
        return _extremes(problem.scores, problem.position_weights)
    terms = problem.terms
    pinned = float(problem.scores[terms.pinned_candidates] @ problem.position_weights[terms.pinned_slots])
    free = ~terms.unavailable
    free[terms.pinned_candidates] = False
    slots = np.delete(problem.position_weights, terms.pinned_slots)
    groups = (terms.groups[free], room_left(terms)) if terms.group_limits.size else (_NONE, _NONE)
    worst, best = _extremes(problem.scores[free], slots, groups)
    return worst + pinned, best + pinned


def extreme_shares(arrangement: Arrangement, category: int) -> tuple[float, float]:
    """The least and the most that any ranking shows of one category, pinned items included."""
    rows, pinned = arrangement.memberships, float(arrangement.pinned_shares[category])
    shares = np.zeros(rows.n_candidates)
    owners = np.repeat(np.arange(rows.n_candidates), np.diff(rows.indptr))
    here = rows.indices == category
    shares[owners[here]] = rows.values[here]
    least, most = _extremes(shares, arrangement.position_weights, arrangement.watched)
    return least + pinned, most + pinned


def _extremes(values: Floats, position_weights: Floats, groups: Groups = (_NONE, _NONE)) -> tuple[float, float]:
    """The smallest and the largest weighted sum of k of the values, each in a slot of its own."""
    rising, slots = np.argsort(values, kind="stable"), np.sort(position_weights)[::-1]
    least, most = first_allowed(rising, len(slots), *groups), first_allowed(rising[::-1], len(slots), *groups)
    return float(values[least] @ slots), float(values[most] @ slots)
