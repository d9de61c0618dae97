"""Candidates: rows of a table put in the order of user and item, with what cannot be used left out and counted."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from excalibr._arrays import run_starts
from excalibr._types import Floats, Integers
from excalibr.tables._frames import Frame
from excalibr.tables._ids import codes_in, encode, keys_of, matched, valid
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Tables


@dataclass(frozen=True, eq=False)
class CandidateArrays:
    """The candidates that can be ranked, by user and then by item, so that ties go to the lower item id.

    Attributes
    ----------
    frame
        The table that they came from.
    users
        (users,) Arrow array: every user of the table, in order.
    first_rows
        (users,) a row of the table for each user.
    starts
        (users + 1,) where each user's candidates begin.
    rows, items, scores
        (N,) each candidate's row in the table, item and score.
    left_out
        How many rows were left out, by reason.
    """

    frame: Frame
    users: Any
    first_rows: Integers
    starts: Integers
    rows: Integers
    items: Integers
    scores: Floats
    left_out: dict[str, int]

    def keys(self) -> list[Hashable]:
        """The users as Python values, by which their rankings are drawn."""
        return keys_of(self.users)

    def without(self, owners: Integers, items: Integers) -> CandidateArrays:
        """The same without these pairs of user and item."""
        most = int(max(self.items.max(initial=0), items.max(initial=0))) + 1
        own = np.repeat(np.arange(len(self.users)), np.diff(self.starts))
        kept = ~np.isin(own * most + self.items, owners * most + items)
        starts = np.searchsorted(own[kept], np.arange(len(self.users) + 1)).astype(np.int64)
        rows, kept_items, scores = self.rows[kept], self.items[kept], self.scores[kept]
        return replace(self, starts=starts, rows=rows, items=kept_items, scores=scores)


def read_candidates(table: Any, items: ItemArrays, options: Tables) -> CandidateArrays:
    """The candidates of a table with columns for user, item and score, in any order.

    Examples
    --------
    >>> from excalibr.tables import read_items
    >>> from excalibr.tables._arrow import pa
    >>> options = Tables(targets={"drama": 1.0})
    >>> items = read_items(pa.table({"item_id": [1, 2], "category": ["drama", "drama"]}), options)
    >>> table = pa.table({"user_id": ["bob", "ada", "ada"], "item_id": [2, 2, 1], "score": [0.5, 0.4, 0.9]})
    >>> candidates = read_candidates(table, items, options)
    >>> candidates.users.to_pylist(), candidates.starts.tolist(), candidates.scores.tolist()
    (['ada', 'bob'], [0, 2, 3], [0.9, 0.4, 0.5])
    """
    frame = options.open(table, "candidates")
    users, owners = encode(options.read_ids(frame, "user_id"))
    item_ids = options.read_ids(frame, "item_id")
    places = codes_in(*matched(item_ids, items.ids, "item_id", ("candidates", "items")))
    scores = options.read_numbers(frame, "score")
    reasons = {
        "without a user": owners < 0,
        "without an item": ~valid(item_ids),
        "without a finite score": ~np.isfinite(scores),
        "of items that are not in the items table": places < 0,
    }
    usable, left_out = np.ones(len(frame), dtype=bool), {}
    for reason, marked in reasons.items():
        left_out[reason] = int((usable & marked).sum())
        usable &= ~marked
    rows = _in_order(np.flatnonzero(usable), owners, places, scores)
    kept = rows[run_starts(owners[rows], places[rows])]
    left_out["that repeat a user and an item"] = len(rows) - len(kept)
    starts = np.searchsorted(owners[kept], np.arange(len(users) + 1))
    first_rows, with_user = np.zeros(len(users), dtype=np.int64), np.flatnonzero(owners >= 0)[::-1]
    first_rows[owners[with_user]] = with_user  # of several rows of a user, the last that is written: the first
    some = {reason: count for reason, count in left_out.items() if count}
    return CandidateArrays(frame, users, first_rows, starts.astype(np.int64), kept, places[kept], scores[kept], some)


def _in_order(rows: Integers, owners: Integers, places: Integers, scores: Floats) -> Integers:
    """The rows by user and item; of those that repeat both, the best score first."""
    keys = owners[rows] * (int(places.max(initial=0)) + 1) + places[rows]
    if (keys[1:] > keys[:-1]).all():
        return rows
    order = np.argsort(keys)
    sorted_keys = keys[order]
    if (sorted_keys[1:] == sorted_keys[:-1]).any():
        order = np.lexsort((-scores[rows], keys))
    return rows[order]
