"""What each user wants: a target from a history, from a table of targets or from one for all, and numbers of their own.

Rows are put in the order of their ids before anything is added up: sums of floats depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._problem import Status
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, explain
from excalibr.tables._arrow import pa
from excalibr.tables._frames import Frame, numbers_of
from excalibr.tables._ids import codes_in
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Tables
from excalibr.tables._shares import labels_in, read_shares, shares_by_attribute
from excalibr.targets import recency_by_user, shares_of

__all__ = [
    "Wanted",
    "aged_weights",
    "owners_of",
    "read_own_numbers",
    "read_priors",
    "read_wanted",
    "settle_sums",
    "sum_histories",
]

OWN_NUMBERS = ("trade_off", "k", "visit")


@dataclass(frozen=True, eq=False)
class Wanted:
    """A target, a trade-off, a number of slots and a visit for each user.

    Attributes
    ----------
    targets
        (users, r); for each attribute rows that sum to 1, or anything where the status says that there is no target.
    highs
        (users, r) the upper edges of targets that are bands; None where none is.
    statuses
        (users,) codes of :class:`Status`.
    trade_offs, slots, visits
        (users,) or None; nan where a user has none of their own.
    """

    targets: Floats
    highs: Floats | None
    statuses: Integers
    trade_offs: Floats | None
    slots: Floats | None
    visits: Floats | None


@dataclass(frozen=True, eq=False)
class _Given:
    """What the tables say of one attribute: sums for each user and category, or bands and which users have one."""

    sums: Floats
    highs: Floats | None = None
    known: Booleans | None = None


def read_wanted(users: Any, items: ItemArrays, options: Tables) -> Wanted:
    """What the tables say of these users (Arrow array, in order): history or targets, prior, numbers of their own."""
    given, statuses = _given(users, items, options)
    priors = read_priors(items, options)
    settled = [_settle(part, prior, options.strength) for part, prior in zip(given, priors, strict=True)]
    missing = np.logical_or.reduce([lacking for _, _, lacking in settled])
    statuses[missing & (statuses == Status.OK)] = Status.NO_TARGET
    uniform = [np.full(low.shape[1], 1.0 / low.shape[1]) for low, _, _ in settled]
    good = statuses[:, None] == Status.OK
    wanted = np.where(good, np.hstack([low for low, _, _ in settled]), np.concatenate(uniform))
    highs = None
    if any(part.highs is not None for part in given):
        highs = np.where(good, np.hstack([high for _, high, _ in settled]), np.concatenate(uniform))
    return Wanted(wanted, highs, statuses, *read_own_numbers(users, options))


def read_priors(items: ItemArrays, options: Tables) -> list[Floats] | list[None]:
    """The prior of each attribute, None where there is none."""
    if options.prior is None:
        return [None] * len(items.parts)
    return [table.for_all() for table in _tables(options.prior, "prior", items, options)]


def _given(users: Any, items: ItemArrays, options: Tables) -> tuple[list[_Given], Integers]:
    """What the history or the targets say of each attribute, and the users whose numbers cannot be."""
    if options.history is not None:
        sums, statuses = _history_sums(users, items, options)
        return [_Given(sums[:, each.columns]) for each in items.parts], statuses
    statuses = np.zeros(len(users), dtype=np.int64)
    if options.targets is None:
        return [_Given(np.zeros((len(users), each.size))) for each in items.parts], statuses
    found = []
    for table in _tables(options.targets, "targets", items, options):
        if table.is_band:
            found.append(table.bands(users))
        elif table.has_users:
            sums, bad = table.by_user(users)
            np.maximum(statuses, bad, out=statuses)
            found.append(_Given(sums))
        else:
            found.append(_Given(np.tile(table.for_all(), (len(users), 1))))
    return found, statuses


def _settle(given: _Given, prior: Floats | None, strength: float) -> tuple[Floats, Floats, Booleans]:
    """The lower and upper edges of one attribute's targets, and which users have none."""
    if given.highs is None or given.known is None:
        shares, missing = settle_sums(given.sums, prior, strength)
        return shares, shares, missing
    if strength:
        raise InputError(explain("strength", f"is {strength}", "be 0 where targets are bands"))
    if prior is None:
        return given.sums, given.highs, ~given.known
    known = given.known[:, None]
    return np.where(known, given.sums, prior), np.where(known, given.highs, prior), np.zeros(len(known), dtype=bool)


def settle_sums(sums: Floats, prior: Floats | None, strength: float) -> tuple[Floats, Booleans]:
    """(users, categories) shares from what a history adds up to and a prior, and which users have none."""
    known = (sums > 0).any(axis=1)
    if prior is not None:
        pseudo = np.where(known, strength, max(strength, 1.0))
        sums = sums + pseudo[:, None] * prior
        known = (sums > 0).any(axis=1)
    return shares_of(sums), np.asarray(~known)


@dataclass(frozen=True, eq=False)
class _TargetTable:
    """What a table of targets or a prior says of one attribute, whose ``column`` of the items has these categories."""

    frame: Frame
    categories: Any
    column: str
    options: Tables

    @property
    def is_band(self) -> bool:
        """Whether it has shares from low to high, and no weights."""
        columns = self.frame.columns
        weighed = self.options.find("weight", self.frame.name, columns) is not None
        return not weighed and bool({self.options.low, self.options.high} & set(columns))

    @property
    def has_users(self) -> bool:
        """Whether it tells users apart."""
        return self.options.find("user_id", "targets", self.frame.columns) is not None

    def for_all(self) -> Floats:
        """(categories,) one distribution; labels that no item has are left out."""
        weights = self._weights()
        [sums] = self._sums(np.zeros(len(weights), dtype=np.int64), 1)
        bad = weights[_is_bad(weights)]
        if len(bad) or not sums.sum() > 0:
            found = f"have a weight of {bad[0]:g}" if len(bad) else "have no weight on a category that an item has"
            hint = f"categories are {self.categories.to_pylist()[:12]}."
            raise InputError(explain(self.frame.name, found, "have finite weights of at least 0, not all 0", hint))
        return np.asarray(sums / sums.sum())

    def by_user(self, users: Any) -> tuple[Floats, Integers]:
        """(users, categories) what the weights add up to, and the statuses of users with a bad one."""
        owners = owners_of(users, self.frame, self.options)
        return self._sums(owners, len(users)), _statuses(owners, self._weights(), len(users))

    def bands(self, users: Any) -> _Given:
        """Bands for each user, or one for all; what is not said is any share, from 0 to 1."""
        labels, apart = self._labels(), self.has_users
        owners = owners_of(users, self.frame, self.options) if apart else np.zeros(len(labels), dtype=np.int64)
        kept = (owners >= 0) & (labels >= 0)
        shape = (len(users) if apart else 1, len(self.categories))
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        for edges, name, tighter in ((low, self.options.low, np.fmax), (high, self.options.high, np.fmin)):
            if name in self.frame.columns:
                tighter.at(edges, (owners[kept], labels[kept]), self.frame.numbers(name, name)[kept])
        known = np.bincount(owners[kept], minlength=len(low)) > 0
        low, high = np.where(low == -np.inf, 0.0, low), np.where(high == np.inf, 1.0, high)
        repeats = 1 if apart else len(users)
        return _Given(np.repeat(low, repeats, axis=0), np.repeat(high, repeats, axis=0), np.repeat(known, repeats))

    def _weights(self) -> Floats:
        return self.options.read_numbers(self.frame, "weight")

    def _sums(self, owners: Integers, users: int) -> Floats:
        labels, weights, size = self._labels(), self._weights(), len(self.categories)
        kept = _in_order(owners, labels, weights)
        return sums_by(owners[kept] * size + labels[kept], weights[kept], users * size).reshape(users, size)

    def _labels(self) -> Integers:
        """Each row's category of this attribute, −1 for one that no item has."""
        return codes_in(labels_in(self.frame, self.column, self.options), self.categories)


def _tables(given: Any, name: str, items: ItemArrays, options: Tables) -> list[_TargetTable]:
    """What targets or prior say of each attribute."""
    names = [each.name for each in items.attributes]
    if not names:
        frames = [read_shares(given, name, options)]
    elif isinstance(given, Mapping) and set(given) != set(names):
        raise InputError(explain(name, f"have {list(given)}", f"have the attributes {names}"))
    else:
        found = shares_by_attribute(given, name, options, names)
        frames = [found[each] for each in names]
    columns = [each.name for each in items.columns] or [""] * len(frames)
    return [
        _TargetTable(frame, items.categories[part.columns], column, options)
        for frame, part, column in zip(frames, items.parts, columns, strict=True)
    ]


def _history_sums(users: Any, items: ItemArrays, options: Tables) -> tuple[Floats, Integers]:
    frame = options.open(options.history, "history")
    owners = owners_of(users, frame, options)
    places = options.read_places(frame, "item_id", items.ids, "items")
    weights = _history_weights(frame, owners, places, options)
    return sum_histories(owners, places, weights, len(users), items), _statuses(owners, weights, len(users))


def sum_histories(owners: Integers, places: Integers, weights: Floats, users: int, items: ItemArrays) -> Floats:
    """(users, r) what the items of each user add up to."""
    kept = _in_order(owners, places, weights)
    return items.rows.sums(places[kept], owners[kept], weights[kept], users)


def _history_weights(frame: Frame, owners: Integers, places: Integers, options: Tables) -> Floats:
    """Each row's weight: its own, halved with every half-life that it is older than the user's newest that counts."""
    weights = options.read_weights(frame)
    if options.half_life is None:
        return weights
    column = options.column("timestamp", "history", frame.columns)
    times = _moments(frame.column(column, "timestamp"), f"column {column!r} of history")
    return aged_weights(owners, places, weights, times, options.half_life)


def aged_weights(owners: Integers, places: Integers, weights: Floats, times: Floats, half_life: float) -> Floats:
    """The weights, each halved with every half-life that it is older than the newest of its user that counts."""
    counts = (owners >= 0) & (places >= 0) & (weights > 0) & np.isfinite(weights) & np.isfinite(times)
    order = np.argsort(owners, kind="stable")
    order = order[counts[order]]
    starts = np.searchsorted(owners[order], np.arange(int(owners.max(initial=-1)) + 2))
    aged = np.where(counts, 0.0, 1.0)  # what does not count keeps its weight, and a negative one its sign
    aged[~np.isfinite(times)] = 0.0
    aged[order] = recency_by_user(times[order], starts, half_life)
    return weights * aged


def read_own_numbers(users: Any, options: Tables) -> tuple[Floats | None, ...]:
    """The columns ``OWN_NUMBERS`` of the users table, nan where a user has none; None without the column."""
    if options.users is None:
        return (None,) * len(OWN_NUMBERS)
    frame = options.open(options.users, "users")
    owners = owners_of(users, frame, options)
    if not {*OWN_NUMBERS, "weight"} & set(frame.columns):
        found = f"has the columns {frame.columns}"
        raise InputError(explain("users", found, "have 'trade_off', 'k', 'visit' or 'weight'", "rename yours."))
    return tuple(_own(frame, name, owners, len(users)) for name in OWN_NUMBERS)


def _own(frame: Frame, name: str, owners: Integers, users: int) -> Floats | None:
    if name not in frame.columns:
        return None
    values, numbers = np.full(users, np.nan), frame.numbers(name, name)
    order = np.argsort(-numbers, kind="stable")  # of rows that repeat a user, the smallest number stays
    order = order[(owners[order] >= 0) & ~np.isnan(numbers[order])]
    values[owners[order]] = numbers[order]
    return values


def owners_of(users: Any, frame: Frame, options: Tables) -> Integers:
    """Each row's user, by number; −1 for one who is not among these."""
    return options.read_places(frame, "user_id", users, "candidates")


def _moments(column: Any, what: str) -> Floats:
    """Numbers as they are, dates and times in seconds."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        stamps = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        return numbers_of(stamps, what) / 1e6
    return numbers_of(column, what)


def _in_order(owners: Integers, codes: Integers, weights: Floats) -> Integers:
    """The rows with a user, a code and a weight that counts, in an order that does not depend on the table's."""
    kept = np.flatnonzero((owners >= 0) & (codes >= 0) & (weights > 0) & np.isfinite(weights))
    own, code, weight = owners[kept], codes[kept], weights[kept]
    if not kept.size or (weight[0] == weight).all():  # as without a column of weights: one number says it all
        return kept[np.argsort(own * (1 + code.max(initial=0)) + code, kind="stable")]
    return kept[np.lexsort((weight, code, own))]


def _statuses(owners: Integers, weights: Floats, users: int) -> Integers:
    """Users with a negative or an infinite weight have no target that can be trusted."""
    statuses = np.zeros(users, dtype=np.int64)
    statuses[owners[(owners >= 0) & _is_bad(weights)]] = Status.BAD_TARGET
    return statuses


def _is_bad(weights: Floats) -> Booleans:
    return np.asarray((weights < 0) | np.isinf(weights))
