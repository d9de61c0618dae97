"""What the users of a batch are asked, as the kernel takes it: bands, weights, limits, pins and earlier pages of all.

Each number is computed as :mod:`excalibr._problem.reading` does for one user. What is wrong with one user's own numbers
is that user's reason, and stops nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._arrays import frozen
from excalibr._problem.reading import (
    SMOOTHINGS,
    CategoryReader,
    read_common_weights,
    read_group_limits,
    read_limits,
    read_pins,
    relative_weights,
    unnormalised_weights,
)
from excalibr._solver.questions import UserArrays
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError

if TYPE_CHECKING:
    from excalibr._batch.checked import Batch

__all__ = ["BatchTerms", "read_terms", "user_arrays"]


@dataclass(frozen=True, eq=False)
class BatchTerms:
    """What is asked of all users, in arrays by user; ``reasons`` says why a user's own part of it cannot be."""

    lows: Floats
    highs: Floats
    weights: Floats
    smoothing: float
    bases: Floats | None = None
    floors: Floats | None = None
    caps: Floats | None = None
    pins: tuple[Integers, Integers, Integers] | None = None
    groups: tuple[Integers, Integers] | None = None
    reasons: dict[int, str] = field(default_factory=dict)


def read_terms(batch: Batch) -> BatchTerms:
    """The terms of a batch's users, from its settings and what each user has beyond them."""
    settings, attributes, r = batch.settings, batch.beyond.attributes, batch.memberships.n_categories
    by_category = CategoryReader(attributes, r)
    reasons: dict[int, str] = {}
    weights = read_common_weights(settings.category_weights, settings.attribute_weights, by_category)
    lows, highs = batch.targets, batch.targets if batch.highs is None else batch.highs
    if settings.relative:
        weights = relative_weights(weights, lows, highs, attributes)
    floors, caps = read_limits(settings.floors, settings.caps, by_category)
    limited = bool(np.isfinite(floors).any() or np.isfinite(caps).any())
    pages = _read_pages(batch)
    if pages is not None:
        shares, bases = pages
        lows, highs = lows / shares[:, None] - bases, highs / shares[:, None] - bases
    return BatchTerms(
        lows=lows,
        highs=highs,
        weights=weights,
        smoothing=SMOOTHINGS[settings.divergence],
        bases=None if pages is None else pages[1],
        floors=frozen(floors) if limited else None,
        caps=frozen(caps) if limited else None,
        pins=_read_pins(batch, reasons),
        groups=_read_groups(batch, by_category, reasons),
        reasons=reasons,
    )


def user_arrays(batch: Batch, terms: BatchTerms, asked: Integers) -> UserArrays:
    """The batch as the kernel takes it; each different number of slots has its position weights once."""
    rows = batch.memberships
    sizes, group = np.unique(batch.slots, return_inverse=True)
    weights = [np.empty(0), *(batch.settings.weights_of(int(size)) for size in sizes if size)]
    pins, groups = terms.pins or (None, None, None), terms.groups or (None, None)
    return UserArrays(
        *(batch.scaled_scores, batch.starts, batch.items, rows.indptr, rows.indices, rows.values),
        *(np.ascontiguousarray(terms.lows), np.ascontiguousarray(terms.highs), terms.weights, batch.trade_offs),
        *(batch.slots, (np.cumsum(sizes) - sizes)[group], np.concatenate(weights), asked),
        terms.smoothing,
        *(terms.bases, terms.floors, terms.caps, None, *pins, *groups),
    )


def _read_pages(batch: Batch) -> tuple[Floats, Floats] | None:
    """(users,) the share of this page in all that a user sees, and (users, r) what earlier ones showed in its units."""
    if not batch.beyond.shown:
        return None
    shares, bases = np.ones(batch.users), np.zeros((batch.users, batch.memberships.n_categories))
    for user, (items, weights) in batch.beyond.shown.items():
        if not batch.slots[user]:
            continue
        own = float(unnormalised_weights(batch.settings.position_weights, int(batch.slots[user])).sum())
        bases[user] = batch.memberships.of(items).shares(weights) / own
        shares[user] = own / (own + float(weights.sum()))
    return shares, bases


def _read_pins(batch: Batch, reasons: dict[int, str]) -> tuple[Integers, Integers, Integers] | None:
    """Where each user's pins begin, their slots and their candidates."""
    if not batch.beyond.pinned:
        return None
    counts = np.zeros(batch.users, dtype=np.int64)
    pins: dict[int, tuple[Integers, Integers]] = {}
    sizes = np.diff(batch.starts)
    for user, given in sorted(batch.beyond.pinned.items()):
        try:
            pins[user] = read_pins(given, int(sizes[user]), int(batch.slots[user]))
            counts[user] = len(given)
        except InputError as error:
            reasons[user] = error.args[0]
    empty = np.empty(0, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(counts)))
    slots = np.concatenate([empty, *(slots for slots, _ in pins.values())])
    return starts, slots, np.concatenate([empty, *(candidates for _, candidates in pins.values())])


def _read_groups(
    batch: Batch, by_category: CategoryReader, reasons: dict[int, str]
) -> tuple[Integers, Integers] | None:
    """The group of each item and how many of each a ranking may have; users whose items have none or two are out."""
    if batch.settings.max_per_category is None:
        return None
    groups, limits, partial, why = read_group_limits(batch.settings.max_per_category, by_category, batch.memberships)
    for user in np.flatnonzero(_users_with(partial[batch.items], batch.starts)).tolist():
        reasons[user] = why
    return groups, limits


def _users_with(marked: Booleans, starts: Integers) -> Any:
    """(users,) which of them have at least one of the marked candidates."""
    counts = np.concatenate(([0], np.cumsum(marked)))
    return counts[starts[1:]] > counts[starts[:-1]]
