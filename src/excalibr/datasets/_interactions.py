"""Users' positives as sparse rows: from ratings, with the users that have too few of them left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._arrays import frozen, numbers, spans, starts_of
from excalibr._messages import Message, Option
from excalibr._sparse import SparseRows, build_rows, freeze_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, explain, unknown_name

__all__ = ["Interactions", "positives"]

Values: TypeAlias = Literal["ones", "ratings", "timestamps"]


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Who liked what, how much and when: a row for each user, items of a row in the order of their index.

    Attributes
    ----------
    user_ids
        (users,) the outside world's ids, rising; row i is user ``user_ids[i]``.
    item_ids
        (items,) the same for columns.
    indptr
        (users + 1,) row i holds entries ``indptr[i]`` to ``indptr[i + 1]`` of the following.
    items
        (entries,) columns.
    ratings, timestamps
        (entries,)

    Examples
    --------
    Two users, each with two of three items:

    >>> liked = positives([7, 7, 9, 9], [1, 2, 2, 3], [5, 4, 4, 5], minimum=2)
    >>> liked.item_ids.tolist(), liked.matrix.toarray().tolist()
    ([1, 2, 3], [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    """

    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    indptr: Integers
    items: Integers
    ratings: Floats
    timestamps: Integers

    def __post_init__(self) -> None:
        for array in (self.user_ids, self.item_ids, self.indptr, self.items, self.ratings, self.timestamps):
            frozen(array)

    @cached_property
    def matrix(self) -> SparseRows:
        """(users, items) sparse, 1 for each entry."""
        return self.values("ones")

    def values(self, which: Values) -> SparseRows:
        """(users, items) sparse, of ones, ratings or timestamps; what :mod:`excalibr.targets` weighs histories by."""
        if which not in ("ones", "ratings", "timestamps"):
            raise unknown_name("which", which, ["ones", "ratings", "timestamps"])
        data = np.ones(len(self.items)) if which == "ones" else np.array(getattr(self, which), dtype=np.float64)
        return freeze_rows(build_rows(data, self.items.copy(), self.indptr.copy(), len(self.item_ids)))

    @property
    def counts(self) -> Integers:
        """(items,) how many users have each item; what popularity is made from."""
        return np.bincount(self.items, minlength=len(self.item_ids)).astype(np.int64)

    def of_users(self, rows: ArrayLike) -> Interactions:
        """Some of the users, in the order given; every item stays."""
        chosen = np.asarray(rows, dtype=np.int64)
        sizes = np.diff(self.indptr)[chosen]
        return self._take(self.user_ids[chosen], starts_of(sizes), spans(self.indptr[chosen], sizes))

    def where(self, kept: Booleans) -> Interactions:
        """Some of the entries; every user and item stays."""
        owners = np.repeat(np.arange(len(self.user_ids)), np.diff(self.indptr))
        sizes = np.bincount(owners[kept], minlength=len(self.user_ids))
        return self._take(self.user_ids.copy(), starts_of(sizes), np.flatnonzero(kept))

    def _take(self, user_ids: NDArray[Any], indptr: Integers, entries: Integers) -> Interactions:
        parts = (self.items[entries], self.ratings[entries], self.timestamps[entries])
        return Interactions(user_ids, self.item_ids, indptr, *parts)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Interactions({len(self.user_ids):,} users, {len(self.item_ids):,} items, {len(self):,} entries)"


def positives(
    user_ids: ArrayLike,
    item_ids: ArrayLike,
    ratings: ArrayLike,
    timestamps: ArrayLike | None = None,
    *,
    above: float = 3.5,
    minimum: int = 5,
) -> Interactions:
    """The ratings above a threshold, of the users that have enough of them.

    Items are those that are left with at least one positive. The order of the rows given does not matter.

    Parameters
    ----------
    user_ids, item_ids, ratings, timestamps
        (ratings,) each; no pair of user and item twice. Without timestamps they are 0.
    above
        A rating is positive if it is greater than this.
    minimum
        Users with fewer positives are dropped.

    Examples
    --------
    >>> positives([7, 7, 7, 9], [1, 2, 3, 1], [5, 4, 3, 5], minimum=2)
    Interactions(1 users, 2 items, 2 entries)
    """
    users, items = np.asarray(user_ids), np.asarray(item_ids)
    values = numbers("ratings", ratings)
    times = np.zeros(len(values), dtype=np.int64) if timestamps is None else np.asarray(timestamps).astype(np.int64)
    _check_lengths(users, items, values, times)
    liked = np.flatnonzero(values > above)
    names, rows, sizes = np.unique(users[liked], return_inverse=True, return_counts=True)
    enough = sizes >= minimum
    liked, rows = liked[enough[rows]], (np.cumsum(enough) - 1)[rows[enough[rows]]]
    item_names, columns = np.unique(items[liked], return_inverse=True)
    order = np.lexsort((columns, rows))
    _check_pairs(rows[order], columns[order], names[enough], item_names)
    entries = liked[order]
    parts = (columns[order].astype(np.int64), values[entries], times[entries])
    return Interactions(names[enough], item_names, starts_of(sizes[enough]), *parts)


def _check_lengths(*arrays: NDArray[Any]) -> None:
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        found = f"have shapes {', '.join(str(array.shape) for array in arrays)}"
        raise InputError(explain("user_ids, item_ids, ratings and timestamps", found, "all have shape (ratings,)"))


def _check_pairs(rows: Integers, columns: Integers, users: NDArray[Any], items: NDArray[Any]) -> None:
    """Refuse a pair that comes twice, and data of which nothing is left."""
    if not len(rows):
        hint = Message("is the scale another one? Pass ", Option("above", ...), " and ", Option("minimum", ...), ".")
        raise InputError(explain("ratings", "leave no user", "leave at least one with enough positives", hint))
    twice = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    if twice.any():
        at = int(np.argmax(twice))
        found = f"have user {users[rows[at]]} and item {items[columns[at]]} twice"
        raise InputError(explain("ratings", found, "have each pair once", "keep the latest of each."))
