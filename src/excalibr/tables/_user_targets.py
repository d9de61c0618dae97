"""What each user wants: a target from a history, from a table of targets or from one for all, and numbers of their own.

Rows are put in the order of their ids before anything is added up: sums of floats depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._messages import Message, Option
from excalibr._problem import Memberships, Status, Targets
from excalibr._types import Booleans, Floats, Integers
from excalibr._visits import LATEST_VISIT
from excalibr.errors import InputError
from excalibr.tables._arrow import pa
from excalibr.tables._frames import Frame, numbers_of
from excalibr.tables._ids import codes_in, keys_of
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Tables
from excalibr.tables._shares import labels_in, read_shares, shares_by_attribute
from excalibr.targets import NEGLIGIBLE, recency_by_user

OWN_NUMBERS = ("trade_off", "k", "visit")
NO_VISIT = -1

_NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Wanted:
    """A target, a trade-off, a number of slots and a visit for each user.

    Attributes
    ----------
    targets
        Of each user, or of all alike; anything where the status says that there is no target.
    statuses
        (users,) codes of :class:`Status`.
    trade_offs, slots, visits
        (users,) or None; nan where a user has none of their own.
    """

    targets: Targets
    statuses: Integers
    trade_offs: Floats | None
    slots: Floats | None
    visits: Floats | None


def read_wanted(users: Any, items: ItemArrays, options: Tables) -> Wanted:
    """What the tables say of these users (Arrow array, in order): history or targets, prior, numbers of their own."""
    statuses, priors = np.zeros(len(users), dtype=np.int64), read_priors(items, options)
    if options.targets is not None:
        tables = _tables(options.targets, "targets", items, options)
        parts = [table.targets(users, prior, statuses) for table, prior in zip(tables, priors, strict=True)]
    else:
        sums = _history_sums(users, items, options, statuses)
        parts = targets_of_history(sums, items, priors, options.strength)
    for _, missing in parts:
        statuses[missing & (statuses == Status.OK)] = Status.NO_TARGET
    targets = Targets.side_by_side([own for own, _ in parts]).or_else_anything(statuses == Status.OK)
    return Wanted(targets, statuses, *read_own_numbers(users, options))


def read_priors(items: ItemArrays, options: Tables) -> list[Floats] | list[None]:
    """The prior of each attribute, None where there is none."""
    if options.prior is None:
        return [None] * len(items.parts)
    tables = _tables(options.prior, "prior", items, options)
    column = options.find("user_id", "prior", tables[0].frame.columns)
    if column is not None:
        hint = Message("shares of single users are ", Option("targets"), "; leave the column out to add them up.")
        raise InputError("prior", f"has the column {column!r}", "be one for all users", hint)
    return [table.for_all() for table in tables]


def targets_of_history(
    sums: Memberships, items: ItemArrays, priors: list[Floats] | list[None], strength: float
) -> list[tuple[Targets, Booleans]]:
    """The targets of each attribute from what histories add up to, users × r, and which users have none."""
    return [
        shares_with_prior(sums.part(part.columns), prior, strength)
        for part, prior in zip(items.parts, priors, strict=True)
    ]


def shares_with_prior(sums: Memberships, prior: Floats | None, strength: float) -> tuple[Targets, Booleans]:
    """The shares of users of what they have of each category, and of a prior; and which users have none."""
    if prior is not None:
        known = np.diff(sums.indptr) > 0
        sums = sums.plus(np.where(known, strength, max(strength, 1.0)), prior)
    shares = sums.as_shares(NEGLIGIBLE)
    return Targets.of_one_attribute(shares), np.diff(shares.indptr) == 0


@dataclass(frozen=True, eq=False)
class _TargetTable:
    """What a table of targets or a prior says of one attribute, whose ``column`` of the items has these categories."""

    frame: Frame
    categories: Any
    column: str
    options: Tables

    def for_all(self) -> Floats:
        """(categories,) one distribution; labels that no item has are left out."""
        if self._has_bands():
            raise InputError(self.frame.name, "has a low and a high", "have one weight for each category")
        weights = self.options.read_numbers(self.frame, "weight")
        sums = self._sums(np.zeros(len(weights), dtype=np.int64), weights, 1).row(0)
        with np.errstate(over="ignore"):  # a sum that is not finite is refused
            total = sums.sum()
        bad = weights[_is_bad(weights)]
        if not len(bad) and np.isinf(total):
            raise InputError(self.frame.name, "have weights that add up to infinity", "have weights with a finite sum")
        if len(bad) or not total > 0:
            found = f"have a weight of {bad[0]:g}" if len(bad) else "have no weight on a category that an item has"
            must = "have finite weights of at least 0, not all 0"
            raise InputError(self.frame.name, found, must, self._known_categories())
        return np.asarray(sums / total)

    def targets(self, users: Any, prior: Floats | None, statuses: Integers) -> tuple[Targets, Booleans]:
        """What is wanted by each user, or by all alike, and which have no target.

        Users whose weights cannot be are marked in ``statuses``.
        """
        if self._has_bands():
            return self._bands(users, prior)
        owners = self._owners(users)
        if owners is None:
            sums = Memberships.packed(self.for_all()[None])
        else:
            weights = self.options.read_numbers(self.frame, "weight")
            _mark_bad(statuses, owners, weights)
            sums = self._sums(owners, weights, len(users))
        return shares_with_prior(sums, prior, self.options.strength)

    def _bands(self, users: Any, prior: Floats | None) -> tuple[Targets, Booleans]:
        """Bands for each user, or one for all; what is not said is any share, from 0 to 1."""
        if self.options.strength:
            raise InputError("strength", f"is {self.options.strength}", "be 0 where targets are bands")
        labels, of_users = self._labels(), self._owners(users)
        rows, size = 1 if of_users is None else len(users), len(self.categories)
        owners = np.zeros(len(labels), dtype=np.int64) if of_users is None else of_users
        kept = (owners >= 0) & (labels >= 0)
        cells, entries = np.unique(owners[kept] * size + labels[kept], return_inverse=True)
        low, high = np.full(len(cells), -np.inf), np.full(len(cells), np.inf)
        for edges, name, tighter in ((low, self.options.low, np.fmax), (high, self.options.high, np.fmin)):
            if name in self.frame.columns:
                tighter.at(edges, entries, self.frame.numbers(name, name)[kept])
        low, high = np.where(low == -np.inf, 0.0, low), np.where(high == np.inf, 1.0, high)
        starts = np.searchsorted(cells, np.arange(rows + 1) * size)
        bands = Targets.of_one_attribute(Memberships(starts, cells % size, low, size), high, np.ones(rows))
        missing = np.diff(starts) == 0
        if prior is not None:
            alike = Targets.of_one_attribute(Memberships.packed(prior[None]))
            return bands.or_else(alike, ~missing), np.zeros(rows, dtype=bool)
        if of_users is None and missing[0]:
            found, must = "have no band of a category that an item has", "have at least one"
            raise InputError(self.frame.name, found, must, self._known_categories())
        return bands, missing

    def _has_bands(self) -> bool:
        """Whether the table has edges, and no weights."""
        columns = self.frame.columns
        weighed = self.options.find("weight", self.frame.name, columns) is not None
        return not weighed and bool({self.options.low, self.options.high} & set(columns))

    def _known_categories(self) -> str:
        return f"categories are {self.categories[:12].to_pylist()}."

    def _owners(self, users: Any) -> Integers | None:
        """Each row's user, where the table tells users apart."""
        apart = self.options.find("user_id", "targets", self.frame.columns) is not None
        return owners_of(users, self.frame, self.options) if apart else None

    def _sums(self, owners: Integers, weights: Floats, users: int) -> Memberships:
        labels, size = self._labels(), len(self.categories)
        kept = _in_order(owners, labels, weights)
        starts, each = np.searchsorted(owners[kept], np.arange(users + 1)), np.arange(users)
        return Memberships(starts, labels[kept], weights[kept], size).sums(each, each, np.ones(users), users)

    def _labels(self) -> Integers:
        """Each row's category of this attribute, −1 for one that no item has."""
        return codes_in(labels_in(self.frame, self.column, self.options), self.categories)


def _tables(given: Any, name: str, items: ItemArrays, options: Tables) -> list[_TargetTable]:
    """What targets or prior say of each attribute."""
    names = [each.name for each in items.attributes]
    if not names:
        frames = [read_shares(given, name, options)]
    elif isinstance(given, Mapping) and set(given) != set(names):
        raise InputError(name, f"have {list(given)}", f"have the attributes {names}")
    else:
        found = shares_by_attribute(given, name, options, names)
        frames = [found[each] for each in names]
    columns = [each.name for each in items.columns] or [""] * len(frames)
    return [
        _TargetTable(frame, items.categories[part.columns], column, options)
        for frame, part, column in zip(frames, items.parts, columns, strict=True)
    ]


def _history_sums(users: Any, items: ItemArrays, options: Tables, statuses: Integers) -> Memberships:
    """Users × r what histories add up to, if any; users whose weights cannot be are marked in ``statuses``."""
    if options.history is None:
        return sum_histories(_NOBODY, _NOBODY, np.empty(0), len(users), items)
    frame = options.open(options.history, "history")
    owners = owners_of(users, frame, options)
    places = options.read_places(frame, "item_id", items.ids, "items")
    weights = options.read_weights(frame)
    _mark_bad(statuses, owners, weights)
    if options.half_life is not None:
        column = options.column("timestamp", "history", frame.columns)
        times = _timestamps(frame.column(column, "timestamp"), f"column {column!r} of history")
        weights = aged_weights(owners, places, weights, times, options.half_life)
    return sum_histories(owners, places, weights, len(users), items)


def sum_histories(owners: Integers, places: Integers, weights: Floats, users: int, items: ItemArrays) -> Memberships:
    """Users × r what the items of each user add up to."""
    kept = _in_order(owners, places, weights)
    return items.rows.sums(places[kept], owners[kept], weights[kept], users)


def aged_weights(owners: Integers, places: Integers, weights: Floats, times: Floats, half_life: float) -> Floats:
    """The weights, each halved with every half-life that it is older than the newest of its user that counts.

    What does not count, for want of a user, an item, a weight or a moment, has none.
    """
    counts = (owners >= 0) & (places >= 0) & (weights > 0) & np.isfinite(weights) & np.isfinite(times)
    order = np.argsort(owners, kind="stable")
    order = order[counts[order]]
    starts = np.searchsorted(owners[order], np.arange(int(owners.max(initial=-1)) + 2))
    aged = np.zeros(len(weights))
    aged[order] = weights[order] * recency_by_user(times[order], starts, half_life)
    return aged


def read_own_numbers(users: Any, options: Tables) -> tuple[Floats | None, ...]:
    """The columns ``OWN_NUMBERS`` of the users table, nan where a user has none; None without the column."""
    if options.users is None:
        return (None,) * len(OWN_NUMBERS)
    frame = options.open(options.users, "users")
    owners = owners_of(users, frame, options)
    if not {*OWN_NUMBERS, "weight"} & set(frame.columns):
        found = f"has the columns {frame.columns}"
        raise InputError("users", found, "have 'trade_off', 'k', 'visit' or 'weight'", "rename yours.")
    return tuple(
        smallest_by_user(owners, frame.numbers(name, name), len(users)) if name in frame.columns else None
        for name in OWN_NUMBERS
    )


def smallest_by_user(owners: Integers, numbers: Floats, users: int) -> Floats:
    """(users,) each user's number, of rows that repeat a user the smallest; nan where there is none."""
    values, known = np.full(users, np.nan), owners >= 0
    np.fmin.at(values, owners[known], numbers[known])
    return values


def visits_of(own: Floats | None, options: Tables) -> tuple[Integers | None, Booleans | None]:
    """(users,) each user's visit, −1 for none, and which users' own cannot be; None and None where nobody has any.

    ``own`` (users,) has nan for users without a visit of their own, who are on the visit for all, if there is one.

    >>> visits, bad = visits_of(np.array([2.0, np.nan, 0.5]), Tables(targets={}, visit=0))
    >>> visits.tolist(), bad.tolist()
    ([2, 0, -1], [False, False, True])
    """
    if own is None and options.visit is None:
        return None, None
    for_all = NO_VISIT if options.visit is None else options.visit
    if own is None:
        return np.array(for_all), None
    given = np.where(np.isnan(own), for_all, own)
    bad = ~np.isnan(own) & ~((own >= 0) & (own <= LATEST_VISIT) & (own == np.floor(own)))
    return np.where(bad, NO_VISIT, given).astype(np.int64), bad


def read_visits(users: Any, options: Tables) -> Integers | None:
    """(users,) each user's visit, −1 for none, or None where nobody has any; a visit that cannot be is an error."""
    own = read_own_numbers(users, options)[-1]
    visits, bad = visits_of(own, options)
    if own is not None and bad is not None and bad.any():
        at = int(np.argmax(bad))
        found = f"has the visit {own[at]:g} for user {keys_of(users)[at]!r}"
        raise InputError("users", found, "have visits that are whole numbers of at least 0")
    return None if visits is None else np.broadcast_to(visits, len(users))


def owners_of(users: Any, frame: Frame, options: Tables) -> Integers:
    """Each row's user, by number; −1 for one who is not among these."""
    return options.read_places(frame, "user_id", users, "candidates")


def _timestamps(column: Any, what: str) -> Floats:
    """Numbers as they are, dates and times in seconds."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        stamps = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        return numbers_of(stamps, what) / 1e6
    return numbers_of(column, what, "have numbers, dates or times")


def _in_order(owners: Integers, codes: Integers, weights: Floats) -> Integers:
    """The rows with a user, a code and a weight that counts, in an order that does not depend on the table's."""
    kept = np.flatnonzero((owners >= 0) & (codes >= 0) & (weights > 0) & np.isfinite(weights))
    own, code, weight = owners[kept], codes[kept], weights[kept]
    if not kept.size or (weight[0] == weight).all():  # as without a column of weights: one number says it all
        return kept[np.argsort(own * (1 + code.max(initial=0)) + code, kind="stable")]
    return kept[np.lexsort((weight, code, own))]


def _mark_bad(statuses: Integers, owners: Integers, weights: Floats) -> None:
    """Users with a negative or an infinite weight have no target that can be trusted."""
    statuses[owners[(owners >= 0) & _is_bad(weights)]] = Status.BAD_TARGET


def _is_bad(weights: Floats) -> Booleans:
    return np.asarray((weights < 0) | np.isinf(weights))
