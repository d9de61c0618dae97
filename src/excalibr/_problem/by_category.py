"""Options by category, read into arrays: weights, floors and caps, and how many of a category a ranking may have.

Each may be written for a single array of categories, or by attribute where ``categories`` is a mapping from names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import is_real, is_whole, numbers
from excalibr._problem.memberships import Memberships
from excalibr._problem.terms import AttributeSpan
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError, explain, unknown_name

__all__ = [
    *("ByCategory", "CategoryReader", "Groups", "is_share", "read_groups", "read_limits", "read_weights"),
    *("relative_weights", "require_all"),
]

ByCategory: TypeAlias = "ArrayLike | Mapping[Any, Any]"
"""A number for each category: (r,), or a mapping from category indices, or by attribute a mapping to either."""

LARGEST_WEIGHT = 1e30
"""Weights beyond it mean nothing, and their products with others could overflow."""


@dataclass(frozen=True, slots=True)
class CategoryReader:
    """Reads numbers by category into (r,) arrays; those that are not given keep a default."""

    attributes: tuple[AttributeSpan, ...]
    r: int

    def __call__(self, argument: str, given: Any, default: float) -> Floats:
        """(r,) the numbers of an argument."""
        values = np.full(self.r, default)
        if given is None:
            return values
        if not self.attributes:
            values[:] = _spread(argument, given, self.r, default)
            return values
        if not isinstance(given, Mapping):
            raise InputTypeError(explain(argument, f"is {given!r}", "be a mapping by attribute, as categories are"))
        known = {each.name: each for each in self.attributes}
        for name, part in given.items():
            if name not in known:
                raise unknown_name(argument, name, known)
            values[known[name].columns] = _spread(f"{argument}[{name!r}]", part, known[name].size, default)
        return values


def _spread(argument: str, given: Any, r: int, default: float) -> Floats:
    """(r,) from one number for all, an array, or a mapping from category indices."""
    if isinstance(given, Mapping):
        values = np.full(r, default)
        for category, value in given.items():
            if not (is_whole(category) and 0 <= category < r):
                raise InputError(explain(argument, f"has the category {category!r}", f"have indices from 0 to {r - 1}"))
            values[category] = numbers(f"{argument}[{category}]", value)
        return values
    array = numbers(argument, given)
    if array.ndim and array.shape != (r,):
        raise InputError(explain(argument, f"has shape {array.shape}", f"have shape ({r},), one for each category"))
    return np.broadcast_to(array, r)


def read_weights(category_weights: Any, attribute_weights: Any, by_category: CategoryReader) -> Floats:
    """(r,) attribute weight × category weight."""
    weights = by_category("category_weights", category_weights, 1.0)
    require_all("category_weights", weights, is_share, "be finite and at least 0")
    for attribute in by_category.attributes or (AttributeSpan("", 0, by_category.r),):
        with np.errstate(over="ignore"):  # what overflows is refused below
            weights[attribute.columns] *= _attribute_weight(attribute_weights, attribute, by_category.attributes)
    if not np.isfinite(weights).all() or weights.max(initial=0.0) > LARGEST_WEIGHT:
        found = f"have a product of {weights.max():.3g}"
        raise InputError(explain("category_weights and attribute_weights", found, f"be at most {LARGEST_WEIGHT:g}"))
    return weights


def relative_weights(weights: Floats, low: Floats, high: Floats, attributes: tuple[AttributeSpan, ...]) -> Floats:
    """The weights over the targets, or the middle of bands, (r,) or (users, r).

    A category that nobody wants costs as much as the least wanted one of its attribute.
    """
    middle = 0.5 * (low + high)
    divided = np.broadcast_to(weights, middle.shape).copy()
    for attribute in attributes or (AttributeSpan("", 0, middle.shape[-1]),):
        own = middle[..., attribute.columns]
        wanted = own > 0.0
        least = np.where(wanted, own, np.inf).min(axis=-1, keepdims=True)
        divided[..., attribute.columns] /= np.where(wanted, own, np.where(np.isinf(least), 1.0, least))
    return divided


def _attribute_weight(
    given: Mapping[str, float] | None, attribute: AttributeSpan, attributes: tuple[AttributeSpan, ...]
) -> float:
    if given is None:
        return 1.0
    if not attributes or not isinstance(given, Mapping):
        hint = "pass categories={'genre': …} and target={'genre': …}."
        raise InputTypeError(explain("attribute_weights", f"is {given!r}", "go with categories by name", hint))
    names = [each.name for each in attributes]
    for name, weight in given.items():
        if name not in names:
            raise unknown_name("attribute_weights", name, names)
        if not (is_real(weight) and 0.0 <= weight < np.inf):
            raise InputError(
                explain(f"attribute_weights[{name!r}]", f"is {weight!r}", "be a finite number of at least 0")
            )
    return float(given.get(attribute.name, 1.0))


def read_limits(given_floors: Any, given_caps: Any, by_category: CategoryReader) -> tuple[Floats, Floats]:
    """Floors and caps; what every policy keeps anyway (a floor of 0, a cap of 1) is no limit."""
    floors = by_category("floors", given_floors, 0.0)
    caps = by_category("caps", given_caps, 1.0)
    for argument, limits in (("floors", floors), ("caps", caps)):
        require_all(argument, limits, lambda shares: (shares >= 0.0) & (shares <= 1.0), "be shares from 0 to 1")
    if (floors > caps).any():
        at = int(np.argmax(floors > caps))
        raise InputError(explain("floors", f"of category {at} is {floors[at]:g}", f"be at most its cap, {caps[at]:g}"))
    return np.where(floors > 0.0, floors, -np.inf), np.where(caps < 1.0, caps, np.inf)


class Groups(NamedTuple):
    """The group of each row, −1 for none; how many of each a ranking may have; rows with only a share of one."""

    of_row: Integers
    limits: Integers
    partial: Booleans


def read_groups(given: Any, by_category: CategoryReader, rows: Memberships) -> Groups:
    """The groups that ``max_per_category`` makes; a row with only a share of a limited category has none to count."""
    if isinstance(given, bool):
        raise InputTypeError(explain("max_per_category", f"is {given}", "be a whole number, an array or a mapping"))
    if by_category.attributes and isinstance(given, Mapping) and len(given) > 1:
        found, must = f"limits {len(given)} attributes", "limit one of them"
        hint = "limits of two attributes at once cannot be kept by a sort, and the optimum could not be proven."
        raise InputError(explain("max_per_category", found, must, hint))
    limits = by_category("max_per_category", given, np.inf)
    whole = (limits >= 0) & ((limits == np.floor(limits)) | np.isinf(limits))
    require_all("max_per_category", limits, lambda _: whole, "be whole numbers of at least 0")
    limited = np.flatnonzero(np.isfinite(limits))
    number_of = np.full(rows.n_categories, -1, dtype=np.int64)
    number_of[limited] = np.arange(len(limited))
    inside = number_of[rows.indices] >= 0
    partial = np.zeros(rows.n_candidates, dtype=np.bool_)
    partial[rows.owners[inside & (np.abs(rows.values - 1.0) > 1e-9)]] = True
    groups = np.full(rows.n_candidates, -1, dtype=np.int64)
    groups[rows.owners[inside]] = number_of[rows.indices[inside]]
    return Groups(groups, np.minimum(limits[limited], rows.n_candidates).astype(np.int64), partial)


def is_share(array: Floats) -> Any:
    """Finite and at least 0, element by element."""
    return np.isfinite(array) & (array >= 0)


def require_all(argument: str, array: Floats, test: Callable[[Floats], Any], must: str, hint: str = "") -> None:
    """Raise an error that names the first element that fails the test."""
    good = test(array)
    if not good.all():
        at = int(np.argmin(good))
        raise InputError(explain(argument, f"element {at} is {array[at]}", must, hint))
