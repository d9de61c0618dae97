"""Earlier pages: what they showed of each category, and how much attention that was beside this page's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import numbers, sums_by
from excalibr._native import kernel
from excalibr._problem.by_category import is_share, require_all
from excalibr._problem.faults import error_of_fault
from excalibr._problem.memberships import Memberships, read_rows
from excalibr._problem.terms import AttributeSpan, Shown
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError, explain
from excalibr.positions import raw_weights

__all__ = ["SeenShares", "read_shown", "require_same_names"]


class SeenShares(NamedTuple):
    """What a user has seen of each category (r,), weighed by attention, and the attention in all."""

    shares: Floats
    attention: float


def read_shown(
    shown: Any, memberships: Memberships, attributes: tuple[AttributeSpan, ...]
) -> tuple[SeenShares, Booleans]:
    """What earlier pages showed to one user, and which candidates they showed."""
    n, r = memberships.n_candidates, memberships.n_categories
    if not isinstance(shown, Shown):
        hint = "shown=excalibr.Shown(candidates=[3, 1, 4])."
        raise InputTypeError(explain("shown", f"is {type(shown).__name__}", "be an excalibr.Shown", hint))
    pages = [_page(page, n) for page in _pages(shown.candidates)]
    others = _other_rows(shown.categories, attributes, r)
    sizes = [len(page) for page in pages] + ([others.n_candidates] if others is not None else [])
    weights = _shown_weights(shown.position_weights, sizes)
    candidates = np.concatenate([*pages, np.empty(0, dtype=np.int64)])
    seen = memberships.shares(sums_by(candidates, weights[: len(candidates)], n))
    if others is not None:
        seen += others.shares(weights[len(candidates) :])
    unavailable = np.zeros(n, dtype=np.bool_)
    unavailable[candidates] = True
    return SeenShares(seen, float(weights.sum())), unavailable


def _pages(candidates: Any) -> Iterable[Any]:
    if candidates is None:
        return []
    if not np.iterable(candidates):
        found = f"is {candidates!r}"
        raise InputTypeError(
            explain("shown.candidates", found, "be a list of indices, or of pages", "[3] for one item.")
        )
    nested = any(np.ndim(page) for page in candidates)
    return candidates if nested else [candidates]


def _page(page: Any, n: int) -> Integers:
    array = np.asarray(page)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n:
        raise InputError(explain("shown.candidates", f"are {page!r}", f"be candidate indices from 0 to {n - 1}"))
    return array.astype(np.int64)


def _other_rows(categories: Any, attributes: tuple[AttributeSpan, ...], r: int) -> Memberships | None:
    """The category rows of shown items that are not among the candidates, checked."""
    if categories is None:
        return None
    name = "shown.categories"
    if attributes:
        require_same_names(dict.fromkeys(each.name for each in attributes), categories, name)
    named = {f"{name}[{each.name!r}]": categories[each.name] for each in attributes} or {name: categories}
    parts = [read_rows(*part) for part in named.items()]
    height, columns = parts[0][1], sum(each[2] for each in parts)
    if any(each[1] != height for each in parts):
        raise InputError(explain(name, "have attributes of different length", "have a row for each shown item"))
    if columns != r:
        raise InputError(explain(name, f"have {columns} categories", f"have {r}, as categories do"))
    ends = np.cumsum([each[2] for each in parts])
    any_share = (np.zeros(r), np.ones(r))  # rows are checked with a target, and these are to have none
    rows, bands = [each[0] for each in parts], np.ones(len(ends), dtype=np.bool_)
    checked = kernel.Checked(np.zeros(height), None, None, rows, *any_share, ends, bands, False)
    if not checked.sound:
        raise error_of_fault(checked.fault(0), attributes, name)
    return Memberships(checked.indptr, checked.indices, checked.values, r)


def require_same_names(categories: Mapping[str, Any], given: Any, argument: str) -> None:
    """What goes by attribute has those of the categories."""
    if not categories:
        raise InputError(explain("categories", "is an empty mapping", "have at least one attribute"))
    if not isinstance(given, Mapping) or set(given) != set(categories):
        found = f"has {sorted(map(str, given))}" if isinstance(given, Mapping) else "is not a mapping"
        raise InputError(explain(argument, found, f"have the attributes of categories, {sorted(map(str, categories))}"))


def _shown_weights(given: str | ArrayLike, sizes: list[int]) -> Floats:
    """The weight of each shown item; a name weighs each page from its first slot on."""
    argument, count = "shown.position_weights", sum(sizes)
    if isinstance(given, str):
        return np.concatenate([*(raw_weights(given, size, argument) for size in sizes), np.empty(0)])
    array = numbers(argument, given)
    if array.shape != (count,):
        raise InputError(explain(argument, f"have shape {array.shape}", f"have shape ({count},), one an item"))
    require_all(argument, array, is_share, "be finite and at least 0")
    return array
