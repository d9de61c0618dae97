"""From options, pins and earlier pages to :class:`BatchTerms`, for one user or for many: the same numbers either way.

What is wrong with the options is an error. What is wrong with one user's own part is handed to ``refuse``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import finite_numbers, first_true, frozen, is_whole, starts_of, sums_by, whole_numbers
from excalibr._native import kernel
from excalibr._problem.by_category import CategoryReader
from excalibr._problem.faults import error_of_fault, too_few_candidates
from excalibr._problem.memberships import Memberships, read_rows
from excalibr._problem.terms import AttributeSpan, BatchTerms, Shown
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError, InputError, InputTypeError
from excalibr.positions import raw_weights

if TYPE_CHECKING:
    from excalibr._problem.batch import Batch

Pinned: TypeAlias = Mapping[int, Mapping[int, int]]
Groups: TypeAlias = tuple[Integers, Integers]
Refuse: TypeAlias = Callable[[int, ExcalibrError], None]

Seen: TypeAlias = tuple[Memberships, Floats]
"""What users have seen of each category, users × r, weighed by attention; and (users,) the attention in all."""


def read_terms(
    batch: Batch, pinned: Pinned, seen: Seen | None, unavailable: Booleans | None, refuse: Refuse
) -> BatchTerms:
    """What is asked of the users of a batch; pins by user."""
    options, by_category = batch.options, CategoryReader(batch.attributes, batch.r)
    weighted = options.category_weights is not None or options.attribute_weights is not None
    floors, caps = by_category.limits(options)
    page_parts, own = (None, None) if seen is None else _in_units_of_this_page(batch, *seen, refuse)
    groups = _groups(batch, by_category, refuse)
    return BatchTerms(
        weights=frozen(by_category.weights(options)) if weighted else None,
        relative=options.relative,
        page_parts=page_parts,
        seen=own,
        floors=floors,
        caps=caps,
        unavailable=unavailable,
        pins=_pins(batch, pinned, unavailable, groups, refuse) if pinned else None,
        groups=groups,
    )


def require_room(batch: Batch, terms: BatchTerms) -> None:
    """There must be enough candidates for a single user's slots once the shown ones and full groups are out."""
    n, k = int(batch.starts[1]), int(batch.slots[0])
    free = np.ones(n, dtype=np.bool_) if terms.unavailable is None else ~terms.unavailable
    room = int(free.sum())
    if terms.groups is not None:
        groups, limits = terms.groups
        counts = np.bincount(groups[free] + 1, minlength=len(limits) + 1)
        room = int(counts[0] + np.minimum(counts[1:], limits).sum())
    if room < k:
        raise too_few_candidates(k, room)


MOST_SEEN = 1e150
"""How many times this page's attention earlier ones may have had: beyond it, what is left to show overflows."""


def _in_units_of_this_page(
    batch: Batch, shares: Memberships, attentions: Floats, refuse: Refuse
) -> tuple[Floats, Memberships]:
    """(users,) this page's part of all that a user sees, and users × r what earlier ones showed in its units."""
    parts, owns = np.ones(batch.users), np.full(batch.users, np.inf)
    for user in np.flatnonzero((attentions > 0) & (batch.slots > 0)).tolist():
        attention = attentions.item(user)
        own = total_attention(batch.options.attention_at(np.arange(1.0, batch.slots[user] + 1.0)))
        own = own or float(batch.slots[user])  # weights that are all 0 here count as equal ones, as in a ranking
        if own + attention == inf or attention / own > MOST_SEEN:
            must = f"have finite sums, the first at most {MOST_SEEN:g} times the second"
            found = f"sum to {attention:.3g} and {own:.3g}"
            refuse(user, InputError("shown.position_weights and position_weights", found, must))
            continue
        owns[user] = own
        parts[user] = own / (own + attention)
    return frozen(parts), replace(shares, values=shares.values / owns[shares.owners])


def total_attention(weights: Floats) -> float:
    """The sum of weights, infinite where it is too large for a number."""
    with np.errstate(over="ignore"):
        return float(weights.sum())


def _groups(batch: Batch, by_category: CategoryReader, refuse: Refuse) -> Groups | None:
    if batch.options.max_per_category is None:
        return None
    of_row, limits, partial = by_category.groups(batch.options.max_per_category, batch.memberships)
    partial = partial if batch.items is None else partial[batch.items]
    counted = starts_of(partial)
    for user in np.flatnonzero(counted[batch.starts[1:]] > counted[batch.starts[:-1]]).tolist():
        own = partial[batch.starts[user] : batch.starts[user + 1]]
        found = f"counts a category of which row {int(np.argmax(own))} has only a share"
        hint = "an item with shares in several categories has no one category to count; use caps on expected shares."
        must = "have one category an item (rows of 0 and 1)"
        refuse(user, InputError("max_per_category", found, must, hint))
    return of_row, limits


def _pins(
    batch: Batch, pinned: Pinned, unavailable: Booleans | None, groups: Groups | None, refuse: Refuse
) -> tuple[Integers, Integers, Integers]:
    """Where each user's pins begin, their slots in rising order and their candidates."""
    counts = np.zeros(batch.users, dtype=np.int64)
    kept = [np.empty((2, 0), dtype=np.int64)]
    for user, given in sorted(pinned.items()):
        first, last = batch.starts[user : user + 2].tolist()
        try:
            slots, candidates = _read_pins(given, last - first, int(batch.slots[user]))
            if unavailable is not None:
                _require_new(candidates, unavailable[first:last])
            if groups is not None:
                rows = candidates + first if batch.items is None else batch.items[candidates + first]
                _require_within(*groups, rows)
        except (InputError, InputTypeError) as error:
            refuse(user, error)
            continue
        kept.append(np.stack([slots, candidates]))
        counts[user] = len(slots)
    slots, candidates = np.concatenate(kept, axis=1)
    return starts_of(counts), slots, candidates


def _read_pins(given: Any, n: int, k: int) -> tuple[Integers, Integers]:
    if not isinstance(given, Mapping):
        raise InputTypeError("pinned", f"is {given!r}", "be a mapping from slots to candidates")
    for kind, values, size in (("slot", given.keys(), k), ("candidate", given.values(), n)):
        for value in values:
            if not (is_whole(value) and 0 <= value < size):
                raise InputError("pinned", f"has the {kind} {value!r}", f"have whole numbers from 0 to {size - 1}")
    slots = np.array(sorted(given), dtype=np.int64)
    candidates = np.array([given[int(slot)] for slot in slots], dtype=np.int64)
    if len(np.unique(candidates)) < len(candidates):
        raise InputError("pinned", f"is {dict(given)}", "have each candidate in one slot")
    return slots, candidates


def _require_new(candidates: Integers, unavailable: Booleans) -> None:
    at = first_true(unavailable[candidates])
    if at is not None:
        raise InputError("pinned", f"has candidate {candidates[at]}, which was shown before", "not be shown already")


def _require_within(groups: Integers, limits: Integers, rows: Integers) -> None:
    counts = np.bincount(groups[rows] + 1, minlength=len(limits) + 1)[1:]
    if (counts > limits).any():
        raise InputError("pinned", "has more of a category than max_per_category", "keep that limit")


def read_shown(shown: Any, memberships: Memberships, attributes: tuple[AttributeSpan, ...]) -> tuple[Seen, Booleans]:
    """What earlier pages showed to one user, and which candidates they showed."""
    n, r = memberships.n_candidates, memberships.n_categories
    if not isinstance(shown, Shown):
        hint = "shown=excalibr.Shown(candidates=[3, 1, 4])."
        raise InputTypeError("shown", f"is {type(shown).__name__}", "be an excalibr.Shown", hint)
    pages = _pages(shown.candidates, n)
    others = _other_rows(shown.categories, attributes, r)
    sizes = [len(page) for page in pages] + ([others.n_candidates] if others is not None else [])
    weights = _shown_weights(shown.position_weights, sizes)
    candidates = np.concatenate([*pages, np.empty(0, dtype=np.int64)])
    seen = memberships.shares(sums_by(candidates, weights[: len(candidates)], n))
    if others is not None:
        seen += others.shares(weights[len(candidates) :])
    unavailable = np.zeros(n, dtype=np.bool_)
    unavailable[candidates] = True
    return (Memberships.packed(seen[None]), np.array([total_attention(weights)])), unavailable


def _pages(candidates: Any, n: int) -> list[Integers]:
    if candidates is None:
        return []
    if not np.iterable(candidates):
        must = "be a list of indices, or of pages"
        raise InputTypeError("shown.candidates", f"is {candidates!r}", must, "[3] for one item.")
    given: list[Any] = list(candidates)  # once: an iterator has no second time
    if any(np.iterable(page) for page in given):
        pages = given
    else:  # a mask over an array is not in its list
        pages = [given if isinstance(candidates, Iterator) else candidates]
    return [whole_numbers("shown.candidates", page, ("m",), "indices of candidates", below=n) for page in pages]


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
        raise InputError(name, "have attributes of different length", "have a row for each shown item")
    if columns != r:
        raise InputError(name, f"have {columns} categories", f"have {r}, as categories do")
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
        raise InputError("categories", "is an empty mapping", "have at least one attribute")
    if not isinstance(given, Mapping) or set(given) != set(categories):
        found = f"has {sorted(map(str, given))}" if isinstance(given, Mapping) else "is not a mapping"
        raise InputError(argument, found, f"have the attributes of categories, {sorted(map(str, categories))}")


def _shown_weights(given: str | ArrayLike, sizes: list[int]) -> Floats:
    """The weight of each shown item; a name weighs each page from its first slot on."""
    argument, count = "shown.position_weights", sum(sizes)
    if isinstance(given, str):
        return np.concatenate([*(raw_weights(given, size, argument) for size in sizes), np.empty(0)])
    return finite_numbers(argument, given, (count,), "one for each item", least=0)
