"""Propensities: how probable it was that a lottery shows a ranking, an item in its slot, and an item at all.

A log of draws with their propensities can say what another policy would have earned (off-policy evaluation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import spans, starts_of, whole_numbers
from excalibr._types import Floats, Integers
from excalibr.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Propensities:
    """Of the items of a ranking, slot by slot.

    Attributes
    ----------
    in_slot
        (k,) the probability that a draw has the item in this very slot.
    anywhere
        (k,) the probability that a draw has the item in any slot.
    """

    in_slot: Floats
    anywhere: Floats


def read_ranking(ranking: ArrayLike, n: int, k: int) -> Integers:
    """A ranking as k different candidates."""
    given = whole_numbers("ranking", ranking, (k,), "a candidate for each slot")
    if given.min() < 0 or given.max() >= n or len(np.unique(given)) < k:
        raise InputError("ranking", f"is {given.tolist()}", f"have different candidates, from 0 to {n - 1}")
    return given


def probability_of(rankings: Integers, weights: Floats, ranking: Integers) -> float:
    """The weight of this ranking (k,) among the rankings (L, k), 0 where it is not among them."""
    return min(float(weights[(rankings == ranking).all(axis=1)].sum()), 1.0)  # sums of weights may round to above 1


def propensities_of(rankings: Integers, weights: Floats, ranking: Integers) -> Propensities:
    """The propensities of the items of a ranking (k,) under the rankings (L, k)."""
    counts, slots = np.array([len(weights)]), np.array([len(ranking)])
    return _propensities(rankings.ravel(), weights, counts, slots, ranking)


def propensities_of_draws(
    places: Integers, weights: Floats, counts: Integers, slots: Integers, drawn: Integers, shown: Integers
) -> Floats:
    """(shown, 3) how probable what many users are shown was: the ranking, each item in its slot, and in any slot.

    ``places`` are the rankings of all users, slot by slot. A user has ``counts`` of them, with ``slots`` items each, no
    slots where there is no ranking, and is shown the one that was ``drawn``, counted from the user's first: ``shown``.
    """
    found, some = _propensities(places, weights, counts, slots, shown), counts > 0
    chosen = (starts_of(counts)[:-1] + drawn)[some]
    return np.stack([np.repeat(weights[chosen], slots[some]), found.in_slot, found.anywhere], axis=1)


def _propensities(
    places: Integers, weights: Floats, counts: Integers, slots: Integers, shown: Integers
) -> Propensities:
    each = np.repeat(slots, counts)  # the slots of each ranking
    owners = np.repeat(np.repeat(np.arange(len(counts)), counts), each)
    probabilities = np.repeat(weights, each)
    here = np.repeat(starts_of(slots)[:-1], counts * slots) + spans(np.zeros_like(each), each)
    same = shown[here] == places
    in_slot = np.bincount(here[same], probabilities[same], len(shown))
    where = _places_in(shown, np.repeat(np.arange(len(counts)), slots), places, owners)
    anywhere = np.bincount(where[where >= 0], probabilities[where >= 0], len(shown))
    return Propensities(np.minimum(in_slot, 1.0), np.minimum(anywhere, 1.0))  # sums of weights may round to above 1


def _places_in(shown: Integers, viewers: Integers, places: Integers, owners: Integers) -> Integers:
    """Where each user's item stands among what the same user is shown; −1 where it is not."""
    if not len(shown):
        return np.full(len(places), -1)
    width = int(places.max(initial=0)) + 1
    keys, wanted = viewers * width + shown, owners * width + places
    order = np.argsort(keys)
    found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(order) - 1)]
    return np.where(keys[found] == wanted, found, -1)
