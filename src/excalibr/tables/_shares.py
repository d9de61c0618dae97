"""Wanted shares as callers give them, tables or mappings for one attribute or several, one frame per attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from excalibr._arrays import is_real
from excalibr._messages import Message, Wording
from excalibr.errors import InputError
from excalibr.tables._arrow import pa
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._ids import by_label, codes_in, labels_of, valid
from excalibr.tables._options import Tables

NA_HINT = Message(
    Wording("pandas reads a name such as NA as a null: keep_default_na=False keeps it.", "an empty field is no name.")
)


def shares_by_attribute(
    given: Any, name: str, options: Tables, attributes: Sequence[str] | None = None
) -> dict[str, Frame]:
    """What is given for each attribute: a part of a mapping, or the rows that name it, of these attributes or all."""
    if isinstance(given, Mapping):
        return {str(each): read_shares(own, f"{name}[{each!r}]", options) for each, own in given.items()}
    frame = read_frame(given, name, "a mapping by attribute, ")
    labels = labels_of(options.read(frame, "attribute"))
    known = labels.unique().drop_null() if attributes is None else pa.array(attributes, pa.large_string())
    owners = codes_in(labels, known)
    columns = [column for column in frame.columns if column != options.attribute]
    rows = {each: np.flatnonzero(owners == number) for number, each in enumerate(known.to_pylist())}
    return {each: read_frame(frame.take(own, columns, {}), f"{name}[{each!r}]") for each, own in rows.items()}


def read_shares(given: Any, name: str, options: Tables) -> Frame:
    """A table, or a mapping from categories to weights or to pairs of low and high."""
    if given is None:
        raise InputError(name, "is None", "be a mapping or a table of shares")
    if not isinstance(given, Mapping):
        return read_frame(given, name, "a mapping of shares, ")
    named = by_label(given, name)
    bands = bool(named) and all(np.shape(value) == (2,) for value in named.values())
    for category, value in named.items():
        if not all(map(is_real, value if bands else [value])) or (not bands and np.isnan(value)):
            must = "have a number for each category, or a low and a high for each"
            raise InputError(name, f"has {value!r} for {category!r}", must)
    values = np.array(list(named.values()), dtype=np.float64)
    table = name.partition("[")[0]
    labels, weight = (getattr(options, f"{table}_{role}", None) for role in ("category", "weight"))
    numbers = {options.low: values[:, 0], options.high: values[:, 1]} if bands else {weight or options.weight: values}
    return read_frame(pa.table({labels or "category": list(named), **numbers}), name)


def labels_in(frame: Frame, attribute: str, options: Tables) -> Any:
    """Each row's category, as text; a row without one is an error.

    The column has the name that was given for this table, or that the attribute's column of the items has, or
    ``category``.
    """
    own = getattr(options, f"{frame.name.partition('[')[0]}_category", None)
    names = [own] if own else [name for name in (attribute, "category") if name in frame.columns]
    keyword = options.option_for("category", frame.name)
    column = frame.column(names[0], keyword) if names else options.read(frame, "category")
    labels = labels_of(column, f"categories of {frame.name}")
    if labels.null_count:
        at = int(np.argmin(valid(labels)))
        raise InputError(frame.name, f"row {at} has no category", "name one in each row", NA_HINT)
    return labels
