"""Tables of one's own: which column is which, all complaints at once, and rows of no use, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import numbers, run_starts
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, explain
from excalibr.tables._arrow import pa
from excalibr.tables._columns import usual_columns
from excalibr.tables._files import ENDINGS, dialect_of, kind_of, read_table
from excalibr.tables._frames import missing_column, together
from excalibr.tables._ids import codes_in, encode, matched, read_ids
from excalibr.tables._options import GUESS

__all__ = ["Columns", "KnownItems", "OwnTable", "Rated", "open_tables", "roles_of_items", "roles_of_ratings"]

PLAYS = ("plays", "playcount", "count", "listens", "listencount", "views", "clicks")
"""Columns of ratings with such names count something: any count is a positive."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of one's own tables are called.

    Attributes
    ----------
    categories
        Columns of the items table, an attribute each.
    user, item, rating, timestamp
        Where a table has no such column, the only one with a usual name, such as ``userId`` or ``plays``, is taken.
        ``rating`` is empty where the table has no ratings and every row is a positive. ``timestamp`` is used by a
        split by time, and to keep the latest of several rows of a user and an item; it may be missing.
    separator
        What stands between several labels in one text; "auto" is what the labels show, as for
        :meth:`excalibr.Reranker.rerank`; "none" or empty keeps them whole.
    items_item
        The column with the item in the items table, where it is called otherwise than in the ratings.
    """

    categories: tuple[str, ...]
    user: str = "user_id"
    item: str = "item_id"
    rating: str = "rating"
    separator: str = GUESS
    items_item: str | None = None
    timestamp: str = "timestamp"


Roles = Mapping[str, str]
"""What a column is for, as the option that names it, and the name that was given for it."""

_DEFAULTS = {"user": "user_id", "item": "item_id", "rating": "rating", "score": "score", "timestamp": "timestamp"}
_ROLES = _DEFAULTS | {"items_item": "item_id"}  # as the tables' room calls them
_OPTIONAL = "timestamp"


def roles_of_ratings(columns: Columns) -> dict[str, str]:
    """What a table of ratings must have, and the moment, which it may have."""
    wanted = ("user", "item", *(("rating",) if columns.rating else ()), _OPTIONAL)
    return {role: getattr(columns, role) for role in wanted}


def roles_of_items(columns: Columns) -> dict[str, str]:
    """What a table of items must have."""
    own = {"items_item": columns.items_item} if columns.items_item else {"item": columns.item}
    return own | {f"categories {each}": each for each in columns.categories}


@dataclass(frozen=True, slots=True, eq=False)
class OwnTable:
    """A file, and the column that each role has in it."""

    path: Path
    table: Any
    asked: Roles
    found: dict[str, str]

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

    def labels(self, role: str) -> NDArray[Any]:
        """The column of a role as Python values: texts, lists of them, numbers."""
        values = self.table.column(self.found[role]).to_pylist()
        return np.array([*values, None], dtype=np.object_)[:-1]  # None keeps numpy from guessing

    def said(self) -> list[str]:
        """What to say of it: columns that nobody named, delimiters that are not commas."""
        taken = [
            f"`{name}` of {self.path.name} is taken as {self.asked[role]}"
            for role, name in self.found.items()
            if name != self.asked[role]
        ]
        between = dialect_of(self.path).text if kind_of(self.path) == "csv" else ""
        return [*taken, *([f"{self.path.name} has {between}"] if between else [])]


def open_tables(wanted: Iterable[tuple[Path, Roles]]) -> list[OwnTable]:
    """Read the files, and find every column; what is wrong with any of them is said together."""
    opened, complaints = [], []
    for path, roles in wanted:
        try:
            table = _read(path)
        except InputError as error:
            complaints.append(error)
            continue
        found = {role: _column(table.column_names, role, name) for role, name in roles.items()}
        opened.append(OwnTable(path, table, roles, {role: name for role, name in found.items() if name is not None}))
        complaints += [
            _missing(table.column_names, path, role, roles[role])
            for role, name in found.items()
            if name is None and role != _OPTIONAL
        ]
    if complaints:
        raise together(complaints, "the tables")
    return opened


def _read(path: Path) -> Any:
    if not path.is_file():
        raise InputError(explain(str(path), "does not exist", f"be a file that ends in one of {ENDINGS}"))
    table = read_table(path)
    if not table.num_rows:
        raise InputError(explain(str(path), "has no rows", "have at least one"))
    return table


def _column(names: list[str], role: str, asked: str) -> str | None:
    """The column that was named; or, where nobody named one, the only one with a usual name."""
    if asked in names:
        return asked
    usual = _usual(names, role)
    return usual[0] if asked == _DEFAULTS.get(role) and len(usual) == 1 else None


def _usual(names: list[str], role: str) -> list[str]:
    usual = usual_columns(_ROLES.get(role.partition(" ")[0], ""), names)
    return usual or [name for name in names if role == "rating" and _plain(name) in PLAYS]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _missing(names: list[str], path: Path, role: str, asked: str) -> InputError:
    usual = _usual(names, role)
    return InputError(missing_column(asked, str(path), names, role.partition(" ")[0], usual[0] if usual else ""))


@dataclass(frozen=True, slots=True, eq=False)
class KnownItems:
    """The different items of an items table: their ids, rising, as Arrow has them, and the row of each.

    Of an item with several rows the first is taken. ``left_out`` says how many others there were.
    """

    ids: Any
    rows: Integers
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, items: OwnTable) -> KnownItems:
        """From its column of ids."""
        ids, codes = encode(items.ids("items_item" if "items_item" in items.found else "item"))
        places, first = np.unique(codes, return_index=True)
        rows = first[places >= 0]
        left = len(codes) - len(rows)
        said = f"left out: {left:,} rows of the items, without an id or with one that came before"
        return cls(ids, rows, (said,) if left else ())


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """The rows of a table of ratings that something can be done with.

    Attributes
    ----------
    users, items
        (ratings,) places in ``user_ids`` and among the catalogue's ids.
    stars, times
        (ratings,) infinite where there are no ratings; of the times only the order counts, 0 is unknown.
    user_ids
        Rising, as Arrow has them.
    rows
        How many there were.
    counts_plays
        Whether the ratings count something.
    left_out
        What was left out, and how much of it.
    """

    users: Integers
    items: Integers
    stars: Floats
    times: Integers
    user_ids: Any
    rows: int
    counts_plays: bool
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, rated: OwnTable, catalogue: KnownItems) -> Rated:
        """From a table with a role for each column."""
        user_ids, users = encode(rated.ids("user"))
        items = rated.codes("item", catalogue.ids, "the items table")
        stars = rated.numbers("rating") if "rating" in rated.found else np.full(len(users), np.inf)
        times = encode(rated.ids(_OPTIONAL))[1] + 1 if _OPTIONAL in rated.found else np.zeros(len(users), np.int64)
        item_ids = rated.ids("item")
        whole = (users >= 0) & np.asarray(item_ids.is_valid()) & ~np.isnan(stars)
        inside = whole & (items >= 0)
        kept = _latest(users, items, times, inside)
        unknown = len(item_ids.filter(pa.array(whole & ~inside)).unique())
        left_out = {
            "rows without a user, an item or a rating": int((~whole).sum()),
            f"rows of {unknown:,} items that are not in the items table": int((whole & ~inside).sum()),
            "earlier rows of a user and an item": int(inside.sum()) - len(kept),
        }
        dropped = tuple(f"left out: {count:,} {what}" for what, count in left_out.items() if count)
        plays = "rating" in rated.found and _plain(rated.found["rating"]) in PLAYS
        return cls(users[kept], items[kept], stars[kept], times[kept], user_ids, len(users), plays, dropped)


def _latest(users: Integers, items: Integers, times: Integers, kept: Booleans) -> Integers:
    """Rows with the latest of each user and item, in their order."""
    rows = np.flatnonzero(kept)
    order = rows[np.lexsort((rows, times[rows], items[rows], users[rows]))]
    newest_first = order[::-1]
    return np.sort(newest_first[run_starts(users[newest_first], items[newest_first])])
