"""Items: their ids and categories in order, and each item's share of each, from any of three table forms.

In a text with several labels ``|`` is taken for the separator wherever it occurs. ``;``, ``,`` and ``/`` also stand in
names (``Smith, John``, ``Home &amp; Garden``, ``Audio/Video``) and are taken only where the parts are seen to be labels
of their own: they recur in other labels. Where more than one could be the separator, none is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from excalibr._arrays import starts_of, sums_by
from excalibr._messages import counted
from excalibr._problem import AttributeSpan, Memberships
from excalibr._problem.by_category import LARGEST_WEIGHT
from excalibr._types import Floats, Integers
from excalibr.errors import InputError
from excalibr.tables._arrow import pa, pc
from excalibr.tables._frames import Frame
from excalibr.tables._ids import encode, is_text, labels_of, valid
from excalibr.tables._options import GUESS, Tables

NO_CATEGORY = "(none)"
"""The category of items that have none."""

SEPARATORS = ("|", ";", ",", "/")

RECURRING = 0.8  # the share of parts that must stand in at least two different labels
ALONE = 0.5  # the share of parts that must also be whole labels, unless there are far fewer parts than labels
FEWER = 4  # so many times fewer parts than labels are as good


@dataclass(frozen=True)
class CategoryColumn:
    """What was understood of a column of categories."""

    name: str
    categories: int  # how many there are, ``(none)`` not among them
    items: int
    pairs: int  # of item and category
    without: int  # items that have no category
    separator: str | None = None  # where its texts are split
    guessed: bool = False
    # Of a column that may have to be split and was not, the share of labels in which each possible separator stands:
    marks: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """In words, such as "71 categories in `genres`, split at `|` (guessed); 2 % of items without"."""
        split = f", split at `{self.separator}`" + " (guessed)" * self.guessed if self.separator else ""
        share = 100 * self.without / self.items
        percent = f"{share:.0f}" if share >= 1 else f"{share:.1g}"
        without = f"; {percent} % of items without" if self.without else ""
        return f"{counted(self.categories, 'category', 'categories')} in `{self.name}`{split}{without}"


@dataclass(frozen=True, eq=False)
class ItemArrays:
    """What is known of the items.

    Attributes
    ----------
    ids
        (items,) Arrow array, in order.
    categories
        (r,) Arrow array of text, in order; of several attributes one after the other.
    rows
        (items, r) each item's shares; rows sum to 1 for each attribute.
    attributes
        The attributes by name; empty where a single column was named.
    columns
        What was understood of each column of categories.
    groups
        The same of the attributes that prices are of, or None where there are no prices.
    """

    ids: Any
    categories: Any
    rows: Memberships
    attributes: tuple[AttributeSpan, ...] = ()
    columns: tuple[CategoryColumn, ...] = ()
    groups: ItemArrays | None = None

    @property
    def labels(self) -> list[tuple[str, str]]:
        """(r,) attribute and category of each column."""
        categories = self.categories.to_pylist()
        return [(part.name, label) for part in self.parts for label in categories[part.columns]]

    @property
    def parts(self) -> tuple[AttributeSpan, ...]:
        """The attributes, or all categories as one without a name."""
        return self.attributes or (AttributeSpan("", 0, len(self.categories)),)


def read_items(table: Any, options: Tables) -> ItemArrays:
    """Items from a row for each item and category, or one row per item with a list or a text with separators.

    An item of several categories has equal shares of them, or shares in proportion to ``weight``. An item without a
    category has the category ``(none)``.

    Examples
    --------
    >>> table = pa.table({"item_id": [1, 2, 3], "category": ["drama", "comedy|drama", "comedy"]})
    >>> items = read_items(table, Tables(targets={"drama": 1.0}))
    >>> items.categories.to_pylist(), items.rows.dense().tolist()
    (['comedy', 'drama'], [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    """
    frame = options.open(table, "items")
    ids, places = encode(options.read_ids(frame, "item_id"))
    if not len(ids):
        raise InputError("items", "are empty", "have at least one row with an item")
    single = isinstance(options.category, str)
    named = {"": options.column("category", "items", frame.columns)} if single else options.category_columns
    found = {name: _read_attribute(frame, column, ids, places, options) for name, column in named.items()}
    return found[""] if single else side_by_side(found)


def side_by_side(attributes: Mapping[str, ItemArrays]) -> ItemArrays:
    """Several attributes of the same items, each read by itself."""
    each = list(attributes.values())
    starts = starts_of(np.array([len(one.categories) for one in each])).tolist()
    return ItemArrays(
        each[0].ids,
        pa.concat_arrays([one.categories for one in each]),
        Memberships.side_by_side([one.rows for one in each]),
        tuple(map(AttributeSpan, attributes, starts, starts[1:])),
        tuple(column for one in each for column in one.columns),
    )


def weights_in(frame: Frame, options: Tables) -> Floats:
    """The weight of each row: 1 without such a column, nan where it is null; others must be from 0 to 1e30."""
    weights = options.read_weights(frame)
    name = options.find("weight", frame.name, frame.columns) or ""
    good = np.isnan(weights) | (weights >= 0) & (weights <= LARGEST_WEIGHT)
    frame.require(name, weights, good, f"be finite and at least 0, and at most {LARGEST_WEIGHT:g}")
    return weights


def _read_attribute(frame: Frame, column: str, ids: Any, places: Integers, options: Tables) -> ItemArrays:
    """The categories of one column, in order, each item's shares of them, and what was understood."""
    weights = weights_in(frame, options)
    values = frame.column(column, "category")
    asked = options.splits_at if is_text(values.type) else None
    different = labels_of(values.unique().drop_null()).unique().drop_null() if asked == GUESS else None
    separator = asked if different is None else guess_separator(different)
    rows, labels = _pairs(values, separator, f"column {column!r} of {frame.name}")
    there = (places[rows] >= 0) & valid(labels) & (weights[rows] > 0)
    owners = places[rows[there]]
    without = np.flatnonzero(np.bincount(owners, minlength=len(ids)) == 0)
    unnamed = pa.array([NO_CATEGORY] * len(without), pa.large_string())
    categories, codes = encode(pa.concat_arrays([labels.filter(pa.array(there)), unnamed]))
    owners, shares = np.append(owners, without), np.append(weights[rows[there]], np.ones(len(without)))
    added = options.find("weight", frame.name, frame.columns) is not None
    made = _shares(owners, codes, shares, (len(ids), len(categories)), added=added)
    guessed = separator is not None and asked == GUESS
    split = separator is not None and pc.any(pc.match_substring(values, separator)).as_py()
    marks = {} if asked is None or split else marks_in(categories)
    sizes = (len(categories) - bool(len(without)), len(ids), len(made.values) - len(without), len(without))
    return ItemArrays(ids, categories, made, columns=(CategoryColumn(column, *sizes, separator, guessed, marks),))


def _pairs(column: Any, separator: str | None, what: str) -> tuple[Integers, Any]:
    """The row and the label of each pair of item and category; a row without any has none or a null."""
    kind = pa.types
    if separator is not None:
        column = pc.split_pattern(column, separator)
    if not (kind.is_list(column.type) or kind.is_large_list(column.type) or kind.is_fixed_size_list(column.type)):
        return np.arange(len(column)), labels_of(column, what)
    there, lists = np.flatnonzero(valid(column)), column.drop_null()  # a null may have labels under it
    rows = there[np.asarray(pc.list_parent_indices(lists), dtype=np.int64)]
    return rows, labels_of(pc.list_flatten(lists), what)


def _shares(owners: Integers, codes: Integers, weights: Floats, shape: tuple[int, int], *, added: bool) -> Memberships:
    """Rows that sum to 1. A pair that comes twice counts once, or with its weights added, in an order of their own."""
    order = np.lexsort((weights, codes, owners))
    pairs = owners[order] * shape[1] + codes[order]
    different, numbers = np.unique(pairs, return_inverse=True)
    amounts = sums_by(numbers, weights[order], len(different)) if added else np.ones(len(different))
    owner = different // shape[1]
    totals = sums_by(owner, amounts, shape[0])
    starts = np.searchsorted(owner, np.arange(shape[0] + 1))
    return Memberships(starts, different % shape[1], amounts / totals[owner], shape[1])


def guess_separator(labels: Any) -> str | None:
    """The separator of these different labels (Arrow array of text), None where there is none or more than one."""
    found = [mark for mark in SEPARATORS if _separates(labels, mark)]
    return found[0] if len(found) == 1 else None


def marks_in(labels: Any) -> dict[str, float]:
    """The share of labels in which each possible separator stands, the most frequent first."""
    if not len(labels):
        return {}
    shares = {mark: float(pc.mean(pc.match_substring(labels, mark)).as_py()) for mark in SEPARATORS}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def _separates(labels: Any, mark: str) -> bool:
    holding = pc.match_substring(labels, mark).to_numpy(zero_copy_only=False).astype(bool)
    if mark == "|" or holding.sum() < 2:
        return mark == "|" and bool(holding.any())
    split = pc.split_pattern(labels, mark)
    parts = pc.utf8_trim_whitespace(pc.list_flatten(split)).dictionary_encode()
    owners = np.asarray(pc.list_parent_indices(split), dtype=np.int64)
    codes = parts.indices.to_numpy().astype(np.int64)
    pairs = np.unique(owners * len(parts.dictionary) + codes)
    owners, codes = pairs // len(parts.dictionary), pairs % len(parts.dictionary)
    labels_with = np.bincount(codes)  # how many labels have each part
    whole = np.isin(np.arange(len(labels_with)), codes[~holding[owners]])
    split_off = np.unique(codes[holding[owners]])
    recur = np.mean(labels_with[split_off] >= 2) >= RECURRING
    return bool(recur and (whole[split_off].mean() >= ALONE or len(split_off) * FEWER <= len(labels)))
