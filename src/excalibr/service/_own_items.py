"""Rows of categories for a request's candidates, among them items that only the request knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from excalibr._native import kernel
from excalibr._problem import AttributeSpan, Memberships
from excalibr._types import Floats, Integers
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest


def rows_of(profile: Profile, request: RankRequest, labels: Sequence[int | str], places: Integers) -> Memberships:
    """The shares of items by their rows in the table; where that is −1, as the request says them."""
    own = np.flatnonzero(places < 0)
    if not len(own):
        return profile.items.rows.of(places)
    read, categories = profile.item_ids.read, request.categories or {}
    by_id = {read(label, "$.categories"): label for label in categories}
    table = profile.items.rows.of(np.maximum(places, 0)).dense()
    for number in own.tolist():
        label = by_id[read(labels[number], "$.items")]
        table[number] = _shares(label, categories[label], profile)
    return Memberships(*kernel.pack_rows(table), table.shape[1])


def _shares(label: str, said: Any, profile: Profile) -> Floats:
    """(r,) one item's shares: equal ones of a list of categories, or in proportion to weights; by attribute."""
    path = f"$.categories.{label}"
    if not profile.attributes:
        return _of_attribute(said, profile.items.parts[0], profile, path)
    names = [each.name for each in profile.attributes]
    if not isinstance(said, dict) or set(said) != set(names):
        raise RequestFailure(422, f"Categories must be given for each of the attributes {names}.", path)
    parts = [_of_attribute(said[each.name], each, profile, f"{path}.{each.name}") for each in profile.attributes]
    return np.asarray(np.sum(parts, axis=0))


def _of_attribute(said: Any, attribute: AttributeSpan, profile: Profile, path: str) -> Floats:
    weights = dict.fromkeys(said, 1.0) if isinstance(said, list) else said
    if not isinstance(weights, dict) or any(isinstance(each, list) for each in weights.values()):
        raise RequestFailure(422, "Categories must be a list of them, or weights by category.", path)
    shares, numbers = np.zeros(len(profile.items.categories)), profile.numbers[attribute.name]
    for category, weight in weights.items():
        number = numbers.get(category.strip())
        if number is None:
            raise RequestFailure(
                422, f"The category {category!r:.80} must be one that an item has: {[*numbers][:12]}.", path
            )
        shares[attribute.start + number] = weight
    with np.errstate(over="ignore"):
        total = shares.sum()
    if total == np.inf:
        raise RequestFailure(422, "The weights of an item's categories must have a finite sum.", path)
    if not total:
        raise RequestFailure(422, "An item must have at least one category with a weight.", path)
    return np.asarray(shares / total)
