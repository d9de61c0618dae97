"""What each user wants: a target from a history, from a table of targets or from one for all, and numbers of their own.

Rows are put in the order of their ids before anything is added up: sums of floats depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._sparse import build_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.batch import Status
from excalibr.errors import InputError, explain
from excalibr.frames import Frame, read_frame
from excalibr.tables.ids import codes_in, labels_of, matched, read_ids
from excalibr.tables.items import Items, numbers_of
from excalibr.tables.options import Tables
from excalibr.targets import recency_weights

__all__ = ["Wanted", "read_wanted"]

OWN_NUMBERS = ("trade_off", "k")


@dataclass(frozen=True, eq=False)
class Wanted:
    """A target, a trade-off and a number of slots for each user.

    Attributes
    ----------
    targets
        (users, r); rows that sum to 1, or anything where the status says that there is no target.
    statuses
        (users,) codes of :class:`Status`.
    trade_offs, slots
        (users,) or None; nan where a user has none of their own.
    """

    targets: Floats
    statuses: Integers
    trade_offs: Floats | None
    slots: Floats | None


def read_wanted(users: Any, items: Items, options: Tables) -> Wanted:
    """What the tables say of these users (Arrow array, in order)."""
    sums, statuses = _sums(users, items, options)
    prior = None if options.prior is None else _shares_for_all(options.prior, "prior", items, options)
    totals = sums.sum(axis=1)
    if prior is not None:
        pseudo = np.where(totals > 0, options.strength, max(options.strength, 1.0))
        sums = sums + pseudo[:, None] * prior
        totals = sums.sum(axis=1)
    statuses[(totals <= 0) & (statuses == Status.OK)] = Status.NO_TARGET
    with np.errstate(invalid="ignore"):
        wanted = np.where(statuses[:, None] == Status.OK, sums / totals[:, None], 1.0 / sums.shape[1])
    trade_offs, slots = _own_numbers(users, options)
    return Wanted(wanted, statuses, trade_offs, slots)


def _sums(users: Any, items: Items, options: Tables) -> tuple[Floats, Integers]:
    """(users, r) what the history or the targets add up to for each category, before they are divided by their sum."""
    if options.history is not None:
        return _history_sums(users, items, options)
    statuses = np.zeros(len(users), dtype=np.int64)
    if options.targets is None:
        return np.zeros((len(users), len(items.categories))), statuses
    if isinstance(options.targets, Mapping) or options.user_id not in read_frame(options.targets, "targets").columns:
        shares = _shares_for_all(options.targets, "targets", items, options)
        return np.tile(shares, (len(users), 1)), statuses
    return _target_sums(users, items, options)


def _history_sums(users: Any, items: Items, options: Tables) -> tuple[Floats, Integers]:
    frame = read_frame(options.history, "history")
    owners = _owners(users, frame, options)
    item_ids = read_ids(frame.column(options.item_id, "item_id"))
    places = codes_in(*matched(item_ids, items.ids, options.item_id, ("history", "items")))
    weights = _history_weights(frame, owners, options)
    kept = _in_order(owners, places, weights)
    starts = np.searchsorted(owners[kept], np.arange(len(users) + 1))
    counted = build_rows(weights[kept], places[kept], starts, len(items.ids))
    return np.asarray((counted @ items.rows).toarray()), _statuses(owners, weights, len(users))


def _history_weights(frame: Frame, owners: Integers, options: Tables) -> Floats:
    """Each row's weight: its own, halved with every half-life of age."""
    weights = _weights(frame, options.weight)
    if options.half_life is None:
        return weights
    times = _moments(frame.column(options.timestamp, "timestamp"), options.timestamp)
    order = np.argsort(owners, kind="stable")
    order = order[(owners[order] >= 0) & np.isfinite(times[order])]
    starts = np.searchsorted(owners[order], np.arange(int(owners.max(initial=-1)) + 2))
    stamps = build_rows(times[order], np.zeros(len(order), dtype=np.int64), starts, 1)
    aged = np.zeros(len(weights))
    aged[order] = recency_weights(stamps, options.half_life).data
    return weights * aged


def _target_sums(users: Any, items: Items, options: Tables) -> tuple[Floats, Integers]:
    frame = read_frame(options.targets, "targets")
    owners = _owners(users, frame, options)
    labels = codes_in(_labels(frame, options), items.categories)
    weights = numbers_of(frame.column(options.weight, "weight"), options.weight, "targets")
    kept = _in_order(owners, labels, weights)
    shape = (len(users), len(items.categories))
    sums = sums_by(owners[kept] * shape[1] + labels[kept], weights[kept], shape[0] * shape[1]).reshape(shape)
    return sums, _statuses(owners, weights, len(users))


def _shares_for_all(given: Any, name: str, items: Items, options: Tables) -> Floats:
    """(r,) one distribution from a mapping or a table; labels that no item has are left out."""
    import pyarrow as pa

    if isinstance(given, Mapping):
        given = pa.table({options.category: list(map(str, given)), options.weight: list(map(float, given.values()))})
    frame = read_frame(given, name)
    labels = codes_in(_labels(frame, options), items.categories)
    weights = numbers_of(frame.column(options.weight, "weight"), options.weight, name)
    kept = _in_order(np.zeros(len(labels), dtype=np.int64), labels, weights)
    sums = sums_by(labels[kept], weights[kept], len(items.categories))
    if _is_bad(weights).any() or not sums.sum() > 0:
        found = "have a negative weight" if _is_bad(weights).any() else "have no weight on a category that an item has"
        hint = f"categories are {items.categories.to_pylist()[:12]}."
        raise InputError(explain(name, found, "have weights of at least 0, not all 0", hint))
    return np.asarray(sums / sums.sum())


def _labels(frame: Frame, options: Tables) -> Any:
    """The labels, under the name that the items table has for them or plainly under ``category``."""
    plain = "category" in frame.columns and options.category not in frame.columns
    return labels_of(frame.column("category" if plain else options.category, "category"))


def _own_numbers(users: Any, options: Tables) -> tuple[Floats | None, ...]:
    """The columns ``trade_off`` and ``k`` of the users table, nan where a user has none; None without the column."""
    if options.users is None:
        return None, None
    frame = read_frame(options.users, "users")
    owners = _owners(users, frame, options)
    if not set(OWN_NUMBERS) & set(frame.columns):
        raise InputError(
            f"neither column 'trade_off' nor 'k' found in users. Hint: columns are {frame.columns}; rename yours."
        )
    return tuple(_own(frame, name, owners, len(users)) for name in OWN_NUMBERS)


def _own(frame: Frame, name: str, owners: Integers, users: int) -> Floats | None:
    if name not in frame.columns:
        return None
    values, numbers = np.full(users, np.nan), numbers_of(frame.column(name, name), name, "users")
    order = np.argsort(-numbers, kind="stable")  # of rows that repeat a user, the smallest number stays
    order = order[(owners[order] >= 0) & ~np.isnan(numbers[order])]
    values[owners[order]] = numbers[order]
    return values


def _owners(users: Any, frame: Frame, options: Tables) -> Integers:
    ids = read_ids(frame.column(options.user_id, "user_id"))
    return codes_in(*matched(ids, users, options.user_id, (frame.name, "candidates")))


def _weights(frame: Frame, name: str) -> Floats:
    return numbers_of(frame.column(name, "weight"), name, frame.name) if name in frame.columns else np.ones(len(frame))


def _moments(column: Any, name: str) -> Floats:
    """Numbers as they are, dates and times in seconds."""
    import pyarrow as pa

    if pa.types.is_temporal(column.type):
        stamps = column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.int64())
        return numbers_of(stamps, name, "history") / 1e6
    return numbers_of(column, name, "history")


def _in_order(owners: Integers, codes: Integers, weights: Floats) -> Integers:
    """The rows with a user, a code and a weight that counts, in an order that does not depend on the table's."""
    kept = np.flatnonzero((owners >= 0) & (codes >= 0) & (weights > 0) & np.isfinite(weights))
    return kept[np.lexsort((weights[kept], codes[kept], owners[kept]))]


def _statuses(owners: Integers, weights: Floats, users: int) -> Integers:
    """Users with a negative or an infinite weight have no target that can be trusted."""
    statuses = np.zeros(users, dtype=np.int64)
    statuses[owners[(owners >= 0) & _is_bad(weights)]] = Status.BAD_TARGET
    return statuses


def _is_bad(weights: Floats) -> Booleans:
    return np.asarray((weights < 0) | np.isinf(weights))
