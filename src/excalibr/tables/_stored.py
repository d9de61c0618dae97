"""One ranking per user from lotteries that were stored, with nothing solved again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from excalibr._arrays import run_starts, spans, starts_of
from excalibr._messages import counted
from excalibr._propensities import propensities_of_draws
from excalibr._types import Floats, Integers
from excalibr._visits import choose_rankings, choose_visits
from excalibr.errors import InputError
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._ids import encode, keys_of
from excalibr.tables._options import Tables
from excalibr.tables._results import check_day, keys_with
from excalibr.tables._user_targets import read_visits


def draw_stored(table: Any, options: Tables, seed: int, day: Hashable) -> Any:
    """One ranking per user from a stored table of lotteries, in any order of rows, with nothing solved again."""
    check_day(day)
    frame = read_frame(table, "lotteries")
    users, owners = encode(options.read_ids(frame, "user_id"))
    columns = {name: getattr(options, name) for name in ("ranking", "probability", "rank")}
    ranking, probability, rank = (frame.numbers(column, name) for name, column in columns.items())
    _check_probabilities(frame, columns["probability"], probability, owners, len(users))
    rows = np.lexsort((rank, ranking, owners))
    rows = rows[owners[rows] >= 0]
    twice = rows[~run_starts(owners[rows], ranking[rows], rank[rows])]
    if len(twice):
        user, number, place = keys_of(users)[owners[twice[0]]], ranking[twice[0]], rank[twice[0]]
        again = f"have rank {place:g} twice in ranking {number:g} of user {user!r}"
        raise InputError("lotteries", again, "have each rank once", "the same lotteries may be there twice.")
    begins = np.flatnonzero(run_starts(owners[rows], ranking[rows]))  # of each ranking
    lengths = np.diff(np.append(begins, len(rows)))
    counts = np.bincount(owners[rows[begins]], minlength=len(users))  # the rankings of each user
    weights, firsts = probability[rows[begins]], starts_of(counts)[:-1]
    keys, visits = keys_with(keys_of(users), day), read_visits(users, options)
    if visits is not None or options.propensities:
        items = _items_of(rows, frame, options)
        lottery = (items, weights, counts, _even_lengths(lengths, counts, firsts, users))
    if visits is None:
        drawn = choose_rankings(weights, counts, keys, seed)
    else:
        drawn = choose_visits(*lottery, keys, seed, visits)
    entries = spans(begins[firsts + drawn], lengths[firsts + drawn])
    added = {}
    if options.propensities:
        found = propensities_of_draws(*lottery, drawn, items[entries])
        added = dict(zip(options.propensity_columns, found.T.copy(), strict=True))
    written = {options.ranking, options.probability, *added}
    kept = [name for name in frame.columns if name not in written]
    front = _count_in_front(kept, frame, options) if added else len(kept)
    return frame.take(rows[entries], [*kept[:front], *added, *kept[front:]], added)


def _count_in_front(columns: Sequence[str], frame: Frame, options: Tables) -> int:
    """How many columns of slates stand before their propensities: up to the score, which lotteries have by the item."""
    return columns.index(options.column("item_id", frame.name, frame.columns)) + 2


def _items_of(rows: Integers, frame: Frame, options: Tables) -> Integers:
    """(rows,) the item of each of these rows, by number."""
    _, items = encode(options.read_ids(frame, "item_id"))
    missing = rows[items[rows] < 0]
    if len(missing):
        found = f"row {missing.min()} has no item"
        raise InputError("lotteries", found, "have an item in each row to tell visits or propensities")
    return items[rows]


def _check_probabilities(frame: Frame, column: str, probability: Floats, owners: Integers, users: int) -> None:
    """Refuse what nobody can draw by."""
    good = (probability >= 0) & np.isfinite(probability)
    frame.require(column, probability, good | (owners < 0), "be finite and at least 0")
    some = np.zeros(users, dtype=bool)
    some[owners[(owners >= 0) & (probability > 0)]] = True
    if not some.all():
        found = f"is 0 in all rows of {counted(int((~some).sum()), 'user')}"
        raise InputError(f"column {column!r} of lotteries", found, "be above 0 for a ranking of every user")


def _even_lengths(lengths: Integers, counts: Integers, firsts: Integers, users: Any) -> Integers:
    """(users,) how many items each ranking of a user has."""
    slots = lengths[firsts]
    uneven = lengths != np.repeat(slots, counts)
    if uneven.any():
        at = int(np.repeat(np.arange(len(slots)), counts)[np.argmax(uneven)])
        found = f"have rankings of different lengths for user {keys_of(users)[at]!r}"
        raise InputError("lotteries", found, "have as many items in every ranking of a user")
    return slots
