"""The best ranking at some adjusted scores, also where only so many candidates of a group may be shown.

Sets with at most so many of each group are the independent sets of a matroid, so taking candidates from the best one
down and passing over full groups is exact, for every prefix of the ranking at once and so for any position weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, inlined, lean
from excalibr._types import Floats, Integers, Places
from excalibr.solver.merging import Lists, no_lists, rank_by_lists
from excalibr.solver.ordering import Spare, rank_best, sort_descending

__all__ = ["Sorting", "best_ranking", "new_sorting", "plain_sorting"]


class Sorting(NamedTuple):
    """What a sort must keep and may use.

    The group of each candidate, −1 for none; how many of each may be shown; room to count. All empty: no groups. The
    lists to merge, where there are any.
    """

    group_of: Integers
    limits: Integers
    taken: Integers
    lists: Lists


@compiled
def new_sorting(group_of: Integers, limits: Integers, lists: Lists) -> Sorting:
    """Groups with room to count. The limits must leave k candidates that can be shown together."""
    return Sorting(group_of, limits, np.empty(limits.size, dtype=np.int64), lists)


@compiled
def plain_sorting() -> Sorting:
    """Every ranking is allowed, and nothing is known of the candidates."""
    return new_sorting(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), no_lists())


@inlined
def best_ranking(sorting: Sorting, keys: Floats, count: int, order: Places, spare: Spare) -> None:
    """Make ``order[:count]`` the best ranking by the keys; ``order`` must hold a permutation, and does afterwards."""
    if sorting.group_of.size > 0:
        sort_descending(keys, order, spare, keys.size)
        _pass_over_full_groups(sorting.group_of, sorting.limits, sorting.taken, count, order, spare.places)
    elif sorting.lists.members.size > 0:
        rank_by_lists(sorting.lists, keys, order, spare)
    else:
        rank_best(keys, count, order, spare)


@lean
def _pass_over_full_groups(
    group_of: Integers, limits: Integers, taken: Integers, count: int, order: Places, spare: Places
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
