"""What an experiment is run on: MovieLens, or a ratings table and an items table of one's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import numbers
from excalibr.datasets import (
    Attribute,
    Interactions,
    decade,
    from_column,
    genre,
    load_movielens,
    popularity,
    positives,
)
from excalibr.errors import InputError, explain
from excalibr.tables import ItemArrays, Note, Tables, items_text, read_items, review_items
from excalibr.tables._columns import usual_columns
from excalibr.tables._files import ENDINGS, dialect_of, kind_of, read_table
from excalibr.tables._frames import missing_column
from excalibr.tables._options import GUESS

__all__ = ["Columns", "Source", "movielens_source", "table_source"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Positives of users, and the attributes of their items.

    Attributes
    ----------
    name
        What the data set is called in titles.
    liked
        Who liked what.
    facts
        What to print of it, by name.
    attributes
        From how often each item is liked by the training users, (items,), to the attributes: popularity needs it.
    understood, notes
        What the tables were understood to hold, in a line, and what looks wrong about them.
    """

    name: str
    liked: Interactions
    facts: dict[str, str]
    attributes: Callable[[NDArray[np.int64]], list[Attribute]]
    understood: str = ""
    notes: tuple[Note, ...] = ()

    def fingerprint(self) -> str:
        """What tells two data sets apart, whatever they are called."""
        digest = hashlib.sha256()
        for ids in (self.liked.user_ids, self.liked.item_ids):
            digest.update(json.dumps(list(map(str, ids.tolist()))).encode())
        for array in (self.liked.indptr, self.liked.items, self.liked.ratings):
            digest.update(np.ascontiguousarray(array).tobytes())
        for attribute in self.attributes(self.liked.counts):
            digest.update(json.dumps([attribute.name, *attribute.categories]).encode())
            for numbers_of in (attribute.matrix.indptr, attribute.matrix.indices):
                digest.update(numbers_of.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of one's own tables are called.

    Attributes
    ----------
    categories
        Columns of the items table, an attribute each.
    user, item, rating
        Where a table has no such column, the only one with a usual name, such as ``userId``, is taken.
        ``rating`` is empty where the table has no ratings and every row is a positive.
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


def movielens_source(path: Path, *, complete: bool = True, **limits: float) -> Source:
    """The paper's attributes of a MovieLens zip or folder: genre, decade and popularity.

    ``max_bytes`` and ``max_ratio`` are those of :func:`excalibr.datasets.load_movielens`.
    """
    loaded = load_movielens(path, complete=complete, **limits)  # type: ignore[arg-type]
    liked = loaded.positives()
    items = loaded.items.of(liked.item_ids)
    counts = loaded.counts
    genres = genre(items.genres)
    facts = {
        "ratings": f"{counts.ratings:,}",
        "users who rated": f"{counts.users:,}",
        "movies": f"{counts.items:,}",
        **_facts(liked),
        "genres a movie, mean": f"{genres.matrix.nnz / len(items):.2f}",
    }
    others = [genres, decade(items.years)]
    return Source(loaded.name, liked, facts, lambda seen: [*others, popularity(seen)])


def table_source(
    ratings: Path, items: Path, columns: Columns, *, above: float = 3.5, minimum: int = 5, name: str | None = None
) -> Source:
    """The category columns of an items table as attributes, and popularity; tables are CSV, Parquet or Arrow."""
    _check_names(columns.categories)
    roles = ("user", "item", *(("rating",) if columns.rating else ()))
    rated_table, asked = _table(ratings), {role: getattr(columns, role) for role in roles}
    users, rated, *values = _arrays(rated_table, ratings, asked)
    own = {"items_item": columns.items_item} if columns.items_item else {"item": columns.item}
    table, wanted = _table(items), own | {f"categories {each}": each for each in columns.categories}
    ids, *labels = _arrays(table, items, wanted)
    stars = numbers(columns.rating, values[0]) if values else np.full(len(users), np.inf)
    liked = positives(users, rated, stars, above=above, minimum=minimum)
    rows = _rows_of(liked.item_ids, ids, items)
    known = _items(table, _names(table, items, wanted)[0], columns)
    attributes = [
        from_column(column.name, values[rows].tolist(), separator=column.separator)
        for column, values in zip(known.columns, labels, strict=True)
    ]
    facts = {"ratings": f"{len(users):,}", "items": f"{len(ids):,}", **_facts(liked)}
    said = [*_said(rated_table, ratings, asked), *_said(table, items, wanted)]
    understood = "; ".join([items_text(known.columns), f"{len(liked.user_ids):,} users", *said])
    made = (name or ratings.stem, liked, facts, lambda seen: [*attributes, popularity(seen)])
    return Source(*made, understood, tuple(review_items(known)))


def _items(table: Any, item: str, columns: Columns) -> ItemArrays:
    """The items as :class:`excalibr.Reranker` reads them: which columns are split, and where."""
    asked = Tables(targets={}, item_id=item, category=list(columns.categories), separator=columns.separator)
    return read_items(table.select([item, *columns.categories]), asked)


def _check_names(categories: Sequence[str]) -> None:
    """Attributes are told apart by their names, and popularity comes with every data set."""
    for place, name in enumerate(categories):
        if name == "popularity" or name in categories[:place]:
            found = f"name {name!r}" + (" twice" if name in categories[:place] else ", which comes by itself")
            raise InputError(explain("categories", found, "be different columns", "rename the column."))


def _facts(liked: Interactions) -> dict[str, str]:
    top = np.sort(liked.counts)[::-1][: max(1, round(0.05 * len(liked.item_ids)))]
    return {
        "positives of users with enough of them": f"{len(liked):,}",
        "their users": f"{len(liked.user_ids):,}",
        "their items": f"{len(liked.item_ids):,}",
        "positives a user, mean": f"{len(liked) / len(liked.user_ids):.1f}",
        "share of positives on the top 5 % of items": f"{top.sum() / len(liked):.1%}",
    }


def _table(path: Path) -> Any:
    if not path.is_file():
        raise InputError(explain(str(path), "does not exist", f"be a file that ends in one of {ENDINGS}"))
    table = read_table(path)
    if not table.num_rows:
        raise InputError(explain(str(path), "has no rows", "have at least one"))
    return table


def _arrays(table: Any, path: Path, wanted: Mapping[str, str]) -> list[NDArray[Any]]:
    """Columns of a table, by option and name, as arrays; categories that a row lacks are None."""
    names = _names(table, path, wanted)
    for option, name in zip(wanted, names, strict=True):
        if table.column(name).null_count and not option.startswith("categories"):
            raise InputError(explain(str(path), f"lacks a value in column {name!r}", "have one in every row"))
    return [_array(table.column(name)) for name in names]


def _names(table: Any, path: Path, wanted: Mapping[str, str]) -> list[str]:
    """The column for each option: the one that was named, or the only one with a usual name."""
    found = []
    for option, name in wanted.items():
        keyword = option.partition(" ")[0]
        usual = usual_columns(_ROLES.get(keyword, ""), table.column_names)
        if name not in table.column_names and (name != _DEFAULTS.get(keyword) or len(usual) != 1):
            nearest = usual[0] if usual else ""
            raise InputError(missing_column(name, str(path), table.column_names, keyword, nearest))
        found.append(name if name in table.column_names else usual[0])
    return found


def _said(table: Any, path: Path, wanted: Mapping[str, str]) -> list[str]:
    """What to say of a file: columns that nobody named, delimiters that are not commas."""
    pairs = zip(wanted.values(), _names(table, path, wanted), strict=True)
    taken = [f"`{name}` of {path.name} is taken as {asked}" for asked, name in pairs if name != asked]
    between = dialect_of(path).text if kind_of(path) == "csv" else ""
    return [*taken, *([f"{path.name} has {between}"] if between else [])]


_ROLES = {"user": "user_id", "item": "item_id", "items_item": "item_id", "rating": "rating"}
_DEFAULTS = {"user": "user_id", "item": "item_id", "rating": "rating"}


def _array(column: Any) -> NDArray[Any]:
    values = column.to_pylist()
    if column.null_count or isinstance(values[0], (str, list)):
        return np.array([*values, None], dtype=np.object_)[:-1]  # None keeps numpy from guessing
    return np.asarray(column.to_numpy())


def _rows_of(wanted: NDArray[Any], ids: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """Where each item that is liked stands in the items table."""
    places = {item: place for place, item in enumerate(ids.tolist())}
    if len(places) < len(ids):
        raise InputError(explain(str(path), "has an item twice", "have each item once"))
    missing = [item for item in wanted.tolist() if item not in places]
    if missing:
        found = f"lacks {len(missing)} of the rated items, such as {missing[0]!r}"
        raise InputError(explain(str(path), found, "have every item that somebody likes"))
    return np.array([places[item] for item in wanted.tolist()], dtype=np.int64)
