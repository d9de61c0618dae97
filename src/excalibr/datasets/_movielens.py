"""MovieLens 1M, 10M, 20M, 25M, 32M and latest-small as numpy arrays, from the official zip or a folder, checked.

GroupLens asks to cite Harper and Konstan (2015), "The MovieLens Datasets", and not to redistribute the data.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._arrays import frozen
from excalibr._messages import Message, Option
from excalibr._options import real_number, whole_number
from excalibr._types import Integers
from excalibr.datasets._archives import MAX_BYTES, MAX_RATIO, read_tables
from excalibr.datasets._interactions import Interactions, positives
from excalibr.errors import InputError

_YEAR = re.compile(r"\((\d{4})(?:\s*[-–]\s*(?:\d{4})?\s*)?\)\s*$")  # "(1995)", and of series "(2009–2012)", "(2009– )"
_FOLDERS = {"ml-10M100K": "ml-10m"}  # where the folder in the zip is not called as the zip is


@dataclass(frozen=True, slots=True)
class Counts:
    """How many ratings, users with a rating, and items (rated or not) a set has."""

    ratings: int
    users: int
    items: int

    def __str__(self) -> str:
        return f"{self.ratings:,} ratings, {self.users:,} users and {self.items:,} items"


OFFICIAL = {
    "ml-1m": Counts(1_000_209, 6_040, 3_883),
    "ml-10m": Counts(10_000_054, 69_878, 10_681),
    "ml-20m": Counts(20_000_263, 138_493, 27_278),
    "ml-25m": Counts(25_000_095, 162_541, 62_423),
    "ml-32m": Counts(32_000_204, 200_948, 87_585),
    "ml-latest-small": Counts(100_836, 610, 9_742),
}


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Four arrays of shape (ratings,): who rated what, how (0.5 to 5 stars) and when (Unix seconds)."""

    user_ids: NDArray[np.int32]
    item_ids: NDArray[np.int32]
    values: NDArray[np.float32]
    timestamps: Integers

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The catalogue, by rising id: ``ids``, ``titles``, ``genres`` (labels separated by ``|``), ``years`` (0: none)."""

    ids: NDArray[np.int32]
    titles: NDArray[np.object_]
    genres: NDArray[np.object_]
    years: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, item_ids: ArrayLike) -> Items:
        """The items with these ids, in the order given; what the columns of :class:`Interactions` are called."""
        wanted = np.asarray(item_ids)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        unknown = self.ids[at] != wanted
        if unknown.any():
            raise InputError("item_ids", f"contain {wanted[unknown][0]}", "be ids of the catalogue")
        return Items(self.ids[at], self.titles[at], self.genres[at], self.years[at])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MovieLens:
    """A set with its name ("ml-1m", or the folder's), its ratings and its items."""

    name: str
    ratings: Ratings
    items: Items

    @property
    def counts(self) -> Counts:
        """Its size."""
        return Counts(len(self.ratings), len(np.unique(self.ratings.user_ids)), len(self.items))

    def positives(self, *, above: float = 3.5, minimum: int = 5) -> Interactions:
        """Ratings above a threshold of the users with enough of them; see :func:`excalibr.datasets.positives`."""
        given = self.ratings
        return positives(given.user_ids, given.item_ids, given.values, given.timestamps, above=above, minimum=minimum)

    def __repr__(self) -> str:
        return f"MovieLens({self.name!r}: {self.counts})"


def load_movielens(
    path: str | os.PathLike[str], *, complete: bool = True, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO
) -> MovieLens:
    """Read a MovieLens set from the official zip, the folder it unpacks to, or a folder of Parquet files.

    Parameters
    ----------
    path
        The zip or the folder. Parquet folders hold ``ratings.parquet`` (user_id, item_id, rating, timestamp) and
        ``items.parquet`` (item_id, title, genres, and year if there is one).
    complete
        Whether a folder with the name of an official set must have exactly its number of ratings, users and items; pass
        False for a sample of one.
    max_bytes, max_ratio
        What the tables may unpack to at most, in bytes (4 GB) and as a multiple of the zip's size (100, where that is
        more than 10 MB).

    Returns
    -------
    MovieLens
        Ratings in the order of the file; items by rising id.

    Notes
    -----
    It needs the extra ``data``. Checked are: columns and types; nothing missing; ratings in steps of a half from 0.5
    to 5; no item twice in the catalogue, no pair of user and item twice; every rated item in the catalogue; the counts.
    """
    whole_number(1, or_none=False)("max_bytes", max_bytes)
    real_number("be a number above 0", lambda ratio: ratio > 0)("max_ratio", max_ratio)
    where = Path(path)
    folder, rating_table, item_table = read_tables(where, max_bytes, max_ratio)
    items = _items(item_table, where)
    made = MovieLens(_FOLDERS.get(folder, folder), _ratings(rating_table, items, where), items)
    if complete and made.name in OFFICIAL and made.counts != OFFICIAL[made.name]:
        hint = Message("get it again; or pass ", Option("complete", False), " if it is a sample on purpose.")
        raise InputError(str(where), f"has {made.counts}", f"have {OFFICIAL[made.name]} as {made.name} has", hint)
    return made


def year_of(title: str) -> int:
    """The year at the end of a MovieLens title, the first of a series; 0 where there is none."""
    found = _YEAR.search(title)
    return int(found[1]) if found else 0


def _items(table: Any, where: Path) -> Items:
    ids, titles, genres = (table.column(name).to_numpy() for name in ("item_id", "title", "genres"))
    order = np.argsort(ids, kind="stable")
    ids, titles, genres = ids[order], titles[order], genres[order]
    twice = np.diff(ids) == 0
    if twice.any():
        raise InputError(str(where), f"has item {ids[int(np.argmax(twice))]} twice among its items", "have it once")
    years = np.array([year_of(title) for title in titles], dtype=np.int32)
    if "year" in table.column_names:  # where it has none, the title may still have one
        given = table.column("year").fill_null(0).to_numpy()[order]
        years = np.where(given == 0, years, given)
    return Items(frozen(ids), frozen(titles), frozen(genres), frozen(years))


def _ratings(table: Any, items: Items, where: Path) -> Ratings:
    if not table.num_rows:
        raise InputError(str(where), "has no ratings", "have at least one")
    ratings = Ratings(*(frozen(np.array(column.to_numpy())) for column in table.columns))
    values = ratings.values
    fine = (values >= 0.5) & (values <= 5.0) & (values * 2 == np.floor(values * 2))
    _all_rows(fine, values, "rating", "be 0.5 to 5 in steps of a half", where)
    _all_rows(ratings.timestamps > 0, ratings.timestamps, "timestamp", "be Unix seconds, above 0", where)
    _all_rows(np.isin(ratings.item_ids, items.ids), ratings.item_ids, "item", "be one of the catalogue's", where)
    pairs = ratings.user_ids.astype(np.int64) << 32 | ratings.item_ids
    pairs.sort()
    twice = pairs[1:] == pairs[:-1]
    if twice.any():
        pair = int(pairs[int(np.argmax(twice))])
        found = f"has two ratings of item {pair & 0xFFFFFFFF} by user {pair >> 32}"
        raise InputError(str(where), found, "have one of each pair")
    return ratings


def _all_rows(fine: NDArray[np.bool_], values: NDArray[Any], what: str, must: str, where: Path) -> None:
    if not fine.all():
        at = int(np.argmin(fine))
        raise InputError(str(where), f"has the {what} {values[at]} in row {at} of its ratings", must)
