"""What is asked of everybody together, read from mappings and tables into terms of groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import is_real
from excalibr._population import Terms, join_terms, limit_terms, target_terms
from excalibr._problem import AttributeSpan
from excalibr._types import Floats
from excalibr.errors import InputError, TableWarning, explain, unknown_name
from excalibr.tables._frames import Frame
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Everyone, Tables
from excalibr.tables._prices import read_prices
from excalibr.tables._shares import labels_in, shares_by_attribute
from excalibr.tables._summary import Note

__all__ = ["GroupTargets", "attributes_of", "read_start", "read_terms", "wanted_shares"]

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class GroupTargets:
    """(G,) what is asked of each group's share, nan where nothing is: edges of its target, floors, caps."""

    low: Floats
    high: Floats
    floors: Floats
    caps: Floats

    @property
    def least(self) -> Floats:
        """The larger of lower edge and floor."""
        return np.fmax(self.low, self.floors)

    @property
    def most(self) -> Floats:
        """The smaller of upper edge and cap."""
        return np.fmin(self.high, self.caps)


def wanted_shares(asked: Everyone, options: Tables) -> dict[str, Frame]:
    """What is wanted of the groups of each attribute."""
    return {} if asked.everyone is None else shares_by_attribute(asked.everyone, "everyone", options)


def attributes_of(asked: Everyone, shares: Mapping[str, Frame]) -> list[str]:
    """The attributes that anything is asked of, in the order they come."""
    limits = (str(name) for given in (asked.everyone_floors, asked.everyone_caps) for name in given or ())
    return list(dict.fromkeys([*shares, *limits]))


def read_terms(
    asked: Everyone, shares: Mapping[str, Frame], groups: ItemArrays, options: Tables
) -> tuple[Terms, GroupTargets]:
    """The terms of all groups, and what was wanted of each."""
    count, weights = groups.rows.n_categories, asked.everyone_weights
    for name in weights if isinstance(weights, Mapping) else ():
        if str(name) not in shares:
            raise unknown_name("everyone_weights", str(name), shares)
    targets = GroupTargets(*(np.full(count, np.nan) for _ in range(4)))
    terms = []
    for part in groups.parts:
        if part.name in shares:
            low, high = _edges(shares[part.name], part.name, _labels(groups, part), options)
            targets.low[part.columns], targets.high[part.columns] = low, high
            terms.append(_target_terms(asked, part, low, high, count))
    for name, sign, found in (("everyone_floors", -1.0, targets.floors), ("everyone_caps", 1.0, targets.caps)):
        _fill_limits(name, getattr(asked, name), groups, found)
        there = np.flatnonzero(np.isfinite(found))
        if len(there):
            terms.append(limit_terms(there, found[there], sign, count))
    if (targets.floors > targets.caps).any():
        at = int(np.argmax(targets.floors > targets.caps))
        floor, cap = targets.floors[at], targets.caps[at]
        found_there = f"of {groups.categories[at].as_py()!r} is {floor:g}, above its cap {cap:g}"
        raise InputError(explain("everyone_floors", found_there, "be no more than the cap"))
    return join_terms(terms), targets


def read_start(asked: Everyone, labels: list[tuple[str, str]], terms: Terms) -> tuple[Floats | None, list[Note]]:
    """Prices of the terms to begin with, from an earlier table of prices, and what to warn of; None without a table.

    Each group's price goes to its first term that takes it; groups that the table does not have begin at 0.
    """
    if asked.start is None:
        return None, []
    prices = read_prices(asked.start, "start")
    by_group = dict(zip(prices.groups, prices.mixture.probabilities @ prices.mixture.prices, strict=True))
    notes = _other_groups(prices.groups, labels)
    left = np.array([by_group.get(label, 0.0) for label in labels])
    start = np.zeros(len(terms))
    for term, group in enumerate(terms.groups.tolist()):
        own = float(np.clip(terms.signs[term] * left[group], terms.lowest[term], terms.highest[term]))
        start[term] = own
        left[group] -= terms.signs[term] * own
    return start, notes


def _other_groups(given: list[tuple[str, str]], labels: list[tuple[str, str]]) -> list[Note]:
    """An error where no price is of a group of this balance, a note where some are not."""
    others = sorted(set(given) - set(labels))
    if not others:
        return []
    attribute, category = others[0]
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    must = f"be of groups of this balance, such as {labels[0][1]!r} of {labels[0][0]!r}"
    if len(others) == len(set(given)):
        found = f"has prices of {category!r} of {attribute!r}{more}, all of them unknown here"
        raise InputError(explain("start", found, must, "leave it out to begin without prices."))
    unused = f"has prices of {category!r} of {attribute!r}{more}, which are not used"
    return [Note(TableWarning, explain("start", unused, must))]


def _target_terms(asked: Everyone, part: AttributeSpan, low: Floats, high: Floats, count: int) -> Terms:
    """The targets or bands of one attribute; a group that a band does not name is free."""
    there = np.flatnonzero(np.isfinite(low))
    weights = np.full(len(there), _weight(asked, part.name))
    if asked.everyone_relative:
        middle = 0.5 * (low + high)[there]
        weights = weights / np.where(middle > 0, middle, middle[middle > 0].min(initial=1.0))
    return target_terms(there + part.start, low[there], high[there], weights, count)


def _edges(frame: Frame, attribute: str, labels: list[str], options: Tables) -> tuple[Floats, Floats]:
    """(groups,) the least and the most wanted, nan where nothing is said; of targets that are no bands all is said."""
    what, columns = frame.name, frame.columns
    band = [options.find(edge, what, columns) for edge in ("low", "high")]
    named = band if None not in band else [options.column("weight", what, columns)] * 2
    lows, highs = (frame.numbers(str(name), "weight").tolist() for name in named)
    numbers = {label: number for number, label in enumerate(labels)}
    low, high = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    for label, least, most in zip(labels_in(frame, attribute, options).to_pylist(), lows, highs, strict=True):
        if label not in numbers:
            raise unknown_name(what, label, labels)
        if not np.isnan(low[numbers[label]]):
            raise InputError(explain(what, f"has {label!r} twice", "have each group once"))
        if not (0.0 <= least <= 1.0 and 0.0 <= most <= 1.0):
            raise InputError(explain(what, f"has {least:g} to {most:g} for {label!r}", "have shares from 0 to 1"))
        if least > most:
            raise InputError(explain(what, f"has low {least:g} and high {most:g} of {label!r}", "have low ≤ high"))
        low[numbers[label]], high[numbers[label]] = least, most
    if np.array_equal(np.nan_to_num(low), np.nan_to_num(high)):
        low = high = np.nan_to_num(low)
        if abs(low.sum() - 1.0) > SUM_TOLERANCE:
            raise InputError(explain(what, f"sums to {low.sum():g}", "sum to 1", "divide the weights by their sum."))
    return low, high


def _labels(groups: ItemArrays, part: AttributeSpan) -> list[str]:
    labels: list[str] = groups.categories[part.columns].to_pylist()
    return labels


def _weight(asked: Everyone, name: str) -> float:
    given = asked.everyone_weights
    weight = given.get(name, 1.0) if isinstance(given, Mapping) else 1.0 if given is None else given
    if not (is_real(weight) and 0.0 <= weight < np.inf):
        raise InputError(explain("everyone_weights", f"has {weight!r} for {name!r}", "be numbers of at least 0"))
    return float(weight)


def _fill_limits(option_name: str, given: Any, groups: ItemArrays, found: Floats) -> None:
    if given is None:
        return
    for part in groups.parts:
        labels = _labels(groups, part)
        numbers = {label: number for number, label in enumerate(labels, start=part.start)}
        for label, value in given.get(part.name, {}).items():
            if str(label) not in numbers:
                raise unknown_name(option_name, str(label), labels)
            if not (is_real(value) and 0.0 <= value <= 1.0):
                raise InputError(explain(option_name, f"has {value!r} for {label!r}", "have shares from 0 to 1"))
            found[numbers[str(label)]] = float(value)
