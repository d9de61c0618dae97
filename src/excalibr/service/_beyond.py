"""What a request may say beyond its candidates: items that keep a place, and items that were shown before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._options import Options
from excalibr._types import Floats, Integers
from excalibr.service._candidates import GivenItems
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest, SeenItem

FARTHEST = 2**53
"""The last slot that a number tells from its neighbours."""


class ShownBefore(NamedTuple):
    """Rows of the items table, and the attention that they got."""

    places: Integers
    weights: Floats


def read_pins(profile: Profile, request: RankRequest, given: GivenItems, k: int) -> dict[int, dict[int, int]]:
    """Slots and the candidates that keep them, of the only user; one that cannot be kept is an error."""
    if not request.pinned:
        return {}
    read = profile.item_ids.read
    candidates = {read(given.labels[at], "$.items"): number for number, at in enumerate(given.picked.tolist())}
    pinned: dict[int, int] = {}
    for number, pin in enumerate(request.pinned):
        path = f"$.pinned[{number}]"
        candidate = candidates.get(read(pin.item, path))
        if candidate is None:
            raise RequestFailure(422, f"The pinned item {pin.item!r:.80} must be one of the candidates.", path)
        if pin.rank > k or pin.rank - 1 in pinned or candidate in pinned.values():
            raise RequestFailure(
                422, f"A pin must have a rank and an item of its own, and a rank of at most {k}.", path
            )
        pinned[pin.rank - 1] = candidate
    return {0: pinned}


def read_shown(profile: Profile, options: Options, request: RankRequest, given: GivenItems) -> ShownBefore | None:
    """What was shown before, in the order of the items table; items that it does not have are left out."""
    if not request.shown:
        return None
    seen = [each if isinstance(each, SeenItem) else SeenItem(each) for each in request.shown]
    places = np.array(profile.item_ids.find([each.item for each in seen], "$.shown"), dtype=np.int64)
    weights = np.array([_attention(each, options) for each in seen], dtype=np.float64)
    known = np.flatnonzero(places >= 0)
    known = known[np.lexsort((weights[known], places[known]))]
    return ShownBefore(places[known], weights[known]) if len(known) else None


def _attention(seen: SeenItem, options: Options) -> float:
    if seen.weight is not None or seen.rank is None:
        return 1.0 if seen.weight is None else seen.weight
    return float(options.attention_at(np.array([min(seen.rank, FARTHEST)], dtype=np.float64))[0])
