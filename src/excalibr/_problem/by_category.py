"""Options by category, read into arrays: weights, floors and caps, and how many of a category a ranking may have.

Each may be written for a single array of categories, or by attribute where ``categories`` is a mapping from names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import first_true, frozen, is_whole, numbers, require_all, require_shape
from excalibr._options import Options, real_number
from excalibr._problem.memberships import Memberships
from excalibr._problem.terms import AttributeSpan
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError, unknown_name

ByCategory: TypeAlias = "ArrayLike | Mapping[Any, Any]"
"""A number for each category: (r,), or a mapping from category indices, or by attribute a mapping to either."""

LARGEST_WEIGHT = 1e30
"""Weights beyond it mean nothing, and their products with others could overflow."""

MOST_OF_A_CATEGORY = 2**31
"""A limit per category that no number of candidates reaches; beyond it, whole numbers end."""


_check_weight = real_number("be a finite number of at least 0", lambda value: 0.0 <= value < np.inf)


@dataclass(frozen=True, slots=True)
class CategoryReader:
    """Reads what options say by category into (r,) arrays; categories of which nothing is said keep a default."""

    attributes: tuple[AttributeSpan, ...]
    r: int

    def weights(self, options: Options) -> Floats:
        """(r,) attribute weight × category weight."""
        weights = self._numbers("category_weights", options.category_weights, 1.0)
        require_all("category_weights", weights, np.isfinite(weights) & (weights >= 0), "be finite and at least 0")
        for columns, weight in self._attribute_weights(options.attribute_weights):
            with np.errstate(over="ignore"):  # what overflows is refused below
                weights[columns] *= weight
        if not np.isfinite(weights).all() or weights.max(initial=0.0) > LARGEST_WEIGHT:
            found = f"have a product of {weights.max():.3g}"
            raise InputError("category_weights and attribute_weights", found, f"be at most {LARGEST_WEIGHT:g}")
        return weights

    def relative(self, weights: Floats, low: Floats, high: Floats) -> Floats:
        """The weights over the target, or the middle of bands, all (r,).

        A category that nobody wants costs as much as the least wanted one of its attribute.
        """
        middle, divided = 0.5 * (low + high), weights.copy()
        for attribute in self.attributes or (AttributeSpan("", 0, self.r),):
            own = middle[attribute.columns]
            least = own[own > 0.0].min(initial=np.inf)
            divided[attribute.columns] /= np.where(own > 0.0, own, 1.0 if np.isinf(least) else least)
        return divided

    def limits(self, options: Options) -> tuple[Floats, Floats] | tuple[None, None]:
        """Floors and caps; what every policy keeps anyway (a floor of 0, a cap of 1) is no limit. None without any."""
        floors, caps = self._numbers("floors", options.floors, 0.0), self._numbers("caps", options.caps, 1.0)
        for argument, limits in (("floors", floors), ("caps", caps)):
            require_all(argument, limits, (limits >= 0.0) & (limits <= 1.0), "be shares from 0 to 1")
        at = first_true(floors > caps)
        if at is not None:
            raise InputError("floors", f"of category {at} is {floors[at]:g}", f"be at most its cap, {caps[at]:g}")
        if not (floors.any() or (caps < 1.0).any()):
            return None, None
        return frozen(np.where(floors > 0.0, floors, -np.inf)), frozen(np.where(caps < 1.0, caps, np.inf))

    def groups(self, given: Any, rows: Memberships) -> tuple[Integers, Integers, Booleans]:
        """By ``max_per_category``: each row's group, −1 for none, the groups' limits, and rows with a share of one."""
        if self.attributes and isinstance(given, Mapping) and len(given) > 1:
            found, must = f"limits {len(given)} attributes", "limit one of them"
            hint = "limits of two attributes at once cannot be kept by a sort, and the optimum could not be proven."
            raise InputError("max_per_category", found, must, hint)
        limits = self._numbers("max_per_category", given, np.inf)
        good = (limits >= 0) & ((limits == np.floor(limits)) | np.isinf(limits))
        require_all("max_per_category", limits, good, "be whole numbers of at least 0")
        limited = np.flatnonzero(np.isfinite(limits))
        number_of = np.full(self.r, -1, dtype=np.int64)
        number_of[limited] = np.arange(len(limited))
        inside = number_of[rows.indices] >= 0
        partial = np.zeros(rows.n_candidates, dtype=np.bool_)
        partial[rows.owners[inside & (np.abs(rows.values - 1.0) > 1e-9)]] = True
        groups = np.full(rows.n_candidates, -1, dtype=np.int64)
        groups[rows.owners[inside]] = number_of[rows.indices[inside]]
        return groups, np.minimum(limits[limited], MOST_OF_A_CATEGORY).astype(np.int64), partial

    def _numbers(self, argument: str, given: Any, default: float) -> Floats:
        if given is not None and not self.attributes:
            return _spread(argument, given, self.r, default)
        if given is not None and not isinstance(given, Mapping):
            raise InputTypeError(argument, f"is {given!r}", "be a mapping by attribute, as categories are")
        values = np.full(self.r, default)
        for attribute, part in self._by_attribute(argument, given or {}):
            values[attribute.columns] = _spread(f"{argument}[{attribute.name!r}]", part, attribute.size, default)
        return values

    def _attribute_weights(self, given: Any) -> Iterator[tuple[slice, float]]:
        """The columns of each attribute that has a weight, with the weight."""
        if given is not None and not (self.attributes and isinstance(given, Mapping)):
            hint = "pass categories={'genre': …} and target={'genre': …}."
            raise InputTypeError("attribute_weights", f"is {given!r}", "go with categories by name", hint)
        for attribute, weight in self._by_attribute("attribute_weights", given or {}):
            _check_weight(f"attribute_weights[{attribute.name!r}]", weight)
            yield attribute.columns, float(weight)

    def _by_attribute(self, argument: str, given: Mapping[Any, Any]) -> Iterator[tuple[AttributeSpan, Any]]:
        known = {each.name: each for each in self.attributes}
        for name, value in given.items():
            if name not in known:
                raise unknown_name(argument, name, known)
            yield known[name], value


def _spread(argument: str, given: Any, r: int, default: float) -> Floats:
    """(r,) from one number for all, an array, or a mapping from category indices."""
    if isinstance(given, Mapping):
        values = np.full(r, default)
        for category, value in given.items():
            if not (is_whole(category) and 0 <= category < r):
                raise InputError(argument, f"has the category {category!r}", f"have indices from 0 to {r - 1}")
            own = numbers(f"{argument}[{category}]", value)
            if own.ndim:
                raise InputError(f"{argument}[{category}]", f"has shape {own.shape}", "be one number")
            values[category] = own
        return values
    array = numbers(argument, given)
    if array.ndim:
        require_shape(argument, array.shape, (r,), "one for each category")
    return np.full(r, array)
