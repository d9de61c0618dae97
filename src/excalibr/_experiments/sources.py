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
from excalibr._types import Booleans, Floats, Integers
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

__all__ = ["Columns", "GivenScores", "Source", "movielens_source", "table_source"]


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
    given
        Candidates of a model of one's own, where EASE is not to be fitted.
    """

    name: str
    liked: Interactions
    facts: dict[str, str]
    attributes: Callable[[NDArray[np.int64]], list[Attribute]]
    understood: str = ""
    notes: tuple[Note, ...] = ()
    given: GivenScores | None = None

    def fingerprint(self) -> str:
        """What tells two data sets apart, whatever they are called."""
        digest = hashlib.sha256()
        for ids in (self.liked.user_ids, self.liked.item_ids):
            digest.update(json.dumps(list(map(str, ids.tolist()))).encode())
        for array in (self.liked.indptr, self.liked.items, self.liked.ratings):
            digest.update(np.ascontiguousarray(array).tobytes())
        if self.given is not None:
            digest.update(self.given.scores.tobytes() + self.given.items.tobytes())
        for attribute in self.attributes(self.liked.counts):
            digest.update(json.dumps([attribute.name, *attribute.categories]).encode())
            for numbers_of in (attribute.matrix.indptr, attribute.matrix.indices):
                digest.update(numbers_of.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class GivenScores:
    """Candidates and scores, best first, (users, n) each; what users liked before, and what they are judged by."""

    items: Integers
    scores: Floats
    history: Interactions
    held_out: Interactions


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
    timestamp
        Used by a split by time, and to keep the latest of several rows of a user and an item; may be missing.
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


def movielens_source(path: Path, *, complete: bool = True, min_item_count: int = 1, **limits: float) -> Source:
    """The paper's attributes of a MovieLens zip or folder: genre, decade and popularity.

    ``max_bytes`` and ``max_ratio`` are those of :func:`excalibr.datasets.load_movielens`.
    """
    loaded = load_movielens(path, complete=complete, **limits)  # type: ignore[arg-type]
    liked, _ = _often_liked(loaded.positives(), min_item_count)
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
    ratings: Path,
    items: Path,
    columns: Columns,
    *,
    scores: Path | None = None,
    held_out: Path | None = None,
    above: float | None = None,
    minimum: int = 5,
    min_item_count: int = 1,
    name: str | None = None,
) -> Source:
    """The category columns of an items table as attributes, and popularity; tables are CSV, Parquet or Arrow.

    ``scores`` has candidates with the scores of a model of one's own, for the users that are re-ranked, and
    ``held_out`` what those are judged by; the ratings are then what the model knew.

    ``above`` is by default 3.5, or 0 where the rating's column counts plays. Rows without a user, an item or a rating,
    rows of items that the items table lacks, and all but the latest row of a user and an item are left out and counted.
    """
    _check_names(columns.categories)
    rated_table, table, wanted = _table(ratings), _table(items), _wanted_of_items(columns)
    _names(rated_table, ratings, _wanted_of_ratings(columns))
    item_column, *labels = _names(table, items, wanted)
    known_ids, rows, item_notes = _unique_items(_values(table, item_column))
    rated = _Rated.read(rated_table, ratings, columns, known_ids)
    least = above if above is not None else 0.0 if rated.counts_plays else 3.5
    liked = positives(rated.users, rated.items, rated.stars, rated.times, above=least, minimum=minimum)
    liked, dropped = _often_liked(liked, min_item_count)
    place = dict(zip(known_ids.tolist(), rows.tolist(), strict=True))
    of_liked = np.array([place[item] for item in liked.item_ids.tolist()], dtype=np.int64)
    known = _items(table, item_column, columns)
    attributes = [
        from_column(column.name, _values(table, name)[of_liked].tolist(), separator=column.separator)
        for column, name in zip(known.columns, labels, strict=True)
    ]
    facts = {"ratings": f"{rated.rows:,}", "items": f"{len(known_ids):,}", **_facts(liked)}
    said = [*rated.said, *_said(table, items, wanted), *item_notes, *rated.dropped, *dropped]
    understood = "; ".join([items_text(known.columns), f"{len(liked.user_ids):,} users", *said])
    made = (name or ratings.stem, liked, facts, lambda seen: [*attributes, popularity(seen)])
    given = None if scores is None else _given(scores, held_out, columns, liked)
    return Source(*made, understood, tuple(review_items(known)), given)


@dataclass(frozen=True, slots=True, eq=False)
class _Rated:
    """A table of ratings, read, with what was left out of it."""

    users: NDArray[Any]
    items: NDArray[Any]
    stars: Floats
    times: Integers
    rows: int
    counts_plays: bool
    said: tuple[str, ...]
    dropped: tuple[str, ...]

    @classmethod
    def read(cls, table: Any, path: Path, columns: Columns, known: NDArray[Any]) -> _Rated:
        wanted = _wanted_of_ratings(columns)
        names = _names(table, path, wanted)
        users, items, *values = (_values(table, name) for name in names)
        times = _values(table, columns.timestamp) if columns.timestamp in table.column_names else None
        whole = np.ones(len(users), dtype=np.bool_)
        for column in (users, items, *values):
            whole &= ~_missing(column)
        inside = whole & np.isin(items.astype(np.str_), known.astype(np.str_))
        stars = np.full(len(users), np.inf)
        if values:
            stars[inside] = numbers(columns.rating, values[0][inside])
        when = np.zeros(len(users), dtype=np.int64) if times is None else _times(times)
        kept = _latest(users, items, when, inside)
        unknown = len(set(items[whole & ~inside].tolist()))
        left_out = {
            "rows without a user, an item or a rating": int((~whole).sum()),
            f"rows of {unknown:,} items that are not in the items table": int((whole & ~inside).sum()),
            "earlier rows of a user and an item": int(inside.sum()) - len(kept),
        }
        dropped = tuple(f"left out: {count:,} {what}" for what, count in left_out.items() if count)
        plays = bool(values) and names[-1].lower().replace("_", "") in _PLAYS
        said = (*_said(table, path, wanted), *(("any play counts as a positive",) if plays else ()))
        return cls(users[kept], items[kept], stars[kept], when[kept], len(users), plays, said, dropped)


_PLAYS = ("plays", "playcount", "count", "listens", "listencount", "views", "clicks")


def _wanted_of_ratings(columns: Columns) -> dict[str, str]:
    return {role: getattr(columns, role) for role in ("user", "item", *(("rating",) if columns.rating else ()))}


def _wanted_of_items(columns: Columns) -> dict[str, str]:
    own = {"items_item": columns.items_item} if columns.items_item else {"item": columns.item}
    return own | {f"categories {each}": each for each in columns.categories}


def _unique_items(ids: NDArray[Any]) -> tuple[NDArray[Any], Integers, list[str]]:
    """The items, the row of each, and what was left out: rows without an id, and all but the first of an item."""
    present = np.flatnonzero(~_missing(ids))
    first = {item: row for row, item in reversed(list(zip(present.tolist(), ids[present].tolist(), strict=True)))}
    rows = np.array(sorted(first.values()), dtype=np.int64)
    left = len(ids) - len(rows)
    said = f"left out: {left:,} rows of the items, without an id or with one that came before"
    return ids[rows], rows, [said] if left else []


def _latest(users: NDArray[Any], items: NDArray[Any], times: Integers, kept: Booleans) -> Integers:
    """Rows with the latest of each user and item, in their order."""
    rows = np.flatnonzero(kept)
    _, user = np.unique(users[rows].astype(np.str_), return_inverse=True)
    _, item = np.unique(items[rows].astype(np.str_), return_inverse=True)
    order = np.lexsort((rows, times[rows], item, user))
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (user[order][1:] != user[order][:-1]) | (item[order][1:] != item[order][:-1])
    return np.sort(rows[order[last]])


def _missing(values: NDArray[Any]) -> Booleans:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype == np.object_:
        return np.array([value is None or value != value for value in values.tolist()], dtype=np.bool_)
    return np.zeros(len(values), dtype=np.bool_)


def _times(values: NDArray[Any]) -> Integers:
    """Seconds, or days, or anything that grows: only the order counts; what is missing is the earliest."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[ms]").astype(np.int64)
    known = ~_missing(values)
    times = np.zeros(len(values), dtype=np.int64)
    times[known] = np.unique(values[known], return_inverse=True)[1] + 1
    return times


def _often_liked(liked: Interactions, least: int) -> tuple[Interactions, list[str]]:
    """Without items that few like, and without users who then have fewer than two positives."""
    counts = liked.counts
    if least <= 1 or (counts >= least).all():
        return liked, []
    entries = counts[liked.items] >= least
    owners = np.repeat(np.arange(len(liked.user_ids)), np.diff(liked.indptr))[entries]
    kept = positives(
        liked.user_ids[owners], liked.item_ids[liked.items[entries]], liked.ratings[entries],
        liked.timestamps[entries], above=-np.inf, minimum=2,
    )  # fmt: skip
    return kept, [f"left out: {int((counts < least).sum()):,} items with fewer than {least} positives"]


def _given(scores: Path, judged: Path | None, columns: Columns, liked: Interactions) -> GivenScores:
    """Candidates of one's own, for the users that have scores, a history and something held out."""
    if judged is None:
        hint = "the ratings are what the model knew; what its users are judged by comes in a table of its own."
        raise InputError(explain("--held-out", "is missing", "be given with --scores", hint))
    column = {item: place for place, item in enumerate(liked.item_ids.tolist())}
    row = {user: place for place, user in enumerate(liked.user_ids.tolist())}
    best: dict[int, list[tuple[float, int]]] = {}
    scored = _arrays(_table(scores), scores, {"user": columns.user, "item": columns.item, "score": "score"})
    for user, item, score in zip(*(each.tolist() for each in scored), strict=True):
        if user in row and item in column:
            best.setdefault(row[user], []).append((-float(score), column[item]))
    hidden = _arrays(_table(judged), judged, {"user": columns.user, "item": columns.item})
    wanted: dict[int, set[int]] = {}
    for user, item in zip(*(each.tolist() for each in hidden), strict=True):
        if user in row and item in column:
            wanted.setdefault(row[user], set()).add(column[item])
    users = sorted(best.keys() & wanted.keys())
    if not users:
        raise InputError(explain(str(scores), "has no user with ratings and held-out items", "have one"))
    n = min(len(best[user]) for user in users)
    order = [sorted(best[user])[:n] for user in users]
    history = liked.of_users(users)
    sizes = [len(wanted[user]) for user in users]
    items = np.array([item for user in users for item in sorted(wanted[user])], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    held_out = Interactions(
        history.user_ids.copy(),
        liked.item_ids,
        starts,
        items,
        np.ones(len(items)),
        np.zeros(len(items), dtype=np.int64),
    )
    places = np.array([[item for _, item in own] for own in order])
    return GivenScores(places, -np.array([[score for score, _ in own] for own in order]), history, held_out)


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
    """Columns of a table, by option and name, as arrays, without rows that lack one of them."""
    found = [_values(table, name) for name in _names(table, path, wanted)]
    whole = np.ones(len(found[0]), dtype=np.bool_)
    for column in found:
        whole &= ~_missing(column)
    return [column[whole] for column in found]


def _values(table: Any, name: str) -> NDArray[Any]:
    return _array(table.column(name))


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


_ROLES = {"user": "user_id", "item": "item_id", "items_item": "item_id", "rating": "rating", "score": "score"}
_DEFAULTS = {"user": "user_id", "item": "item_id", "rating": "rating", "score": "score"}


def _array(column: Any) -> NDArray[Any]:
    values = column.to_pylist()
    if column.null_count or isinstance(values[0], (str, list)):
        return np.array([*values, None], dtype=np.object_)[:-1]  # None keeps numpy from guessing
    return np.asarray(column.to_numpy())
