"""Items: their ids and categories in order, and each item's share of each, from any of three table forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError, explain
from excalibr.frames import Frame, read_frame
from excalibr.problem import Attribute
from excalibr.tables.ids import encode, labels_of, read_ids, valid
from excalibr.tables.options import Tables

__all__ = ["NO_CATEGORY", "Items", "numbers_of", "read_items", "weights_in"]

NO_CATEGORY = "(none)"
"""The category of items that have none."""


@dataclass(frozen=True, eq=False)
class Items:
    """What is known of the items.

    Attributes
    ----------
    ids
        (items,) Arrow array, in order.
    categories
        (r,) Arrow array of text, in order; of several attributes one after the other.
    rows
        (items, r) sparse, each item's shares; rows sum to 1 for each attribute.
    attributes
        The attributes by name; empty where a single column was named.
    """

    ids: Any
    categories: Any
    rows: SparseRows
    attributes: tuple[Attribute, ...] = ()

    @property
    def parts(self) -> tuple[Attribute, ...]:
        """The attributes, or all categories as one without a name."""
        return self.attributes or (Attribute("", 0, len(self.categories)),)


def read_items(table: Any, options: Tables) -> Items:
    """Items from a row for each item and category, or a row an item with a list or a text with separators.

    An item of several categories has equal shares of them, or shares in proportion to ``weight``. An item without a
    category has the category ``(none)``.
    """
    frame = read_frame(table, "items")
    ids, places = encode(read_ids(frame.column(options.item_id, "item_id")))
    if not len(ids):
        raise InputError(explain("items", "are empty", "have at least one row with an item"))
    found = [_read_attribute(frame, column, ids, places, options) for column in options.category_columns.values()]
    if isinstance(options.category, str):
        return Items(ids, *found[0])
    ends = np.cumsum([len(categories) for categories, _ in found]).tolist()
    spans = zip(options.category_columns, [0, *ends], ends, strict=False)
    return Items(ids, *_side_by_side(found), tuple(Attribute(*span) for span in spans))


def weights_in(frame: Frame, name: str) -> Floats:
    """The weight of each row: 1 without such a column, nan where it is null; negative ones are refused."""
    if name not in frame.columns:
        return np.ones(len(frame))
    weights = numbers_of(frame.column(name, "weight"), name, frame.name)
    if (weights < 0).any() or np.isinf(weights).any():
        at = int(np.argmax((weights < 0) | np.isinf(weights)))
        raise InputError(explain(f"column {name!r} of {frame.name}", f"row {at} is {weights[at]}", "be at least 0"))
    return weights


def numbers_of(column: Any, name: str, table: str) -> Floats:
    """A column of numbers, nan where it is null."""
    import pyarrow as pa

    try:
        return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        found = f"has the type {column.type}"
        raise InputTypeError(explain(f"column {name!r} of {table}", found, "have numbers")) from error


def _read_attribute(frame: Frame, column: str, ids: Any, places: Integers, options: Tables) -> tuple[Any, SparseRows]:
    """The categories of one column, in order, and each item's shares of them."""
    weights = weights_in(frame, options.weight)
    rows, labels = _pairs(frame.column(column, "category"), options.separator)
    there = (places[rows] >= 0) & valid(labels) & (weights[rows] > 0)
    owners = places[rows[there]]
    lonely = np.setdiff1d(np.arange(len(ids)), owners)
    labels = _joined(labels, there, len(lonely))
    categories, codes = encode(labels)
    owners, shares = np.append(owners, lonely), np.append(weights[rows[there]], np.ones(len(lonely)))
    shape = (len(ids), len(categories))
    return categories, _shares(owners, codes, shares, shape, added=options.weight in frame.columns)


def _side_by_side(found: list[tuple[Any, SparseRows]]) -> tuple[Any, SparseRows]:
    import pyarrow as pa
    from scipy.sparse import hstack

    rows: SparseRows = hstack([rows for _, rows in found], format="csr")
    return pa.concat_arrays([categories for categories, _ in found]), rows


def _pairs(column: Any, separator: str | None) -> tuple[Integers, Any]:
    """The row and the label of each pair of item and category; a row without any has none or a null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.types
    if kind.is_dictionary(column.type):
        column = column.dictionary_decode()
    if separator is not None and _kind_of_text(column.type):
        column = pc.split_pattern(column, separator)
    if not (kind.is_list(column.type) or kind.is_large_list(column.type) or kind.is_fixed_size_list(column.type)):
        return np.arange(len(column)), labels_of(column)
    rows = np.asarray(pc.list_parent_indices(column), dtype=np.int64)
    return rows, labels_of(pc.list_flatten(column))


def _kind_of_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _joined(labels: Any, there: Booleans, lonely: int) -> Any:
    import pyarrow as pa

    none = pa.array([NO_CATEGORY] * lonely, pa.large_string())
    return pa.concat_arrays([labels.filter(pa.array(there)), none])


def _shares(owners: Integers, codes: Integers, weights: Floats, shape: tuple[int, int], *, added: bool) -> SparseRows:
    """Rows that sum to 1. A pair that comes twice counts once, or with its weights added, in an order of their own."""
    order = np.lexsort((weights, codes, owners))
    pairs = owners[order] * shape[1] + codes[order]
    different, numbers = np.unique(pairs, return_inverse=True)
    amounts = sums_by(numbers, weights[order], len(different)) if added else np.ones(len(different))
    owner = different // shape[1]
    totals = sums_by(owner, amounts, shape[0])
    starts = np.searchsorted(owner, np.arange(shape[0] + 1))
    return build_rows(amounts / totals[owner], different % shape[1], starts, shape[1])
