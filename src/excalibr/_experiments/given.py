"""Candidates and scores of a model of one's own, instead of EASE, and what its users are judged by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from excalibr._arrays import run_starts
from excalibr._experiments.own_tables import OwnTable
from excalibr._types import Booleans, Floats, Integers
from excalibr.datasets import Interactions
from excalibr.errors import InputError, explain
from excalibr.models._ranking import TopItems
from excalibr.tables._arrow import pa
from excalibr.tables._ids import read_ids

__all__ = ["GivenScores", "read_given"]


@dataclass(frozen=True, slots=True, eq=False)
class GivenScores:
    """Candidates of users, with what these liked before and what they are judged by.

    Attributes
    ----------
    starts
        (users + 1,) user u has entries ``starts[u]`` to ``starts[u + 1]`` of the following.
    items, scores
        (entries,) candidates, best first.
    history, held_out
        Of the same users in the same order.
    left_out
        What was left out of the tables, and how much of it.
    """

    starts: Integers
    items: Integers
    scores: Floats
    history: Interactions
    held_out: Interactions
    left_out: tuple[str, ...]

    @property
    def sizes(self) -> Integers:
        """(users,) how many candidates each has."""
        return np.diff(self.starts)

    def with_enough(self, n: int) -> Integers:
        """Rows of the users with at least so many candidates."""
        return np.flatnonzero(self.sizes >= n)

    def top(self, users: Integers, n: int) -> TopItems:
        """The best n candidates of some users that have so many."""
        places = self.starts[users][:, None] + np.arange(n)
        return TopItems(self.items[places], self.scores[places])


def read_given(scores: OwnTable, judged: OwnTable, liked: Interactions) -> GivenScores:
    """For the users that have scores, a history and something held out."""
    users_known, items_known = (read_ids(pa.array(ids.tolist())) for ids in (liked.user_ids, liked.item_ids))
    users, items = scores.codes("user", users_known, "the ratings"), scores.codes("item", items_known, "the ratings")
    values = scores.numbers("score")
    whole = np.asarray(scores.ids("user").is_valid()) & np.asarray(scores.ids("item").is_valid()) & np.isfinite(values)
    inside = whole & (users >= 0) & (items >= 0)
    best = _best(users, items, values, inside)
    twice = int(inside.sum()) - len(best)
    hidden = [
        judged.codes(role, known, "the ratings") for role, known in (("user", users_known), ("item", items_known))
    ]
    usable = (hidden[0] >= 0) & (hidden[1] >= 0)
    wanted = np.unique(np.stack([codes[usable] for codes in hidden]), axis=1)
    rows = np.intersect1d(users[best], wanted[0])
    if not len(rows):
        raise InputError(explain(str(scores.path), "has no user with ratings and held-out items", "have one"))
    best = best[np.isin(users[best], rows)]
    wanted = wanted[:, np.isin(wanted[0], rows)]
    history = liked.of_users(rows)
    zeros = np.zeros(wanted.shape[1], dtype=np.int64)
    held_out = Interactions(
        history.user_ids.copy(), liked.item_ids, _starts(wanted[0], rows), wanted[1], np.ones(len(zeros)), zeros
    )
    left_out = tuple(_left_out(scores, judged, whole, inside, usable, twice))
    return GivenScores(_starts(users[best], rows), items[best], values[best], history, held_out, left_out)


def _best(users: Integers, items: Integers, scores: Floats, kept: Booleans) -> Integers:
    """Rows by user, best score first; of several of a user and an item the best."""
    rows = np.flatnonzero(kept)
    by_item = rows[np.lexsort((-scores[rows], items[rows], users[rows]))]
    rows = by_item[run_starts(users[by_item], items[by_item])]
    return rows[np.lexsort((items[rows], -scores[rows], users[rows]))]


def _starts(owners: Integers, users: Integers) -> Integers:
    """Where each user's entries start among entries that are in the order of users."""
    return np.append(np.searchsorted(owners, users), len(owners))


def _left_out(
    scores: OwnTable, judged: OwnTable, whole: Booleans, inside: Booleans, usable: Booleans, twice: int
) -> Iterator[str]:
    counts = {
        f"rows of {scores.path.name} without a user, an item or a finite score": int((~whole).sum()),
        f"rows of {scores.path.name} of users or items that no positive is known of": int((whole & ~inside).sum()),
        f"rows of {scores.path.name} of a user and an item with a better one": twice,
        f"rows of {judged.path.name} of users or items that no positive is known of": int((~usable).sum()),
    }
    yield from (f"left out: {count:,} {what}" for what, count in counts.items() if count)
