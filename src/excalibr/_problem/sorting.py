"""Plain sorting: the relevance order of what may be shown, which a policy is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.positions import slots_by_weight

if TYPE_CHECKING:
    from excalibr._problem.question import Problem
    from excalibr._problem.terms import Terms

__all__ = ["first_allowed", "relevance_order", "room_left"]


def relevance_order(problem: Problem, scores: Floats | None = None) -> Integers:
    """Every candidate that may be shown: first the most relevant ranking, slot by slot, then the rest by score.

    The best scores get the heaviest slots, equal ones the lower index first. Pinned items keep their slots, a category
    that is full is passed over, and what was shown before is left out. Other ``scores`` can take the problem's place.

    Examples
    --------
    >>> from excalibr import Problem
    >>> problem = Problem.of([0.5, 0.9, 0.9, 0.7], [[1], [1], [1], [1]], [1.0], k=2, pinned={0: 0})
    >>> relevance_order(problem).tolist()
    [0, 1, 2, 3]
    """
    order = np.argsort(-(problem.scores if scores is None else scores), kind="stable").astype(np.int64)
    slots = slots_by_weight(problem.position_weights)
    ranking = np.empty(problem.k, dtype=np.int64)
    terms = problem.terms
    if terms is None:
        ranking[slots] = order[: problem.k]
        return np.concatenate((ranking, order[problem.k :]))
    order = order[~terms.unavailable[order]]
    free = order[~np.isin(order, terms.pinned_candidates)]
    open_slots = slots[~np.isin(slots, terms.pinned_slots)]
    groups = terms.groups[free] if terms.group_limits.size else terms.groups
    ranking[open_slots] = free[first_allowed(np.arange(len(free)), len(open_slots), groups, room_left(terms))]
    ranking[terms.pinned_slots] = terms.pinned_candidates
    return np.concatenate((ranking, order[~np.isin(order, ranking)]))


def first_allowed(order: Integers, count: int, group_of: Integers, limits: Integers) -> Integers:
    """The first candidates of an order, passing over those whose group is full."""
    if not group_of.size:
        return order[:count]
    left, chosen = limits.copy(), []
    for candidate in order:
        group = group_of[candidate]
        if group < 0 or left[group] > 0:
            chosen.append(candidate)
            if group >= 0:
                left[group] -= 1
    return np.array(chosen[:count], dtype=np.int64)


def room_left(terms: Terms) -> Integers:
    """How many of each group the open slots may still have."""
    if not terms.group_limits.size:
        return np.empty(0, dtype=np.int64)
    pinned = terms.groups[terms.pinned_candidates]
    return np.asarray(terms.group_limits - np.bincount(pinned + 1, minlength=len(terms.group_limits) + 1)[1:])
