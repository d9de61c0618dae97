"""Where a request's target comes from: its own, its history, the user's row of the tables, or a prior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from excalibr._problem import Status, Targets
from excalibr._types import Floats
from excalibr.service._category_weights import by_attribute, read_shares
from excalibr.service._profiles import Profile
from excalibr.service._requests import Past, RankRequest
from excalibr.tables._user_targets import aged_weights, sum_histories, targets_of_history
from excalibr.targets import shares_of


class RequestTarget(NamedTuple):
    """The edges of a target, (r,) each and the same where it is no band; and why there is none."""

    low: Floats
    high: Floats
    status: Status

    @property
    def is_band(self) -> bool:
        """Whether the edges differ."""
        return self.high is not self.low and bool((self.high != self.low).any())


def read_target_of(request: RankRequest, profile: Profile, user: int | str | None) -> RequestTarget:
    """The target of a request, from the first of these that it has."""
    if request.target is not None:
        return _own(request.target, profile)
    if request.history is not None:
        return _from_history(request.history, profile)
    unknown = len(profile.statuses) - 1
    row = unknown if profile.user_ids is None else profile.user_ids.places.get(user, unknown)
    return RequestTarget(*profile.targets.edges(row), Status(int(profile.statuses[row])))


def _own(target: dict[str, Any], profile: Profile) -> RequestTarget:
    """Weights by category, or by attribute and category; those that no item has are left out."""
    shares = [
        read_shares("A target", weights, profile.numbers[attribute], path, leave_out_unknown=True)
        for attribute, weights, path in by_attribute("A target", target, profile, "$.target")
    ]
    low = np.concatenate([shares_of(each[None])[0] for each in shares])
    return RequestTarget(low, low, Status.OK)


def _from_history(history: list[Any], profile: Profile) -> RequestTarget:
    """The shares of the items that the request says the user had, with the profile's prior."""
    past = [each if type(each) is Past else Past(each) for each in history]
    places = np.array(profile.item_ids.find([each.item for each in past], "$.history"), dtype=np.int64)
    weights = np.array([each.weight for each in past], dtype=np.float64)
    owners = np.zeros(len(past), dtype=np.int64)
    if profile.half_life is not None:
        times = np.array([np.nan if each.timestamp is None else each.timestamp for each in past], dtype=np.float64)
        weights = aged_weights(owners, places, weights, times, profile.half_life)
    sums = sum_histories(owners, places, weights, 1, profile.items)
    found = targets_of_history(sums, profile.items, profile.priors, profile.strength)
    status = Status.NO_TARGET if any(missing.all() for _, missing in found) else Status.OK
    return RequestTarget(*Targets.side_by_side([own for own, _ in found]).edges(0), status)
