"""What stands on a page whatever its scores, and what was on the pages before: tables of pinned and of shown items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._options import Options
from excalibr._types import Booleans, Floats, Integers
from excalibr.tables._candidates import CandidateArrays
from excalibr.tables._frames import Frame
from excalibr.tables._items import ItemArrays, weights_in
from excalibr.tables._options import Tables
from excalibr.tables._user_targets import owners_of


@dataclass(frozen=True, eq=False)
class Pinned:
    """By user, slots and the candidates that keep them; and which users also have a pin that cannot be kept."""

    by_user: dict[int, dict[int, int]]
    bad: Booleans


@dataclass(frozen=True, eq=False)
class Seen:
    """What users have seen: user, item and position weight of each row, by user and item."""

    owners: Integers
    items: Integers
    weights: Floats


def read_pinned(given: CandidateArrays, items: ItemArrays, options: Tables) -> Pinned:
    """The pinned items (user, rank, item) as slots and candidates of each user.

    A pin cannot be kept that names no candidate of the user, no rank, or a place or an item that is taken: of several
    pins the one of the first rank, and then of the lowest item id, has it.
    """
    frame = options.open(options.pinned, "pinned")
    owners, places = owners_of(given.users, frame, options), options.read_places(frame, "item_id", items.ids, "items")
    ranks = options.read_numbers(frame, "rank")
    pinned: dict[int, dict[int, int]] = {}
    bad = np.zeros(len(given.users), dtype=bool)
    order = np.lexsort((places, ranks, owners))
    order = order[owners[order] >= 0]
    for owner, place, rank in zip(owners[order].tolist(), places[order].tolist(), ranks[order].tolist(), strict=True):
        own = given.items[given.starts[owner] : given.starts[owner + 1]]
        at = int(np.searchsorted(own, place))
        slots = pinned.setdefault(owner, {})
        there = place >= 0 and at < len(own) and own[at] == place
        if not there or not rank >= 1 or rank % 1 or rank - 1 in slots or at in slots.values():
            bad[owner] = True
        else:
            slots[int(rank) - 1] = at
    return Pinned(pinned, bad)


def read_shown(users: Any, items: ItemArrays, options: Tables, ranking: Options) -> Seen:
    """The items that these users have seen, with the attention that they got.

    That is ``weight``, on the scale of the page's own position weights before they are brought to a sum of 1; without
    that column, the weight of the slot ``rank``; without either, 1. An item whose weight or rank is null got none, and
    is not shown again either. Rows of items that are not in the items table are left out.
    """
    frame = options.open(options.shown, "shown")
    owners, places = owners_of(users, frame, options), options.read_places(frame, "item_id", items.ids, "items")
    weights = np.nan_to_num(_attention(frame, options, ranking))
    kept = np.flatnonzero((owners >= 0) & (places >= 0))
    kept = kept[np.lexsort((weights[kept], places[kept], owners[kept]))]
    return Seen(owners[kept], places[kept], weights[kept])


def _attention(frame: Frame, options: Tables, ranking: Options) -> Floats:
    """What each row says of it, nan where that is null."""
    rank = options.find("rank", "shown", frame.columns)
    if rank is None or options.find("weight", "shown", frame.columns) is not None:
        return weights_in(frame, options)
    ranks = frame.numbers(rank, "rank")
    known = np.isfinite(ranks)
    frame.require(rank, ranks, np.isnan(ranks) | (ranks >= 1) & known, "be finite and at least 1")
    return np.where(known, ranking.attention_at(np.floor(np.where(known, ranks, 1.0))), np.nan)
