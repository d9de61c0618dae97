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

from excalibr._experiments.own_tables import Columns, GivenScores, OwnTable, open_tables, read_given, read_liked
from excalibr._types import Integers
from excalibr.datasets import Attribute, Interactions, decade, from_column, genre, load_movielens, popularity, positives
from excalibr.errors import InputError
from excalibr.tables import ItemArrays, Note, Tables, items_text, read_items, review_items


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Positives of users, and the attributes of their items."""

    name: str  # of the data set, in titles
    liked: Interactions
    counted: dict[str, str]  # what to print of it, by name, that has nothing to do with likes
    labelled: Callable[[NDArray[Any]], list[Attribute]]  # from ids of items to their attributes but popularity
    understood: str = ""  # what the tables were understood to hold, in a line
    notes: tuple[Note, ...] = ()  # what looks wrong about them
    given: GivenScores | None = None  # candidates of a model of one's own, where EASE is not to be fitted

    @property
    def facts(self) -> dict[str, str]:
        """What to print of it, by name."""
        liked, items = self.liked, len(self.liked.item_ids)
        top = np.sort(liked.counts)[::-1][: max(1, round(0.05 * items))]
        return {
            **self.counted,
            "positives of users with enough of them": f"{len(liked):,}",
            "their users": f"{len(liked.user_ids):,}",
            "their items": f"{items:,}",
            "positives a user, mean": f"{len(liked) / len(liked.user_ids):.1f}",
            "share of positives on the top 5 % of items": f"{top.sum() / len(liked):.1%}",
        }

    def attributes(self, seen: Integers) -> list[Attribute]:
        """What is calibrated on; popularity is by how often each item is liked by the training users, (items,)."""
        return [*self.labelled(self.liked.item_ids), popularity(seen)]

    def often_liked(self, least: int) -> Source:
        """Without items that fewer users like, and without users who then have fewer than two positives."""
        counts = self.liked.counts
        if least <= 1 or (counts >= least).all():
            return self
        kept = self.liked.where(counts[self.liked.items] >= least)
        sizes = np.diff(kept.indptr)
        if not (sizes >= 2).any():
            found = f"is {least}, and no user has two positives of items with so many"
            raise InputError("min_item_count", found, "leave users", f"the most liked item has {counts.max():,}.")
        rows = (np.repeat(kept.user_ids, sizes), kept.item_ids[kept.items], kept.ratings, kept.timestamps)
        return replace(self, liked=positives(*rows, above=-np.inf, minimum=2))

    def fingerprint(self, *, by_time: bool = False) -> str:
        """What tells two data sets apart, whatever they are called; by their times too where these split them."""
        digest, liked, given = hashlib.sha256(), self.liked, self.given
        for ids in (liked.user_ids, liked.item_ids):
            digest.update(json.dumps(list(map(str, ids.tolist()))).encode())
        arrays = [liked.indptr, liked.items, liked.ratings, *([liked.timestamps] if by_time else [])]
        if given is not None:
            arrays += [given.scores, given.items, given.starts, given.held_out.indptr, given.held_out.items]
        for array in arrays:
            digest.update(array.tobytes())
        for attribute in self.attributes(liked.counts):
            digest.update(json.dumps([attribute.name, *attribute.categories]).encode())
            for places in (attribute.matrix.indptr, attribute.matrix.indices):
                digest.update(places.astype(np.int64).tobytes())
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
    rated, listed, *of_model = open_tables(ratings, items, scores, held_out, columns)
    ids, rows = listed.catalogue()
    least = above if above is not None else 0.0 if rated.counts_plays else 3.5
    liked = read_liked(rated, ids, above=least, minimum=minimum)
    known = _items(listed, columns)
    given = read_given(of_model[0], of_model[1], liked) if of_model else None
    row_of = dict(zip(ids.to_pylist(), rows.tolist(), strict=True))

    def labelled(ids: NDArray[Any]) -> list[Attribute]:
        chosen = listed.table.select(columns.categories).take([row_of[each] for each in ids.tolist()])
        return [
            from_column(each.name, chosen.column(each.name).to_pylist(), separator=each.separator)
            for each in known.columns
        ]

    plays = ["any play counts as a positive"] if rated.counts_plays and above is None else []
    remarks = [*rated.remarks, *plays, *(text for each in (listed, *of_model) for text in each.remarks)]
    return Source(
        name=name or ratings.stem,
        liked=liked,
        counted={"ratings": f"{rated.table.num_rows:,}", "items": f"{len(rows):,}"},
        labelled=labelled,
        understood="; ".join([items_text(known.columns), f"{len(liked.user_ids):,} users", *remarks]),
        notes=tuple(review_items(known)),
        given=given,
    )


def _items(items: OwnTable, columns: Columns) -> ItemArrays:
    """The items as :class:`excalibr.Reranker` reads them: which columns are split, and where."""
    item = items.found[items.item_role]
    if item in columns.categories:
        raise InputError("categories", f"name {item!r}, the column with the item", "be columns of what items are")
    asked = Tables(targets={}, item_id=item, category=list(columns.categories), separator=columns.separator)
    return read_items(items.table.select([item, *columns.categories]), asked)


def _check_names(categories: Sequence[str]) -> None:
    """Attributes are told apart by their names, and popularity comes with every data set."""
    for place, name in enumerate(categories):
        if name == "popularity" or name in categories[:place]:
            found = f"name {name!r}" + (" twice" if name in categories[:place] else ", which comes by itself")
            raise InputError("categories", found, "be different columns", "rename the column.")
