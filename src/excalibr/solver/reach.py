"""How far single rankings can get: the worst and the best relevance of any, the least and the most of a category."""

from __future__ import annotations

import numpy as np

from excalibr._types import Floats
from excalibr.problem import Problem
from excalibr.solver.arrangement import Arrangement, arrange

__all__ = ["extreme_relevances", "extreme_shares"]


def extreme_relevances(problem: Problem) -> tuple[float, float]:
    """The worst and the best relevance that any ranking has; pinned items keep their slots."""
    if problem.terms is None:
        return _extremes(problem.scores, problem.position_weights)
    arrangement = arrange(problem)
    terms = problem.terms
    pinned = float(problem.scores[terms.pinned_candidates] @ problem.position_weights[terms.pinned_slots])
    worst, best = _extremes(problem.scores[arrangement.candidates], arrangement.position_weights)
    return worst + pinned, best + pinned


def extreme_shares(arrangement: Arrangement, category: int) -> tuple[float, float]:
    """The least and the most that any ranking shows of one category, pinned items included."""
    rows, pinned = arrangement.memberships, float(arrangement.pinned_shares[category])
    shares = np.zeros(rows.n_candidates)
    owners = np.repeat(np.arange(rows.n_candidates), np.diff(rows.indptr))
    here = rows.indices == category
    shares[owners[here]] = rows.values[here]
    least, most = _extremes(shares, arrangement.position_weights)
    return least + pinned, most + pinned


def _extremes(values: Floats, position_weights: Floats) -> tuple[float, float]:
    """The smallest and the largest weighted sum of k of the values, each in a slot of its own."""
    rising, slots = np.sort(values), np.sort(position_weights)[::-1]
    k = len(slots)
    return float(rising[:k] @ slots), float(rising[::-1][:k] @ slots)
