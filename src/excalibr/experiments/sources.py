"""What an experiment is run on: MovieLens, or a ratings table and an items table of one's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
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
from excalibr.errors import InputError, explain, missing_extra

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
    """

    name: str
    liked: Interactions
    facts: dict[str, str]
    attributes: Callable[[NDArray[np.int64]], list[Attribute]]

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
        Columns of the items table, an attribute each; several labels in one text stand between ``separator``.
    rating
        Empty where the table has no ratings and every row is a positive.
    """

    categories: tuple[str, ...]
    user: str = "user_id"
    item: str = "item_id"
    rating: str = "rating"
    separator: str = "|"


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
    """The category columns of an items table as attributes, and popularity; tables are CSV or Parquet."""
    _check_names(columns.categories)
    wanted = [columns.user, columns.item, *([columns.rating] if columns.rating else [])]
    users, rated, *values = _read(ratings, wanted)
    ids, *labels = _read(items, [columns.item, *columns.categories], may_lack=columns.categories)
    stars = numbers(columns.rating, values[0]) if values else np.full(len(users), np.inf)
    liked = positives(users, rated, stars, above=above, minimum=minimum)
    rows = _rows_of(liked.item_ids, ids, items)
    attributes = [
        from_column(category, column[rows].tolist(), separator=columns.separator or None)
        for category, column in zip(columns.categories, labels, strict=True)
    ]
    facts = {"ratings": f"{len(users):,}", "items": f"{len(ids):,}", **_facts(liked)}
    return Source(name or ratings.stem, liked, facts, lambda seen: [*attributes, popularity(seen)])


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


def _read(path: Path, columns: Sequence[str], may_lack: Sequence[str] = ()) -> list[NDArray[Any]]:
    """Columns of a CSV or Parquet file, as arrays; those that may lack a value have None there."""
    if not path.is_file():
        raise InputError(explain(str(path), "does not exist", "be a CSV or Parquet file"))
    try:
        if path.suffix in (".parquet", ".pq"):
            table = import_module("pyarrow.parquet").read_table(path)
        else:
            csv = import_module("pyarrow.csv")
            empty = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)  # and not "NA", which may be a label
            table = csv.read_csv(path, convert_options=empty)
    except ModuleNotFoundError:
        raise missing_extra("pyarrow", "data") from None
    except ValueError as error:  # what Arrow raises for a file that is not what its name says
        raise InputError(explain(str(path), f"cannot be read ({error})", "be a CSV or Parquet file")) from error
    for column in columns:
        if column not in table.column_names:
            hint = f"columns are {table.column_names}; name yours with the options that end in -column."
            raise InputError(explain(str(path), f"has no column {column!r}", "have it", hint))
        if table.column(column).null_count and column not in may_lack:
            raise InputError(explain(str(path), f"lacks a value in column {column!r}", "have one in every row"))
    if not table.num_rows:
        raise InputError(explain(str(path), "has no rows", "have at least one"))
    return [_array(table.column(column)) for column in columns]


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
