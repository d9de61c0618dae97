"""What an experiment is run on: MovieLens, or a ratings table and an items table of one's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._experiments.given import GivenScores, read_given
from excalibr._experiments.own_tables import (
    Columns,
    KnownItems,
    OwnTable,
    Rated,
    open_tables,
    roles_of_items,
    roles_of_ratings,
)
from excalibr._types import Integers
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

__all__ = ["Source", "movielens_source", "table_source"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Positives of users, and the attributes of their items.

    Attributes
    ----------
    name
        What the data set is called in titles.
    liked
        Who liked what.
    counted
        What to print of it, by name, that has nothing to do with likes.
    labelled
        From ids of items to their attributes but popularity.
    understood, notes
        What the tables were understood to hold, in a line, and what looks wrong about them.
    given
        Candidates of a model of one's own, where EASE is not to be fitted.
    """

    name: str
    liked: Interactions
    counted: dict[str, str]
    labelled: Callable[[NDArray[Any]], list[Attribute]]
    understood: str = ""
    notes: tuple[Note, ...] = ()
    given: GivenScores | None = None

    @property
    def facts(self) -> dict[str, str]:
        """What to print of it, by name."""
        return {**self.counted, **_facts(self.liked)}

    def attributes(self, seen: Integers) -> list[Attribute]:
        """What is calibrated on; popularity is by how often each item is liked by the training users, (items,)."""
        return [*self.labelled(self.liked.item_ids), popularity(seen)]

    def often_liked(self, least: int) -> Source:
        """Without items that fewer users like, and without users who then have fewer than two positives."""
        counts = self.liked.counts
        if least <= 1 or (counts >= least).all():
            return self
        entries = counts[self.liked.items] >= least
        owners = np.repeat(np.arange(len(self.liked.user_ids)), np.diff(self.liked.indptr))[entries]
        kept = positives(
            self.liked.user_ids[owners], self.liked.item_ids[self.liked.items[entries]], self.liked.ratings[entries],
            self.liked.timestamps[entries], above=-np.inf, minimum=2,
        )  # fmt: skip
        return replace(self, liked=kept)

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


def movielens_source(path: Path, *, complete: bool = True, **limits: float) -> Source:
    """The paper's attributes of a MovieLens zip or folder: genre, decade and popularity.

    ``max_bytes`` and ``max_ratio`` are those of :func:`excalibr.datasets.load_movielens`.
    """
    loaded = load_movielens(path, complete=complete, **limits)  # type: ignore[arg-type]
    counts, liked = loaded.counts, loaded.positives()

    def labelled(ids: NDArray[Any]) -> list[Attribute]:
        items = loaded.items.of(ids)
        return [genre(items.genres), decade(items.years)]

    counted = {
        "ratings": f"{counts.ratings:,}",
        "users who rated": f"{counts.users:,}",
        "movies": f"{counts.items:,}",
        "genres a movie, mean": f"{labelled(liked.item_ids)[0].matrix.nnz / len(liked.item_ids):.2f}",
    }
    return Source(loaded.name, liked, counted, labelled)


def table_source(
    ratings: Path,
    items: Path,
    columns: Columns,
    *,
    scores: Path | None = None,
    held_out: Path | None = None,
    above: float | None = None,
    minimum: int = 5,
    name: str | None = None,
) -> Source:
    """The category columns of an items table as attributes, and popularity; tables are CSV, Parquet or Arrow.

    ``scores`` has candidates with the scores of a model of one's own, for the users that are re-ranked, and
    ``held_out`` what those are judged by; the ratings are then what the model knew.

    ``above`` is by default 3.5, or 0 where the rating's column counts plays. Rows without a user, an item or a rating,
    rows of items that the items table lacks, and all but the latest row of a user and an item are left out and counted.
    """
    _check_names(columns.categories)
    wanted = [(ratings, roles_of_ratings(columns)), (items, roles_of_items(columns))]
    rated_table, item_table, *of_model = open_tables([*wanted, *_roles_of_model(scores, held_out, columns)])
    items_known = KnownItems.read(item_table)
    rated = Rated.read(rated_table, items_known)
    least = above if above is not None else 0.0 if rated.counts_plays else 3.5
    inner = positives(rated.users, rated.items, rated.stars, rated.times, above=least, minimum=minimum)
    liked = replace(
        inner, user_ids=_outside(rated.user_ids, inner.user_ids), item_ids=_outside(items_known.ids, inner.item_ids)
    )
    known = _items(item_table, columns)
    given = read_given(of_model[0], of_model[1], liked) if of_model else None
    plays = ["any play counts as a positive"] if rated.counts_plays and above is None else []
    said = [*rated_table.said(), *plays, *item_table.said(), *(text for each in of_model for text in each.said())]
    said += [*items_known.left_out, *rated.left_out, *(given.left_out if given is not None else ())]
    return Source(
        name=name or ratings.stem,
        liked=liked,
        counted={"ratings": f"{rated.rows:,}", "items": f"{len(items_known.rows):,}"},
        labelled=_labels_by_id(item_table, known, items_known),
        understood="; ".join([items_text(known.columns), f"{len(liked.user_ids):,} users", *said]),
        notes=tuple(review_items(known)),
        given=given,
    )


def _labels_by_id(
    items: OwnTable, known: ItemArrays, items_known: KnownItems
) -> Callable[[NDArray[Any]], list[Attribute]]:
    """From ids to an attribute for each column of categories."""
    rows = dict(zip(items_known.ids.to_pylist(), items_known.rows.tolist(), strict=True))
    labels = {column.name: items.labels(f"categories {column.name}") for column in known.columns}

    def labelled(ids: NDArray[Any]) -> list[Attribute]:
        places = [rows[each] for each in ids.tolist()]
        return [
            from_column(column.name, labels[column.name][places].tolist(), separator=column.separator)
            for column in known.columns
        ]

    return labelled


def _roles_of_model(scores: Path | None, held_out: Path | None, columns: Columns) -> list[tuple[Path, dict[str, str]]]:
    """The tables of a model of one's own, which come together or not at all."""
    if scores is None and held_out is None:
        return []
    if scores is None or held_out is None:
        missing, other = ("--held-out", "--scores") if held_out is None else ("--scores", "--held-out")
        hint = "the ratings are what the model knew; what its users are judged by comes in a table of its own."
        raise InputError(explain(missing, "is missing", f"be given with {other}", hint))
    who = {"user": columns.user, "item": columns.item}
    return [(scores, who | {"score": "score"}), (held_out, who)]


def _outside(ids: Any, places: NDArray[Any]) -> NDArray[Any]:
    """The outside world's ids at some places."""
    found = ids.take(places)
    return np.array(found.to_pylist(), dtype=np.str_) if found.type == "large_string" else np.asarray(found)


def _items(items: OwnTable, columns: Columns) -> ItemArrays:
    """The items as :class:`excalibr.Reranker` reads them: which columns are split, and where."""
    item = items.found["items_item" if "items_item" in items.found else "item"]
    asked = Tables(targets={}, item_id=item, category=list(columns.categories), separator=columns.separator)
    return read_items(items.table.select([item, *columns.categories]), asked)


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
