"""Reads what callers write beyond scores, rows and a target into :class:`~excalibr._problem.terms.Terms`, checked.

Everything by category may be written for a single array of categories, or by attribute where ``categories`` is a
mapping from names to arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers
from excalibr._problem.checks import is_real, is_share, is_whole, read_target, require_all
from excalibr._problem.memberships import Memberships, read_memberships, stack
from excalibr._problem.penalty import KL_SMOOTHING
from excalibr._problem.terms import Attribute, Band, Shown, Terms
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError, explain, unknown_name
from excalibr.positions import raw_weights

__all__ = [
    "SMOOTHINGS",
    "ByCategory",
    "CategoryReader",
    "Wishes",
    "read_attributes",
    "read_common_weights",
    "read_group_limits",
    "read_limits",
    "read_pins",
    "read_terms",
    "relative_weights",
    "unnormalised_weights",
]

ByCategory: TypeAlias = "ArrayLike | Mapping[Any, Any]"
"""A number for each category: (r,), or a mapping from category indices, or by attribute a mapping to either."""

SMOOTHINGS = {"l1": 0.0, "kl": KL_SMOOTHING}
"""The divergences by name, with the smoothing that makes their penalty."""


LARGEST_WEIGHT = 1e30
"""Weights beyond it mean nothing, and their products with others could overflow."""


class Wishes(NamedTuple):
    """What a caller may ask beyond the paper, as written; see :func:`excalibr.calibrate`."""

    divergence: str = "l1"
    attribute_weights: Mapping[str, float] | None = None
    category_weights: ByCategory | None = None
    relative: bool = False
    floors: ByCategory | None = None
    caps: ByCategory | None = None
    max_per_category: Any = None
    pinned: Mapping[int, int] | None = None
    shown: Shown | None = None

    @property
    def plain(self) -> bool:
        """Nothing beyond the paper's program."""
        return (
            self.divergence == "l1"
            and self.relative is False
            and self.attribute_weights is None
            and self.category_weights is None
            and self.floors is None
            and self.caps is None
            and self.max_per_category is None
            and self.pinned is None
            and self.shown is None
        )


PLAIN = Wishes()


def read_attributes(categories: Any, target: Any, n: int) -> tuple[Memberships, Floats, Floats, tuple[Attribute, ...]]:
    """The stacked memberships, the lower and upper edge of the target, and the attributes (none for single arrays)."""
    if not isinstance(categories, Mapping):
        if isinstance(target, Mapping):
            raise InputTypeError(explain("target", "is a mapping", "be an array where categories are an array"))
        memberships = read_memberships(categories, n)
        return memberships, *_edges(target, memberships.n_categories, "target"), ()
    _require_same_names(categories, target, "target")
    parts = [read_memberships(rows, n, f"categories[{name!r}]") for name, rows in categories.items()]
    attributes, start = [], 0
    for name, part in zip(categories, parts, strict=True):
        attributes.append(Attribute(name, start, start + part.n_categories))
        start += part.n_categories
    bands = [_edges(target[each.name], each.stop - each.start, f"target[{each.name!r}]") for each in attributes]
    low, high = (frozen(np.concatenate(edges)) for edges in zip(*bands, strict=True))
    return stack(parts), low, high, tuple(attributes)


def read_terms(
    wishes: Wishes,
    memberships: Memberships,
    low: Floats,
    high: Floats,
    attributes: tuple[Attribute, ...],
    position_weights: str | ArrayLike,
    slots: Floats,
) -> tuple[Floats, Terms]:
    """The terms, and the lower edge of the target that remains after what was shown."""
    n, r = memberships.n_candidates, memberships.n_categories
    by_category = CategoryReader(attributes, r)
    if wishes.divergence not in SMOOTHINGS:
        raise unknown_name("divergence", wishes.divergence, SMOOTHINGS)
    if not isinstance(wishes.relative, (bool, np.bool_)):
        raise InputTypeError(explain("relative", f"is {wishes.relative!r}", "be True or False"))
    weights = read_common_weights(wishes.category_weights, wishes.attribute_weights, by_category)
    if wishes.relative:
        weights = relative_weights(weights, low, high, attributes)
    base, unavailable, page = _seen(wishes.shown, memberships, attributes, position_weights, len(slots))
    floors, caps = read_limits(wishes.floors, wishes.caps, by_category)
    groups, group_limits = _groups(wishes.max_per_category, by_category, memberships)
    pinned_slots, pinned_candidates = read_pins(wishes.pinned, n, len(slots), unavailable)
    terms = Terms(
        attributes=attributes,
        high=frozen(high / page - base),
        weights=frozen(weights),
        smoothing=SMOOTHINGS[wishes.divergence],
        floors=frozen(floors),
        caps=frozen(caps),
        base=frozen(base),
        unavailable=frozen(unavailable),
        pinned_slots=frozen(pinned_slots),
        pinned_candidates=frozen(pinned_candidates),
        groups=frozen(groups),
        group_limits=frozen(group_limits),
    )
    _require_room(terms, n, len(slots))
    return frozen(low / page - base), terms


def _edges(target: Any, r: int, name: str) -> tuple[Floats, Floats]:
    """The lower and the upper edge of a target, the same where it is a distribution."""
    if not isinstance(target, Band):
        point = read_target(target, r, name)
        return point, point
    if target.low.shape != (r,):
        raise InputError(explain(name, f"is a band of shape {target.low.shape}", f"have shape ({r},)"))
    return target.low, target.high


def _require_same_names(categories: Mapping[str, Any], given: Any, argument: str) -> None:
    if not categories:
        raise InputError(explain("categories", "is an empty mapping", "have at least one attribute"))
    if not isinstance(given, Mapping) or set(given) != set(categories):
        found = f"has {sorted(map(str, given))}" if isinstance(given, Mapping) else "is not a mapping"
        raise InputError(explain(argument, found, f"have the attributes of categories, {sorted(map(str, categories))}"))


@dataclass(frozen=True, slots=True)
class CategoryReader:
    """Reads numbers by category into (r,) arrays; those that are not given keep a default."""

    attributes: tuple[Attribute, ...]
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
            columns = known[name].columns
            values[columns] = _spread(f"{argument}[{name!r}]", part, columns.stop - columns.start, default)
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


def read_common_weights(category_weights: Any, attribute_weights: Any, by_category: CategoryReader) -> Floats:
    """(r,) attribute weight × category weight."""
    weights = by_category("category_weights", category_weights, 1.0)
    require_all("category_weights", weights, is_share, "be finite and at least 0")
    for attribute in by_category.attributes or (Attribute("", 0, by_category.r),):
        with np.errstate(over="ignore"):  # what overflows is refused below
            weights[attribute.columns] *= _attribute_weight(attribute_weights, attribute, by_category.attributes)
    if not np.isfinite(weights).all() or weights.max(initial=0.0) > LARGEST_WEIGHT:
        found = f"have a product of {weights.max():.3g}"
        raise InputError(explain("category_weights and attribute_weights", found, f"be at most {LARGEST_WEIGHT:g}"))
    return weights


def relative_weights(weights: Floats, low: Floats, high: Floats, attributes: tuple[Attribute, ...]) -> Floats:
    """The weights over the targets, or the middle of bands, (r,) or (users, r).

    A category that nobody wants costs as much as the least wanted one of its attribute.
    """
    middle = 0.5 * (low + high)
    divided = np.broadcast_to(weights, middle.shape).copy()
    for attribute in attributes or (Attribute("", 0, middle.shape[-1]),):
        own = middle[..., attribute.columns]
        wanted = own > 0.0
        least = np.where(wanted, own, np.inf).min(axis=-1, keepdims=True)
        divided[..., attribute.columns] /= np.where(wanted, own, np.where(np.isinf(least), 1.0, least))
    return divided


def _attribute_weight(
    given: Mapping[str, float] | None, attribute: Attribute, attributes: tuple[Attribute, ...]
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


def _groups(given: Any, by_category: CategoryReader, memberships: Memberships) -> tuple[Integers, Integers]:
    """The group of each candidate and the most that a ranking may have of each; empty where nothing is limited."""
    none = np.empty(0, dtype=np.int64)
    if given is None:
        return none, none
    groups, limits, partial, why = read_group_limits(given, by_category, memberships)
    if partial.any():
        raise InputError(why.format(row=int(np.argmax(partial))))
    return groups, limits


def read_group_limits(
    given: Any, by_category: CategoryReader, memberships: Memberships
) -> tuple[Integers, Integers, Booleans, str]:
    """The group of each row, −1 for none, and how many of each group a ranking may have.

    Then which rows have only a share of a limited category, so that there is nothing to count, and what to say of them.
    """
    if isinstance(given, bool):
        raise InputTypeError(explain("max_per_category", f"is {given}", "be a whole number, an array or a mapping"))
    if by_category.attributes and isinstance(given, Mapping) and len(given) > 1:
        raise InputError(
            explain(
                "max_per_category",
                f"limits {len(given)} attributes",
                "limit one of them",
                "limits of two attributes at once cannot be kept by a sort, and the optimum could not be proven.",
            )
        )
    limits = by_category("max_per_category", given, np.inf)
    whole = (limits >= 0) & ((limits == np.floor(limits)) | np.isinf(limits))
    require_all("max_per_category", limits, lambda _: whole, "be whole numbers of at least 0")
    limited = np.flatnonzero(np.isfinite(limits))
    number_of = np.full(memberships.n_categories, -1, dtype=np.int64)
    number_of[limited] = np.arange(len(limited))
    numbers_of_entries = number_of[memberships.indices]
    owners = np.repeat(np.arange(memberships.n_candidates), np.diff(memberships.indptr))
    inside = numbers_of_entries >= 0
    partial = np.zeros(memberships.n_candidates, dtype=np.bool_)
    partial[owners[inside & (np.abs(memberships.values - 1.0) > 1e-9)]] = True
    groups = np.full(memberships.n_candidates, -1, dtype=np.int64)
    groups[owners[inside]] = numbers_of_entries[inside]
    hint = "an item with shares in several categories has no one category to count; use caps on expected shares."
    why = explain(
        "max_per_category",
        "counts a category of which row {row} has only a share",
        "have one category an item (rows of 0 and 1)",
        hint,
    )
    return groups, np.minimum(limits[limited], memberships.n_candidates).astype(np.int64), partial, why


def read_pins(
    given: Mapping[int, int] | None, n: int, k: int, unavailable: Booleans | None = None
) -> tuple[Integers, Integers]:
    """The pinned slots, in rising order, and the candidates that keep them."""
    if given is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if not isinstance(given, Mapping):
        raise InputTypeError(explain("pinned", f"is {given!r}", "be a mapping from slots to candidates"))
    for kind, values, size in (("slot", given.keys(), k), ("candidate", given.values(), n)):
        for value in values:
            if not (is_whole(value) and 0 <= value < size):
                raise InputError(explain("pinned", f"has the {kind} {value!r}", f"be from 0 to {size - 1}"))
    slots = np.array(sorted(given), dtype=np.int64)
    candidates = np.array([given[int(slot)] for slot in slots], dtype=np.int64)
    if len(np.unique(candidates)) < len(candidates):
        raise InputError(explain("pinned", f"is {dict(given)}", "have each candidate in one slot"))
    if unavailable is not None and unavailable[candidates].any():
        again = int(candidates[np.argmax(unavailable[candidates])])
        raise InputError(explain("pinned", f"has candidate {again}, which was shown before", "not be shown already"))
    return slots, candidates


def _seen(
    shown: Shown | None,
    memberships: Memberships,
    attributes: tuple[Attribute, ...],
    position_weights: str | ArrayLike,
    k: int,
) -> tuple[Floats, Any, float]:
    """What earlier pages showed of each category in units of this page, whom they showed, and this page's share."""
    n, r = memberships.n_candidates, memberships.n_categories
    unavailable = np.zeros(n, dtype=np.bool_)
    if shown is None:
        return np.zeros(r), unavailable, 1.0
    if not isinstance(shown, Shown):
        hint = "shown=excalibr.Shown(candidates=[3, 1, 4])."
        raise InputTypeError(explain("shown", f"is {type(shown).__name__}", "be an excalibr.Shown", hint))
    pages = [_page(page, n) for page in _pages(shown.candidates)]
    for page in pages:
        unavailable[page] = True
    others = _other_rows(shown.categories, attributes, r)
    sizes = [len(page) for page in pages] + ([others.n_candidates] if others is not None else [])
    weights = _shown_weights(shown.position_weights, sizes)
    seen = np.zeros(r)
    candidates = np.concatenate([*pages, np.empty(0, dtype=np.int64)])
    exposure = np.bincount(candidates, weights=weights[: len(candidates)], minlength=n)
    seen += memberships.shares(np.asarray(exposure, dtype=np.float64))
    if others is not None:
        seen += others.shares(weights[len(candidates) :])
    own = float(unnormalised_weights(position_weights, k).sum())
    return seen / own, unavailable, own / (own + float(weights.sum()))


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


def _other_rows(categories: Any, attributes: tuple[Attribute, ...], r: int) -> Memberships | None:
    if categories is None:
        return None
    argument = "shown.categories"
    if not attributes:
        rows = read_memberships(categories, _height(categories), argument)
    else:
        names = [each.name for each in attributes]
        _require_same_names(dict.fromkeys(names), categories, argument)
        height = _height(categories[names[0]])
        rows = stack([read_memberships(categories[name], height, f"{argument}[{name!r}]") for name in names])
    if rows.n_categories != r:
        raise InputError(explain(argument, f"have {rows.n_categories} categories", f"have {r}, as categories do"))
    return rows


def _height(categories: Any) -> int:
    shape = getattr(categories, "shape", None)
    return int(shape[0]) if shape else len(categories)


def _shown_weights(given: str | ArrayLike, sizes: list[int]) -> Floats:
    """The weight of each shown item; a name weighs each page from its first slot on."""
    if isinstance(given, str):
        return np.concatenate([*(_raw_weights("shown.position_weights", given, size) for size in sizes), np.empty(0)])
    return _raw_weights("shown.position_weights", given, sum(sizes))


def unnormalised_weights(position_weights: str | ArrayLike, k: int) -> Floats:
    """The weights of the first ``k`` slots as they are given, not brought to a sum of 1."""
    if not isinstance(position_weights, str):
        position_weights = np.asarray(position_weights, dtype=np.float64)[:k]
    return _raw_weights("position_weights", position_weights, k)


def _raw_weights(argument: str, given: str | ArrayLike, count: int) -> Floats:
    """Position weights that were not brought to a sum of 1."""
    if isinstance(given, str):
        return raw_weights(given, count, argument)
    array = numbers(argument, given)
    if array.shape != (count,):
        raise InputError(explain(argument, f"have shape {array.shape}", f"have shape ({count},), one an item"))
    require_all(argument, array, is_share, "be finite and at least 0")
    return array


def _require_room(terms: Terms, n: int, k: int) -> None:
    """There must be enough candidates for the slots once the shown ones and full groups are out."""
    free = ~terms.unavailable
    if not terms.group_limits.size:
        room = int(free.sum())
    else:
        counts = np.bincount(terms.groups[free] + 1, minlength=len(terms.group_limits) + 1)
        room = int(counts[0] + np.minimum(counts[1:], terms.group_limits).sum())
        pinned = np.bincount(terms.groups[terms.pinned_candidates] + 1, minlength=len(terms.group_limits) + 1)[1:]
        if (pinned > terms.group_limits).any():
            raise InputError(explain("pinned", "has more of a category than max_per_category", "keep that limit"))
    if room < k:
        hint = "pass more candidates, a smaller k, or wider limits."
        found = f"is {k}, and only {room} of {n} candidates may be shown together"
        raise InputError(explain("k", found, f"be at most {room}", hint))
