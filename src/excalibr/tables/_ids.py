"""Ids and labels of any type as Arrow arrays that can be compared, sorted and looked up.

Kinds: whole numbers of any size, text, and whatever else Arrow can sort. A column that pandas turned into floats
because of a null is read as the whole numbers that it was, and UUIDs are read as text.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from excalibr._messages import Message, Wording
from excalibr._types import Booleans, Integers
from excalibr.errors import InputError, InputTypeError
from excalibr.tables._arrow import pa, pc

EXACT_IN_FLOATS = 2.0**53
"""Below it floats tell whole numbers apart."""


def read_ids(column: Any, what: str = "ids") -> Any:
    """The column in the one type of its kind: int64 (or uint64, decimal256 where it must), large_string, or its own.

    ``what`` is what to call it in a message.
    """
    ids = _in_one_type(column, what)
    if pa.types.is_floating(ids.type):
        _check_exact(ids, what)
    try:
        sorted_unique(ids[:0])
    except pa.ArrowNotImplementedError:
        raise InputTypeError(what, f"has the type {ids.type}", "have text or whole numbers") from None
    return ids


def plain(column: Any, what: str) -> Any:
    """The column as one array of its values, however they are stored."""
    kind = pa.types
    if isinstance(column, pa.ChunkedArray):  # more than 2 GB of text have room in large text alone
        column = (column.cast(pa.large_string()) if is_text(column.type) else column).combine_chunks()
    if kind.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        if column.type.extension_name != "arrow.uuid":
            raise InputTypeError(what, f"has the type {column.type}", "have text or numbers", "cast it to text.")
        column = _uuid_texts(column)
    return column


def _uuid_texts(column: Any) -> Any:
    coded = column.storage.dictionary_encode()
    texts = [str(UUID(bytes=each)) for each in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.large_string()).take(coded.indices)


def _check_exact(ids: Any, what: str) -> None:
    """Refuse floats so large that different ids may have become one."""
    large = ids.filter(pc.greater_equal(pc.abs(ids), EXACT_IN_FLOATS))
    if len(large):
        found = f"has {large[0].as_py():g} as a float, which may have lost its last digits"
        hint = "a null makes floats of whole numbers in pandas; read them as Int64."
        raise InputTypeError(what, found, "have text or whole numbers", hint)


def _in_one_type(column: Any, what: str) -> Any:
    column, kind = plain(column, what), pa.types
    if kind.is_nested(column.type) or kind.is_duration(column.type):
        raise InputTypeError(what, f"has the type {column.type}", "have text or whole numbers")
    if is_text(column.type):
        return column.cast(pa.large_string())
    if kind.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), None, column)
        return column.cast(pa.int64()) if _all_whole(column) else column
    if kind.is_uint64(column.type) and (pc.max(column).as_py() or 0) >= 2**63:
        return column
    if kind.is_integer(column.type) or kind.is_boolean(column.type) or kind.is_null(column.type):
        return column.cast(pa.int64())
    return _smallest(column) if kind.is_decimal(column.type) else column


def matched(one: Any, other: Any, column: str, tables: tuple[str, str]) -> tuple[Any, Any]:
    """Two columns of ids in a type that both can be compared in; an error where there is none."""
    if one.null_count == len(one):  # a column without a value has no type of its own
        return pa.nulls(len(one), other.type), other
    if one.type == other.type or not len(other):
        return one, other
    kinds = _kind(one), _kind(other)
    if kinds[0] != kinds[1]:
        found = f"is {kinds[0]} in {tables[0]} and {kinds[1]} in {tables[1]}"
        hint = Message(Wording("cast one of them", "write both as Parquet, with ids of one type"), ".")
        raise InputTypeError(Message(column), found, "be of one type", hint)
    wide = pa.decimal256(76, 0)  # numbers alone have several types of one kind
    return one.cast(wide), other.cast(wide)


def valid(ids: Any) -> Booleans:
    """Which of them are not null."""
    return np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def sorted_unique(ids: Any) -> Any:
    """The different ids, in order, without null."""
    different = ids.unique().drop_null()
    return different.take(pc.sort_indices(different))


def codes_in(ids: Any, vocabulary: Any) -> Integers:
    """Each id's place in the vocabulary, −1 where it has none."""
    if not len(vocabulary) or not len(ids):
        return np.full(len(ids), -1, dtype=np.int64)
    places = pc.fill_null(pc.index_in(ids, value_set=vocabulary, skip_nulls=True), pa.scalar(-1, pa.int32()))
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)


def encode(ids: Any) -> tuple[Any, Integers]:
    """The different ids in order, and each id's place among them; −1 for null."""
    different = sorted_unique(ids)
    return different, codes_in(ids, different)


def keys_of(ids: Any) -> list[Hashable]:
    """The ids as Python values, the keys that rankings are drawn by.

    A whole number is the same key whether or not the column has others beside it that are not whole.
    """
    return [_number(key) if isinstance(key, (float, Decimal)) else key for key in ids.to_pylist()]


def _number(key: float | Decimal) -> float:
    whole = key.is_integer() if isinstance(key, float) else key == key.to_integral_value()
    return int(key) if whole else float(key)


def labels_of(column: Any, what: str = "labels") -> Any:
    """Labels as text without space around them, null where there is nothing left."""
    try:
        text = pc.utf8_trim_whitespace(_in_one_type(column, what).cast(pa.large_string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputTypeError(what, f"has the type {column.type} ({error})", "have text or numbers") from error
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.large_string()), text)


def by_label(given: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """A mapping with its keys as labels of a column of the same values; keys of several types as Python has them.

    >>> by_label({1.5: 0.1, 2.0: 0.2}, "floors"), by_label({"drama": 0.1, 7: 0.2}, "floors")
    ({'1.5': 0.1, '2': 0.2}, {'drama': 0.1, '7': 0.2})
    """
    keys, found = list(given), dict[str, Any]()
    try:
        labels = labels_of(pa.array(keys)).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, InputTypeError):
        labels = [None] * len(keys)
    for key, label in zip(keys, labels, strict=True):
        name = str(key) if label is None else label
        if name in found:
            raise InputError(what, f"has {name!r} twice", "have each name once")
        found[name] = given[key]
    return found


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _kind(ids: Any) -> str:
    if pa.types.is_integer(ids.type) or (pa.types.is_decimal(ids.type) and not ids.type.scale):
        return "whole numbers"
    return "text" if pa.types.is_large_string(ids.type) else str(ids.type)


def _all_whole(column: Any) -> bool:
    small = pc.less(pc.abs(column), EXACT_IN_FLOATS)
    return pc.all(pc.and_(pc.equal(column, pc.floor(column)), small)).as_py() is not False


def _smallest(column: Any) -> Any:
    """Decimals that are whole numbers: as int64 where they fit; fractions as they are."""
    for kind in (pa.int64(), pa.decimal256(76, 0)):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
