"""Candidates as recommenders give them, arrays of item ids and scores, as the table that ``Reranker`` takes.

One user, one row per user, or rows of different lengths; padding is left out. Masked arrays, tensors and lists too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import numbers
from excalibr._messages import counted
from excalibr._types import Booleans, Integers
from excalibr.errors import InputError, InputTypeError
from excalibr.tables._arrow import pa
from excalibr.tables._ids import EXACT_IN_FLOATS

PADDING = -1
"""The id that stands for no item."""

NO_SCORE = float(np.finfo(np.float32).min)
"""The score that implicit and others write where they have nothing to recommend."""


def from_arrays(ids: Any, scores: Any, *, users: Any = None, items: Any = None) -> Any:
    """A table of candidates from arrays of item ids and scores.

    Parameters
    ----------
    ids
        Item ids: (n,) of one user, (users, n) with one row per user, or a list (or a column of a table) of arrays of
        different lengths. Beside scores with one row per user also (n,), the same candidates for everybody.
    scores
        Of the same shape. A pair whose id is missing (−1, None, nan, masked) or whose score is (nan, infinite, masked,
        or float32's smallest number) is padding, and left out.
    users
        One user's id; with one row per user (users,) their ids, by default 0, 1, …; with arrays of (n,) also (n,), the
        user of each candidate.
    items
        (m,) item ids, where ``ids`` are places among them, as recommenders count columns: ``items[ids]``.

    Returns
    -------
    pyarrow.Table
        With ``user_id``, ``item_id`` and ``score``; pandas has it by ``.to_pandas()``, Polars by ``pl.from_arrow``.

    Examples
    --------
    Two users; the recommender had only one item for the second:

    >>> table = from_arrays([[7, 8], [9, -1]], [[0.9, 0.8], [0.7, 0.0]], users=["ada", "bob"])
    >>> table.to_pydict()
    {'user_id': ['ada', 'ada', 'bob'], 'item_id': [7, 8, 9], 'score': [0.9, 0.8, 0.7]}
    """
    given, scored = _matched(_read("ids", ids), _read("scores", scores))
    values = numbers("scores", _nan_for_none(scored.flat))
    there = _is_item(given.flat) & np.isfinite(values) & (values > NO_SCORE)
    chosen = given.flat[there]
    columns = {
        "user_id": _column("users", _user_ids(users, scored)[there]),
        "item_id": _column("ids", chosen) if items is None else _column("items", _numbered(chosen, items)),
        "score": values[there],
    }
    return pa.table(columns)


def _column(name: str, ids: NDArray[Any]) -> Any:
    """Ids as a column of a table; whole numbers that may have lost their last digits on the way are refused."""
    if ids.dtype.kind == "f" and (np.abs(ids) >= EXACT_IN_FLOATS).any():
        found = f"have {ids[np.abs(ids) >= EXACT_IN_FLOATS][0]:g} as a fraction, which is not exact"
        raise InputError(name, found, "be whole numbers, or text", "pass an array of type int64 or uint64.")
    try:
        return pa.array(ids.tolist() if ids.dtype == object else ids)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise InputTypeError(name, f"cannot be read ({error})", "be text or whole numbers, all of one type") from error


class _RaggedRows(NamedTuple):
    """Rows one after another, and how long each is; ``one`` where there was a single dimension."""

    flat: NDArray[Any]
    sizes: Integers
    one: bool


def _read(name: str, values: Any) -> _RaggedRows:
    rows = [_array(each) for each in values] if isinstance(values, (list, tuple)) else []
    if any(row.ndim for row in rows):
        if any(row.ndim != 1 for row in rows):
            at = next(number for number, row in enumerate(rows) if row.ndim != 1)
            raise InputError(name, f"row {at} has shape {rows[at].shape}", "have rows of one dimension")
        filled = [row for row in rows if len(row)] or rows  # an empty list is one of floats to numpy
        return _RaggedRows(np.concatenate(filled), np.array([len(row) for row in rows]), one=False)
    found = _array(values)
    if found.dtype == object and found.ndim == 1 and any(map(np.ndim, found)):  # a column of lists
        return _read(name, found.tolist())
    if found.ndim not in (1, 2):
        raise InputError(name, f"have shape {found.shape}", "have one dimension, or two with a row a user")
    if found.ndim == 1:
        return _RaggedRows(found, np.array([len(found)]), one=True)
    return _RaggedRows(found.ravel(), np.full(len(found), found.shape[1]), one=False)


def _array(values: Any) -> NDArray[Any]:
    """An array, or a tensor's; what is masked is None."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ma.MaskedArray):
        filled = np.array(values.data, dtype=object)
        filled[np.ma.getmaskarray(values)] = None
        return filled
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths, one inside another
        raise InputError("rows", "are lists in lists in lists", "be a list of arrays") from None


def _matched(ids: _RaggedRows, scores: _RaggedRows) -> tuple[_RaggedRows, _RaggedRows]:
    """Both, the ids once for each user where they are the same for all."""
    if ids.one and not scores.one and (scores.sizes == ids.sizes[0]).all():
        count = len(scores.sizes)
        ids = _RaggedRows(np.tile(ids.flat, count), np.repeat(ids.sizes, count), one=False)
    if ids.one != scores.one or len(ids.sizes) != len(scores.sizes):
        raise InputError("scores", f"have {_shape(scores)}", f"have the shape of the ids, {_shape(ids)}")
    if (ids.sizes != scores.sizes).any():
        at = int(np.argmax(ids.sizes != scores.sizes))
        where = "" if ids.one else f"row {at} "
        raise InputError("scores", f"{where}has {scores.sizes[at]}", f"have as many as there are ids ({ids.sizes[at]})")
    return ids, scores


def _shape(rows: _RaggedRows) -> str:
    return "one dimension" if rows.one else counted(len(rows.sizes), "row")


def _nan_for_none(values: NDArray[Any]) -> NDArray[Any]:
    return np.array([each if _is_there(each) else np.nan for each in values]) if values.dtype == object else values


def _is_item(ids: NDArray[Any]) -> Booleans:
    """Which ids name an item."""
    if ids.dtype == object:
        return np.array([_is_there(each) and each != PADDING for each in ids.tolist()], dtype=np.bool_)
    if ids.dtype.kind == "f":
        return np.asarray(np.isfinite(ids) & (ids != PADDING))
    return np.asarray(ids != PADDING) if ids.dtype.kind == "i" else np.ones(len(ids), dtype=np.bool_)


def _is_there(value: Any) -> bool:
    """Whether it is anything but None, or nan, NaT and the NA of pandas, which do not equal themselves."""
    same = value == value
    return value is not None and isinstance(same, (bool, np.bool_)) and bool(same)


def _user_ids(users: Any, rows: _RaggedRows) -> NDArray[Any]:
    """The user of each candidate."""
    count, total = len(rows.sizes), len(rows.flat)
    own = None if users is None else _array(users)
    if own is None or own.ndim == 0:
        if users is not None and not rows.one:
            raise InputError("users", f"are {users!r}", f"be one id for each row, {count:,} in all")
        return np.repeat(np.arange(count) if own is None else own[None], rows.sizes)
    if own.ndim == 1 and len(own) == (total if rows.one else count):
        return own if rows.one else np.repeat(own, rows.sizes)
    must = f"be one id, or {total} of them, one for each candidate" if rows.one else f"be {count} ids, one for each row"
    raise InputError("users", f"have shape {own.shape}", must)


def _numbered(places: NDArray[Any], items: Any) -> NDArray[Any]:
    """The ids at these places."""
    known = _array(items)
    if known.ndim != 1:
        raise InputError("items", f"have shape {known.shape}", "have one dimension, an id for each place")
    whole = np.asarray(places.tolist() or np.empty(0, dtype=np.int64)) if places.dtype == object else places
    if whole.dtype.kind not in "iu":
        raise InputTypeError("ids", f"are of type {whole.dtype}", "be whole numbers, places in items")
    outside = (whole < 0) | (whole >= len(known))
    if outside.any():
        raise InputError("ids", f"contain {whole[outside][0]}", f"be places in items, 0 to {len(known) - 1}")
    return np.asarray(known[whole])
