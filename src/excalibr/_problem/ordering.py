"""Plain sorting: the relevance order of what may be shown, which a policy is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.positions import slots_by_weight

if TYPE_CHECKING:
    from excalibr._problem.problem import Problem


def relevance_order(problem: Problem, scores: Floats | None = None) -> Integers:
    """Every candidate that may be shown: first the most relevant ranking, slot by slot, then the rest by score.

    The best scores get the heaviest slots, equal ones the lower index first. Pinned items keep their slots, a category
    that is full is passed over, and what was shown before is left out. Other ``scores`` can take the problem's place.

    >>> from excalibr import Problem
    >>> problem = Problem.of([0.5, 0.9, 0.9, 0.7], [[1], [1], [1], [1]], [1.0], k=2, pinned={0: 0})
    >>> relevance_order(problem).tolist()
    [0, 1, 2, 3]
    """
    order = np.argsort(-(problem.scores if scores is None else scores), kind="stable").astype(np.int64)
    slots = slots_by_weight(problem.position_weights)
    ranking = np.empty(problem.k, dtype=np.int64)
    pinned_slots, pinned = problem.pins
    order = order[~problem.unavailable[order]]
    free = order[~np.isin(order, pinned)]
    open_slots = slots[~np.isin(slots, pinned_slots)]
    ranking[open_slots] = _first_allowed(free, len(open_slots), problem)
    ranking[pinned_slots] = pinned
    return np.concatenate((ranking, order[~np.isin(order, ranking)]))


def _first_allowed(order: Integers, count: int, problem: Problem) -> Integers:
    """The first candidates of an order, passing over those whose group is full."""
    if problem.groups is None:
        return order[:count]
    group_of, limits = problem.groups
    left, chosen = np.append(limits, problem.n), []  # the last, at -1, is of those without a group: room for all
    np.subtract.at(left, group_of[problem.pins[1]], 1)
    for candidate in order:
        if left[group_of[candidate]] > 0:
            left[group_of[candidate]] -= 1
            chosen.append(candidate)
    return np.array(chosen[:count], dtype=np.int64)
