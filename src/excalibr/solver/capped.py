"""The best ranking at some adjusted scores, also where only so many candidates of a group may be shown.

Sets with at most so many of each group are the independent sets of a matroid, so taking candidates from the best one
down and passing over full groups is exact, for every prefix of the ranking at once and so for any position weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.solver.jit import compiled, lean
from excalibr.solver.ordering import rank_best, sort_descending

__all__ = ["Groups", "best_ranking", "new_groups", "no_groups"]


class Groups(NamedTuple):
    """The group of each candidate, −1 for none; how many of each may be shown; room to count. Empty: no groups."""

    group_of: Integers
    limits: Integers
    taken: Integers


@compiled
def new_groups(group_of: Integers, limits: Integers) -> Groups:
    """Groups with room to count. The limits must leave k candidates that can be shown together."""
    return Groups(group_of, limits, np.empty(limits.size, dtype=np.int64))


@compiled
def no_groups() -> Groups:
    """Every ranking is allowed."""
    return new_groups(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@lean
def best_ranking(groups: Groups, keys: Floats, count: int, order: Integers, spare: Integers) -> None:
    """Make ``order[:count]`` the best ranking by the keys; ``order`` must hold a permutation, and does afterwards."""
    if groups.group_of.size == 0:
        rank_best(keys, count, order, spare)
        return
    sort_descending(keys, order, spare, keys.size)
    _pass_over_full_groups(groups.group_of, groups.limits, groups.taken, count, order, spare)


@lean
def _pass_over_full_groups(
    group_of: Integers, limits: Integers, taken: Integers, count: int, order: Integers, spare: Integers
) -> None:
    """Move the candidates that can be taken to the front, in the order in which they stand."""
    for group in range(limits.size):
        taken[group] = 0
    shown = 0
    passed = 0
    for place in range(order.size):
        candidate = order[place]
        group = group_of[candidate]
        if shown < count and (group < 0 or taken[group] < limits[group]):
            if group >= 0:
                taken[group] += 1
            order[shown] = candidate
            shown += 1
        else:
            spare[passed] = candidate
            passed += 1
    for place in range(passed):
        order[shown + place] = spare[place]
