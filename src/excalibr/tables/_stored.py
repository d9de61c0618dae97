"""Stored lotteries: one ranking a user drawn from a table of them, with nothing solved again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import run_starts, spans, starts_of
from excalibr._propensities import propensities_of_draws
from excalibr._types import Floats, Integers
from excalibr._visits import choose_rankings, choose_visits
from excalibr.errors import InputError, explain
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._ids import encode, keys_of
from excalibr.tables._options import Tables
from excalibr.tables._results import keys_with
from excalibr.tables._visits import read_visits

__all__ = ["draw_stored"]


@dataclass(frozen=True, eq=False)
class _Stored:
    """Lotteries in the order of user, ranking and rank.

    Attributes
    ----------
    frame
        The table.
    users
        (users,) Arrow array, in order.
    rows
        (N,) the rows of the table, in that order.
    begins
        (rankings,) where each ranking begins among them.
    counts
        (users,) how many rankings each user has.
    weights
        (rankings,) their probabilities.
    """

    frame: Frame
    users: Any
    rows: Integers
    begins: Integers
    counts: Integers
    weights: Floats

    @property
    def lengths(self) -> Integers:
        """(rankings,) how many items each ranking has."""
        return np.diff(np.append(self.begins, len(self.rows)))

    @property
    def firsts(self) -> Integers:
        """(users,) the number of each user's first ranking."""
        return starts_of(self.counts)[:-1]


def draw_stored(table: Any, options: Tables, seed: int, day: Hashable) -> Any:
    """One ranking a user from a table of lotteries, in any order of rows."""
    stored = _read(read_frame(table, "lotteries"), options)
    keys = keys_with(keys_of(stored.users), day)
    visits = read_visits(stored.users, options)
    if visits is None:
        drawn = choose_rankings(stored.weights, stored.counts, keys, seed)
    else:
        places, slots = _places(stored, options)
        drawn = choose_visits(places, stored.weights, stored.counts, slots, keys, seed, visits)
    chosen = stored.firsts + drawn
    entries = spans(stored.begins[chosen], stored.lengths[chosen])
    left = [name for name in stored.frame.columns if name not in (options.ranking, options.probability)]
    added = {}
    if options.propensities:
        places, slots = _places(stored, options)
        found = propensities_of_draws(places, stored.weights, stored.counts, slots, drawn, places[entries])
        added = dict(zip(options.propensity_columns, found.T.copy(), strict=True))
    columns = [name for name in left if name not in added] + list(added)
    return stored.frame.take(stored.rows[entries], columns, added)


def _read(frame: Frame, options: Tables) -> _Stored:
    users, owners = encode(options.read_ids(frame, "user_id"))
    columns = {name: getattr(options, name) for name in ("ranking", "probability", "rank")}
    ranking, probability, rank = (frame.numbers(column, name) for name, column in columns.items())
    order = np.lexsort((rank, ranking, owners))
    order = order[owners[order] >= 0]
    owner, number = owners[order], ranking[order]
    begins = np.flatnonzero(run_starts(owner, number))
    counts = np.bincount(owner[begins], minlength=len(users))
    return _Stored(frame, users, order, begins, counts, probability[order[begins]])


def _places(stored: _Stored, options: Tables) -> tuple[Integers, Integers]:
    """The items of all rankings as numbers, and how many each ranking of a user has."""
    _, items = encode(options.read_ids(stored.frame, "item_id"))
    slots = stored.lengths[stored.firsts]
    uneven = stored.lengths != np.repeat(slots, stored.counts)
    if uneven.any():
        at = int(np.repeat(np.arange(len(slots)), stored.counts)[np.argmax(uneven)])
        found = f"have rankings of different lengths for user {keys_of(stored.users)[at]!r}"
        raise InputError(explain("lotteries", found, "have as many items in every ranking of a user"))
    return items[stored.rows], slots
