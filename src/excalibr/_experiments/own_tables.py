"""Tables of one's own: which column is which, all complaints at once, and rows of no use, counted.

From them come who liked what and, of a model of one's own, candidates and scores instead of EASE's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import numbers, run_starts
from excalibr._types import Booleans, Floats, Integers
from excalibr.datasets import Interactions, positives
from excalibr.errors import InputError
from excalibr.models import TopItems
from excalibr.tables._arrow import pa
from excalibr.tables._columns import usual_columns
from excalibr.tables._files import ENDINGS, dialect_of, kind_of, read_table
from excalibr.tables._frames import joined_error, missing_column
from excalibr.tables._ids import codes_in, encode, matched, read_ids
from excalibr.tables._options import GUESS

PLAYS = ("plays", "playcount", "count", "listens", "listencount", "views", "clicks")
"""Columns of ratings with such names count something: any count is a positive."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of one's own tables are called; for a name that was not given, the only usual one is taken."""

    categories: tuple[str, ...]  # of the items table, an attribute each
    user: str = "user_id"
    item: str = "item_id"
    rating: str = "rating"  # empty where every row is a positive
    separator: str = GUESS  # between labels in one text, by default as the labels show; "none" or empty: kept whole
    items_item: str | None = None  # the item in the items table, where it is called otherwise than in the ratings
    timestamp: str = "timestamp"  # for a split by time, and the latest of a user's rows of an item; may be missing


Roles = Sequence[tuple[str, str]]
"""What columns are for, as the options that name them, each with the name that was given for it."""

_DEFAULTS = {"user": "user_id", "item": "item_id", "rating": "rating", "score": "score", "timestamp": "timestamp"}
_ROLES = _DEFAULTS | {"items_item": "item_id"}  # as the tables' room calls them
_OPTIONAL = "timestamp"


@dataclass(frozen=True, slots=True, eq=False)
class OwnTable:
    """A file, the column that each role has in it, and what to tell of it.

    That is: columns that nobody named, delimiters that are not commas and, once it is read, rows of no use.
    """

    path: Path
    table: Any
    found: dict[str, str]
    remarks: list[str]

    @property
    def item_role(self) -> str:
        """The role of the column with the item."""
        return "items_item" if "items_item" in self.found else "item"

    @property
    def counts_plays(self) -> bool:
        """Whether its ratings count something."""
        return _plain(self.found.get("rating", "")) in PLAYS

    def ids(self, role: str) -> Any:
        """The column of a role as Arrow ids that can be compared and sorted."""
        name = self.found[role]
        return read_ids(self.table.column(name), f"column {name!r} of {self.path.name}")

    def codes(self, role: str, known: Any, where: str) -> Integers:
        """Each row's place among known ids, −1 where it has none; ids of another type are refused."""
        return codes_in(*matched(self.ids(role), known, self.found[role], (self.path.name, where)))

    def numbers(self, role: str) -> Floats:
        """The column of a role as numbers, nan where it is null."""
        column, name = self.table.column(self.found[role]), self.found[role]
        values = column.to_numpy()
        if values.dtype == np.object_:  # texts, or whole numbers that are no numbers of numpy's
            values = np.array([np.nan if value is None else value for value in column.to_pylist()], dtype=np.object_)
        return numbers(name, values)

    def catalogue(self) -> tuple[Any, Integers]:
        """The different ids of an items table, rising, as Arrow has them, and the row of each, of several the first."""
        ids, codes = encode(self.ids(self.item_role))
        places, first = np.unique(codes, return_index=True)
        rows = first[places >= 0]
        self.leave_out({"rows of the items, without an id or with one that came before": len(codes) - len(rows)})
        return ids, rows

    def leave_out(self, counts: Mapping[str, int]) -> None:
        """Remember how many rows are of no use, and why."""
        self.remarks.extend(f"left out: {count:,} {why}" for why, count in counts.items() if count)


def open_tables(
    ratings: Path, items: Path, scores: Path | None, held_out: Path | None, columns: Columns
) -> list[OwnTable]:
    """Read the files, and find every column; what is wrong with any of them is said together."""
    opened, complaints = [], []
    for path, roles in list(_roles(ratings, items, scores, held_out, columns)):  # its error comes before any other
        try:
            table = _read(path)
        except InputError as error:
            complaints.append(error)
            continue
        found, remarks = {}, []
        for role, asked in roles:
            usual = _usual(table.column_names, role)
            if asked in table.column_names:
                found[role] = asked
            elif asked == _DEFAULTS.get(role) and len(usual) == 1:  # nobody named one
                found[role] = usual[0]
                remarks.append(f"`{usual[0]}` of {path.name} is taken as {asked}")
            elif role != _OPTIONAL:
                likely = usual[0] if usual else ""
                complaints.append(InputError(missing_column(asked, str(path), table.column_names, role, likely)))
        if kind_of(path) == "csv" and (between := dialect_of(path).text):
            remarks.append(f"{path.name} has {between}")
        opened.append(OwnTable(path, table, found, remarks))
    if complaints:
        raise joined_error(complaints, "the tables")
    return opened


def _roles(
    ratings: Path, items: Path, scores: Path | None, held_out: Path | None, columns: Columns
) -> Iterator[tuple[Path, Roles]]:
    """What each table must have, and the moment, which the ratings may have; a model's two come together or not."""
    who = [("user", columns.user), ("item", columns.item)]
    stars = [("rating", columns.rating)] if columns.rating else []
    yield ratings, [*who, *stars, (_OPTIONAL, columns.timestamp)]
    item = ("items_item", columns.items_item) if columns.items_item else ("item", columns.item)
    yield items, [item, *(("categories", each) for each in columns.categories)]
    if (scores is None) != (held_out is None):
        missing, other = ("--held-out", "--scores") if held_out is None else ("--scores", "--held-out")
        hint = "the ratings are what the model knew; what its users are judged by comes in a table of its own."
        raise InputError(missing, "is missing", f"be given with {other}", hint)
    if scores is not None and held_out is not None:
        yield from ((scores, [*who, ("score", "score")]), (held_out, who))


def _read(path: Path) -> Any:
    if not path.is_file():
        raise InputError(str(path), "does not exist", f"be a file that ends in one of {ENDINGS}")
    table = read_table(path)
    if not table.num_rows:
        raise InputError(str(path), "has no rows", "have at least one")
    return table


def _usual(names: list[str], role: str) -> list[str]:
    usual = usual_columns(_ROLES.get(role, ""), names)
    return usual or [name for name in names if role == "rating" and _plain(name) in PLAYS]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def read_liked(rated: OwnTable, known: Any, *, above: float, minimum: int) -> Interactions:
    """Who liked what of known items: of a user and an item the latest row, by times of which only the order counts."""
    user_ids, users = encode(rated.ids("user"))
    items = rated.codes("item", known, "the items table")
    stars = rated.numbers("rating") if "rating" in rated.found else np.full(len(users), np.inf)
    times = encode(rated.ids(_OPTIONAL))[1] + 1 if _OPTIONAL in rated.found else np.zeros(len(users), np.int64)
    item_ids = rated.ids("item")
    whole = (users >= 0) & np.asarray(item_ids.is_valid()) & ~np.isnan(stars)
    inside = whole & (items >= 0)
    kept = np.sort(_first_of_each(users, items, inside, -times, -np.arange(len(users))))
    unknown = len(item_ids.filter(pa.array(whole & ~inside)).unique())
    rated.leave_out(
        {
            "rows without a user, an item or a rating": int((~whole).sum()),
            f"rows of {unknown:,} items that are not in the items table": int((whole & ~inside).sum()),
            "earlier rows of a user and an item": int(inside.sum()) - len(kept),
        }
    )
    if untimed := int((times[kept] == 0).sum()) if _OPTIONAL in rated.found else 0:
        rated.remarks.append(f"{untimed:,} rows without a time count as a user's earliest")
    found = positives(users[kept], items[kept], stars[kept], times[kept], above=above, minimum=minimum)
    return replace(found, user_ids=_outside(user_ids, found.user_ids), item_ids=_outside(known, found.item_ids))


def _first_of_each(users: Integers, items: Integers, kept: Booleans, *order: NDArray[Any]) -> Integers:
    """Of the rows that are kept the first of each user and item, where the rows of these stand in an order."""
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((*(key[rows] for key in reversed(order)), items[rows], users[rows]))]
    return rows[run_starts(users[rows], items[rows])]


def _outside(ids: Any, places: NDArray[Any]) -> NDArray[Any]:
    """The outside world's ids at some places."""
    found = ids.take(places)
    return np.array(found.to_pylist(), dtype=np.str_) if found.type == "large_string" else np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class GivenScores:
    """Candidates of users, best first, with what these liked before and what they are judged by."""

    starts: Integers  # (users + 1,) user u has entries starts[u] to starts[u + 1] of the following
    items: Integers  # (entries,)
    scores: Floats  # (entries,)
    history: Interactions  # of the same users in the same order
    held_out: Interactions  # the same

    @property
    def sizes(self) -> Integers:
        """(users,) how many candidates each has."""
        return np.diff(self.starts)

    def top(self, users: Integers, n: int) -> TopItems:
        """The best n candidates of some users that have so many."""
        places = self.starts[users][:, None] + np.arange(n)
        return TopItems(self.items[places], self.scores[places])


def read_given(scores: OwnTable, judged: OwnTable, liked: Interactions) -> GivenScores:
    """For the users that have scores, a history and something held out; of a user and an item the best score."""
    known = {"user": read_ids(pa.array(liked.user_ids.tolist())), "item": read_ids(pa.array(liked.item_ids.tolist()))}
    users, items = (scores.codes(role, ids, "the ratings") for role, ids in known.items())
    hidden = np.stack([judged.codes(role, ids, "the ratings") for role, ids in known.items()])
    values = scores.numbers("score")
    whole = np.asarray(scores.ids("user").is_valid()) & np.asarray(scores.ids("item").is_valid()) & np.isfinite(values)
    inside, usable = whole & (users >= 0) & (items >= 0), (hidden >= 0).all(axis=0)
    best = _first_of_each(users, items, inside, -values)
    name, unknown = scores.path.name, "of users or items that no positive is known of"
    scores.leave_out(
        {
            f"rows of {name} without a user, an item or a finite score": int((~whole).sum()),
            f"rows of {name} {unknown}": int((whole & ~inside).sum()),
            f"rows of {name} of a user and an item with a better one": int(inside.sum()) - len(best),
        }
    )
    judged.leave_out({f"rows of {judged.path.name} {unknown}": int((~usable).sum())})
    wanted = np.unique(hidden[:, usable], axis=1)
    rows = np.intersect1d(users[best], wanted[0])
    if not len(rows):
        raise InputError(str(scores.path), "has no user with ratings and held-out items", "have one")
    best = best[np.isin(users[best], rows)]
    best = best[np.lexsort((items[best], -values[best], users[best]))]
    owners, wanted_items = wanted[:, np.isin(wanted[0], rows)]
    if both := int(liked.matrix[owners, wanted_items].sum()):
        judged.remarks.append(f"{both:,} items of {judged.path.name} are in their users' ratings: the model knew them")
    history, none = liked.of_users(rows), np.zeros(len(owners), dtype=np.int64)
    of_users = (history.user_ids.copy(), liked.item_ids, _starts(owners, rows))
    held_out = Interactions(*of_users, wanted_items, np.ones(len(owners)), none)
    return GivenScores(_starts(users[best], rows), items[best], values[best], history, held_out)


def _starts(owners: Integers, users: Integers) -> Integers:
    """Where each user's entries start among entries that are in the order of users."""
    return np.append(np.searchsorted(owners, users), len(owners))
