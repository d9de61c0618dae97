"""Weights by category as requests write them: shares of a target, and rows of items that only the request knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from excalibr._problem import Memberships
from excalibr._types import Floats, Integers
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest

MOST_NAMED = 12
"""Categories that a message lists."""


def rows_of(profile: Profile, request: RankRequest, labels: Sequence[int | str], places: Integers) -> Memberships:
    """The shares of items by their rows in the table; where that is −1, as the request says them."""
    own = np.flatnonzero(places < 0)
    if not len(own):
        return profile.items.rows.of(places)
    read, categories = profile.item_ids.read, request.categories or {}
    by_id = {read(label, "$.categories"): label for label in categories}
    said = [by_id[read(labels[number], "$.items")] for number in own.tolist()]
    shares = np.array([_shares(label, categories[label], profile) for label in said])
    known, chosen = profile.items.rows.of(places[places >= 0]), np.empty(len(places), dtype=np.int64)
    chosen[places >= 0] = np.arange(known.n_candidates)
    chosen[own] = known.n_candidates + np.arange(len(own))
    return Memberships.stacked([known, Memberships.packed(shares)]).of(chosen)


def _shares(label: str, given: Any, profile: Profile) -> Floats:
    """(r,) one item's shares: equal ones of a list of categories, or in proportion to weights; by attribute."""
    what = "The categories of an item"
    parts = []
    for attribute, weights, path in by_attribute(what, given, profile, f"$.categories.{label}"):
        equal = dict.fromkeys(weights, 1.0) if isinstance(weights, list) else weights
        parts.append(read_shares(what, equal, profile.numbers[attribute], path))
    return np.concatenate(parts)


def by_attribute(what: str, given: Any, profile: Profile, path: str) -> Iterator[tuple[str, Any, str]]:
    """Each attribute's name, what is given for it, and where that stands; one without a name is the only one."""
    if not profile.attributes:
        yield "", given, path
        return
    names = [each.name for each in profile.attributes]
    if not isinstance(given, dict) or set(given) != set(names):
        raise RequestFailure(422, f"{what} must have weights for each of the attributes {names}.", path)
    for name in names:
        yield name, given[name], f"{path}.{name}"


def read_shares(
    what: str, weights: Any, numbers: dict[str, int], path: str, *, leave_out_unknown: bool = False
) -> Floats:
    """Shares in proportion to weights by category; ``numbers`` has the place of each category."""
    if not isinstance(weights, dict) or any(isinstance(each, (dict, list)) for each in weights.values()):
        raise RequestFailure(422, f"{what} must be weights by category.", path)
    sums, known = np.zeros(len(numbers)), [*numbers][:MOST_NAMED]
    with np.errstate(over="ignore"):
        for label, weight in weights.items():
            number = numbers.get(label.strip())
            if number is not None:
                sums[number] += weight
            elif not leave_out_unknown:
                raise RequestFailure(422, f"The category {label!r:.80} must be one that an item has: {known}.", path)
        total = sums.sum()
    if total == np.inf:
        raise RequestFailure(422, f"{what} must have weights with a finite sum.", path)
    if not total:
        raise RequestFailure(422, f"{what} must have weight on a category that an item has: {known}.", path)
    return np.asarray(sums / total)
