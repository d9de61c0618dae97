"""Items of a request that keep a place, and items that were shown before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from excalibr._options import Options
from excalibr._types import Floats, Integers
from excalibr.service._candidates import GivenItems, own_ids
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest, SeenItem

MAX_RANK = 2**53
"""The last slot that a number tells from its neighbours."""


class ShownBefore(NamedTuple):
    """Items as the request calls them, their rows in the items table or −1, and the attention that they got."""

    labels: list[int | str]
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
        if pin.rank > k:
            raise RequestFailure(422, f"The rank {pin.rank} must be at most {k}, the number of slots.", f"{path}.rank")
        if pin.rank - 1 in pinned:
            raise RequestFailure(422, f"The rank {pin.rank} must be pinned only once.", f"{path}.rank")
        if candidate in pinned.values():
            raise RequestFailure(422, f"The item {pin.item!r:.80} must be pinned only once.", f"{path}.item")
        pinned[pin.rank - 1] = candidate
    return {0: pinned}


def read_shown(profile: Profile, options: Options, request: RankRequest) -> ShownBefore | None:
    """What was shown before, by id, items of the table first; those whose categories nobody knows are left out."""
    known, own, found = profile.item_ids.places, own_ids(request, profile), []
    for number, each in enumerate(request.shown or ()):
        seen = each if isinstance(each, SeenItem) else SeenItem(each)
        named: Any = profile.item_ids.read(seen.item, f"$.shown[{number}]")
        if named in known or named in own:
            found.append((named in own, named, _attention(seen, options), seen.item))
    if not found:
        return None
    found.sort(key=lambda one: one[:3])
    places = np.array([known.get(named, -1) for _, named, _, _ in found], dtype=np.int64)
    return ShownBefore([item for *_, item in found], places, np.array([weight for _, _, weight, _ in found]))


def _attention(seen: SeenItem, options: Options) -> float:
    if seen.weight is not None or seen.rank is None:
        return 1.0 if seen.weight is None else seen.weight
    return float(options.attention_at(np.array([min(seen.rank, MAX_RANK)], dtype=np.float64))[0])
