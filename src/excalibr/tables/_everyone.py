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
from excalibr.tables._arrow import pa, pc
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Everyone, Tables
from excalibr.tables._prices import read_prices
from excalibr.tables._summary import Note

__all__ = ["GroupTargets", "attributes_of", "read_start", "read_terms"]

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


def attributes_of(asked: Everyone, options: Tables) -> list[str]:
    """The attributes that anything is asked of, in the order they come."""
    names: dict[str, None] = {}
    for given in (asked.everyone, asked.everyone_floors, asked.everyone_caps):
        if isinstance(given, Mapping):
            names |= dict.fromkeys(map(str, given))
        elif given is not None:
            column = read_frame(given, "everyone").column(options.attribute, "attribute")
            names |= dict.fromkeys(str(value) for value in column.unique().to_pylist() if value is not None)
    return list(names)


def read_terms(asked: Everyone, groups: ItemArrays, options: Tables) -> tuple[Terms, GroupTargets]:
    """The terms of all groups, and what was wanted of each."""
    count = groups.rows.n_categories
    _check_names(asked, groups, options)
    targets = GroupTargets(*(np.full(count, np.nan) for _ in range(4)))
    terms = []
    for part in groups.parts:
        labels = groups.categories.to_pylist()[part.columns]
        if _part_of(asked.everyone, part.name, options) is not None:
            terms.append(_targets(asked, part, labels, targets, options, count))
    for name, sign, found in (
        ("everyone_floors", -1.0, targets.floors),
        ("everyone_caps", 1.0, targets.caps),
    ):
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


def _check_names(asked: Everyone, groups: ItemArrays, options: Tables) -> None:
    """Something is wanted of every attribute that is named."""
    wanted = [part.name for part in groups.parts if _part_of(asked.everyone, part.name, options) is not None]
    if isinstance(asked.everyone, Mapping):
        for name, given in asked.everyone.items():
            if given is None:
                raise InputError(explain(f"everyone[{name!r}]", "is None", "be a mapping or a table of shares"))
    if isinstance(asked.everyone_weights, Mapping):
        for name in asked.everyone_weights:
            if str(name) not in wanted:
                raise unknown_name("everyone_weights", str(name), wanted)


def _targets(
    asked: Everyone, part: AttributeSpan, labels: list[str], targets: GroupTargets, options: Tables, count: int
) -> Terms:
    """The targets or bands of one attribute; a group that a band does not name is free."""
    given = _part_of(asked.everyone, part.name, options)
    what = f"everyone[{part.name!r}]"
    low, high = _edges(given, part.name, labels, options)
    is_band = not np.array_equal(np.nan_to_num(low), np.nan_to_num(high))
    if not is_band:
        low = high = np.nan_to_num(low)
        if abs(low.sum() - 1.0) > SUM_TOLERANCE:
            raise InputError(explain(what, f"sums to {low.sum():g}", "sum to 1", "divide the weights by their sum."))
    if (low > high).any():
        at = int(np.argmax(low > high))
        raise InputError(
            explain(what, f"has low {low[at]:g} and high {high[at]:g} of {labels[at]!r}", "have low ≤ high")
        )
    targets.low[part.columns], targets.high[part.columns] = low, high
    there = np.flatnonzero(np.isfinite(low))
    weights = np.full(len(there), _weight(asked, part.name))
    if asked.everyone_relative:
        middle = 0.5 * (low + high)[there]
        weights = weights / np.where(middle > 0, middle, middle[middle > 0].min(initial=1.0))
    return target_terms(there + part.start, low[there], high[there], weights, count)


def _edges(given: Any, attribute: str, labels: list[str], options: Tables) -> tuple[Floats, Floats]:
    """(groups,) the least and the most wanted, nan where nothing is said; tables name groups by either column."""
    what = f"everyone[{attribute!r}]"
    numbers = {label: number for number, label in enumerate(labels)}
    low, high = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    if isinstance(given, Mapping):
        named = [str(label) for label in given]
        for label, value in given.items():
            if not is_real(value):
                raise InputError(explain(what, f"has {value!r} for {label!r}", "have shares from 0 to 1"))
        lows = highs = np.array([float(value) for value in given.values()])
    else:
        frame = given if isinstance(given, Frame) else read_frame(given, what)
        own = attribute in frame.columns
        column = attribute if own else options.column("category", what, frame.columns)
        named = [str(label) for label in frame.column(column, "category").to_pylist()]
        band = options.find("low", what, frame.columns), options.find("high", what, frame.columns)
        columns = (
            band
            if band[0] is not None and band[1] is not None
            else (options.column("weight", what, frame.columns),) * 2
        )
        lows, highs = (frame.numbers(str(column), "weight") for column in columns)
    for label, least, most in zip(named, lows.tolist(), highs.tolist(), strict=True):
        if label not in numbers:
            raise unknown_name(what, label, labels)
        if not np.isnan(low[numbers[label]]):
            raise InputError(explain(what, f"has {label!r} twice", "have each group once"))
        if not (0.0 <= least <= 1.0 and 0.0 <= most <= 1.0):
            raise InputError(explain(what, f"has {least:g} to {most:g} for {label!r}", "have shares from 0 to 1"))
        low[numbers[label]], high[numbers[label]] = least, most
    return low, high


def _part_of(given: Any, name: str, options: Tables) -> Any:
    """What is given for one attribute: of a mapping its part, of a table with attributes its rows."""
    if given is None or isinstance(given, Mapping):
        return None if given is None else given.get(name)
    frame = read_frame(given, "everyone")
    columns = {column: frame.column(column, column) for column in frame.columns}
    table = pa.table(columns).filter(pc.equal(columns[options.attribute].cast(pa.string()), name))
    return table.drop_columns([options.attribute]) if len(table) else None


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
        labels = groups.categories.to_pylist()[part.columns]
        numbers = {label: number for number, label in enumerate(labels, start=part.start)}
        for label, value in given.get(part.name, {}).items():
            if str(label) not in numbers:
                raise unknown_name(option_name, str(label), labels)
            if not (is_real(value) and 0.0 <= value <= 1.0):
                raise InputError(explain(option_name, f"has {value!r} for {label!r}", "have shares from 0 to 1"))
            found[numbers[str(label)]] = float(value)
