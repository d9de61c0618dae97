"""From options, pins and earlier pages to :class:`BatchTerms`, for one user or for many: the same numbers either way.

What is wrong with the options is an error. What is wrong with one user's own part is handed to ``refuse``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._arrays import frozen, is_whole, starts_of
from excalibr._problem.by_category import (
    CategoryReader,
    Groups,
    read_groups,
    read_limits,
    read_weights,
    relative_weights,
)
from excalibr._problem.faults import too_few_candidates
from excalibr._problem.pages import SeenShares
from excalibr._problem.terms import BatchTerms
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError, InputError, InputTypeError, explain

if TYPE_CHECKING:
    from excalibr._problem.batch import Batch

__all__ = ["read_terms"]

Pinned = Mapping[int, Mapping[int, int]]


def read_terms(
    batch: Batch,
    pinned: Pinned,
    seen: Mapping[int, SeenShares],
    unavailable: Booleans | None,
    refuse: Callable[[int, ExcalibrError], None],
) -> BatchTerms:
    """What is asked of the users of a batch; pins and earlier pages by user."""
    options, by_category = batch.options, CategoryReader(batch.attributes, batch.r)
    weights = read_weights(options.category_weights, options.attribute_weights, by_category)
    lows, highs = batch.lows, batch.highs
    if options.relative:
        weights = relative_weights(weights, lows, highs, batch.attributes)
    bases = None
    if seen:
        parts, bases = _pages(batch, seen)
        lows, highs = lows / parts[:, None] - bases, highs / parts[:, None] - bases
    floors, caps = read_limits(options.floors, options.caps, by_category)
    limited = bool(np.isfinite(floors).any() or np.isfinite(caps).any())
    groups = _groups(batch, by_category, refuse)
    return BatchTerms(
        lows=frozen(lows),
        highs=frozen(highs),
        weights=frozen(weights),
        bases=bases,
        floors=frozen(floors) if limited else None,
        caps=frozen(caps) if limited else None,
        unavailable=unavailable,
        pins=_pins(batch, pinned, unavailable, groups, refuse) if pinned else None,
        groups=None if groups is None else (groups.of_row, groups.limits),
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


def _pages(batch: Batch, seen: Mapping[int, SeenShares]) -> tuple[Floats, Floats]:
    """(users,) this page's part of all that a user sees, and (users, r) what earlier ones showed in its units."""
    parts, bases = np.ones(batch.users), np.zeros((batch.users, batch.r))
    for user, before in seen.items():
        if batch.slots[user]:
            own = float(batch.options.attention_of(int(batch.slots[user])).sum())
            bases[user] = before.shares / own
            parts[user] = own / (own + before.attention)
    return parts, bases


def _groups(batch: Batch, by_category: CategoryReader, refuse: Callable[[int, ExcalibrError], None]) -> Groups | None:
    if batch.options.max_per_category is None:
        return None
    groups = read_groups(batch.options.max_per_category, by_category, batch.memberships)
    partial = groups.partial if batch.items is None else groups.partial[batch.items]
    counted = starts_of(partial)
    for user in np.flatnonzero(counted[batch.starts[1:]] > counted[batch.starts[:-1]]).tolist():
        own = partial[batch.starts[user] : batch.starts[user + 1]]
        found = f"counts a category of which row {int(np.argmax(own))} has only a share"
        hint = "an item with shares in several categories has no one category to count; use caps on expected shares."
        must = "have one category an item (rows of 0 and 1)"
        refuse(user, InputError(explain("max_per_category", found, must, hint)))
    return groups


def _pins(
    batch: Batch,
    pinned: Pinned,
    unavailable: Booleans | None,
    groups: Groups | None,
    refuse: Callable[[int, ExcalibrError], None],
) -> tuple[Integers, Integers, Integers]:
    """Where each user's pins begin, their slots in rising order and their candidates."""
    counts = np.zeros(batch.users, dtype=np.int64)
    kept: list[tuple[Integers, Integers]] = []
    for user, given in sorted(pinned.items()):
        first, last = batch.starts[user : user + 2].tolist()
        try:
            slots, candidates = _read_pins(given, last - first, int(batch.slots[user]))
            _require_new(candidates, None if unavailable is None else unavailable[first:last])
            if groups is not None:
                rows = candidates + first if batch.items is None else batch.items[candidates + first]
                _require_within(groups, rows)
        except (InputError, InputTypeError) as error:
            refuse(user, error)
            continue
        kept.append((slots, candidates))
        counts[user] = len(slots)
    empty = np.empty(0, dtype=np.int64)
    starts = starts_of(counts)
    columns = (np.concatenate([empty, *column]) for column in zip(*kept, strict=True)) if kept else (empty, empty)
    return starts, *columns


def _read_pins(given: Any, n: int, k: int) -> tuple[Integers, Integers]:
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
    return slots, candidates


def _require_new(candidates: Integers, unavailable: Booleans | None) -> None:
    if unavailable is not None and unavailable[candidates].any():
        again = int(candidates[np.argmax(unavailable[candidates])])
        raise InputError(explain("pinned", f"has candidate {again}, which was shown before", "not be shown already"))


def _require_within(groups: Groups, rows: Integers) -> None:
    counts = np.bincount(groups.of_row[rows] + 1, minlength=len(groups.limits) + 1)[1:]
    if (counts > groups.limits).any():
        raise InputError(explain("pinned", "has more of a category than max_per_category", "keep that limit"))
