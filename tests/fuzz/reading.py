"""The caller's arrays in extended precision, by the words of the documentation, with nothing of the library's code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import Band, Shown
from tests.fuzz.questions import Floats

LONG = np.longdouble


def read_scores(scores: Floats, normalise: str | None) -> Floats:
    long = np.asarray(scores, LONG)
    if normalise is None:
        return long
    spread = long.max() - long.min()
    return (long - long.min()) / spread if spread > 0 else np.zeros_like(long)


def _dense(rows: Any) -> Floats:
    dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, LONG)
    return np.asarray(dense / dense.sum(axis=1, keepdims=True))


def read_rows(categories: Any) -> tuple[tuple[tuple[str, slice], ...], Floats]:
    """Names and columns of the attributes (none for a single array), and all rows side by side."""
    if not isinstance(categories, Mapping):
        return (), _dense(categories)
    parts = [_dense(rows) for rows in categories.values()]
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()
    columns = [slice(end - part.shape[1], end) for end, part in zip(ends, parts, strict=True)]
    return tuple(zip(categories, columns, strict=True)), np.hstack(parts)


def read_edges(target: Any, attributes: tuple[tuple[str, slice], ...]) -> tuple[Floats, Floats]:
    if not attributes:
        return _band(target)
    bands = [_band(target[name]) for name, _ in attributes]
    low = np.concatenate([edge for edge, _ in bands])
    return low, low if all(one is other for one, other in bands) else np.concatenate([edge for _, edge in bands])


def _band(target: Any) -> tuple[Floats, Floats]:
    if isinstance(target, Band):
        return np.asarray(target.low, LONG), np.asarray(target.high, LONG)
    point = np.asarray(target, LONG)
    point = point / point.sum()
    return point, point


@dataclass(frozen=True)
class ByCategory:
    """Reads what may be written as a number, an array, a mapping of indices, or by attribute a mapping to these."""

    attributes: tuple[tuple[str, slice], ...]
    r: int

    def __call__(self, given: Any, default: float) -> Floats:
        values = np.full(self.r, LONG(default))
        if given is None:
            return values
        for name, columns in self.attributes or (("", slice(0, self.r)),):
            own = given.get(name) if self.attributes else given
            if isinstance(own, Mapping):
                for category, value in own.items():
                    values[columns.start + category] = value
            elif own is not None:
                values[columns] = own
        return values


def read_weights(options: dict[str, Any], read: ByCategory, low: Floats, high: Floats) -> Floats:
    weights = read(options.get("category_weights"), 1.0)
    if not (options.get("relative") or options.get("attribute_weights")):
        return weights
    by_attribute = options.get("attribute_weights") or {}
    for name, columns in read.attributes or (("", slice(0, read.r)),):
        weights[columns] *= LONG(by_attribute.get(name, 1.0))
        if options.get("relative"):
            middle = (low[columns] + high[columns]) / 2
            smallest = middle[middle > 0].min() if (middle > 0).any() else LONG(1)
            weights[columns] /= np.where(middle > 0, middle, smallest)
    return weights


def read_attention(weights: Any, count: int) -> Floats:
    """Position weights of the slots 1 … count as they are stated, before they are brought to a sum of 1."""
    if not isinstance(weights, str):
        return np.asarray(weights, LONG)
    slots = np.arange(1, count + 1, dtype=LONG)
    match weights:
        case "log":
            return 1 / np.log(slots + 1)
        case "sqrt":
            return 1 / np.sqrt(slots)
        case "reciprocal":
            return 1 / slots
        case _:
            return np.ones(count, dtype=LONG)


def read_earlier_pages(
    shown: Shown | None, rows: Floats, raw: Floats, attributes: tuple[tuple[str, slice], ...]
) -> tuple[Floats, Floats, Any]:
    """Who was shown, what that showed of each category in units of this page, and this page's part of all attention."""
    unavailable, seen = np.zeros(len(rows), dtype=bool), np.zeros(rows.shape[1], dtype=LONG)
    if shown is None:
        return unavailable, seen, LONG(1)
    candidates: Any = shown.candidates
    pages: list[Any] = [] if candidates is None else list(candidates)
    pages = pages if any(np.ndim(page) for page in pages) else [pages]
    shown_rows = [rows[np.asarray(page, dtype=np.int64)] for page in pages]
    for page in pages:
        unavailable[np.asarray(page, dtype=np.int64)] = True
    if shown.categories is not None:
        given: Any = shown.categories
        parts = [_dense(given[name]) for name, _ in attributes] if attributes else [_dense(given)]
        shown_rows.append(np.hstack(parts))
    weights: Any = shown.position_weights
    by_page = [read_attention(weights, len(page)) for page in shown_rows] if isinstance(weights, str) else [weights]
    attention = np.concatenate([np.asarray(part, LONG) for part in by_page])
    total = raw.sum()
    return unavailable, attention @ np.vstack(shown_rows) / total, total / (total + attention.sum())


def read_groups(given: Any, read: ByCategory, rows: Floats) -> tuple[Floats, Floats]:
    """(n,) the limited category of each candidate, −1 for none, and the limits."""
    if given is None:
        return np.full(len(rows), -1), np.empty(0, dtype=np.int64)
    limits = read(given, np.inf)
    limited = np.flatnonzero(np.isfinite(limits))
    inside = rows[:, limited] > 0.5
    groups = np.where(inside.any(axis=1), inside.argmax(axis=1), -1) if len(limited) else np.full(len(rows), -1)
    return groups, limits[limited].astype(np.int64)
