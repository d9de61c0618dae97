"""What comes beside the candidates: tables, the names of their columns, and how to read them, written once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from excalibr._messages import Message, Option, Wording
from excalibr._options import CheckedOptions, option, read_options, real_number, truth_value, whole_number
from excalibr._visits import read_visit
from excalibr.errors import InputError, InputTypeError
from excalibr.tables._columns import NEEDED, ColumnNames
from excalibr.targets import checked_half_life, checked_strength

GUESS = "auto"
"""The separator that stands for the one that the labels show."""


def _check_separator(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InputTypeError(name, f"is {value!r}", "be a text, or None")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables(ColumnNames):
    """The keywords of :meth:`excalibr.Reranker.rerank` and of the methods beside it."""

    history: Any = option(None, "What users had before (user_id, item_id, optional weight or timestamp).")
    targets: Any = option(
        None, "Wanted shares (user_id, category, weight, or low and high); without user_id, one target for all."
    )
    users: Any = option(None, "Users with a trade_off, a k or a visit of their own (user_id, trade_off, k, visit).")
    prior: Any = option(None, "Shares for users without history (category, weight).")
    pinned: Any = option(None, "Items that keep a place in a user's slate (user_id, rank, item_id).")
    shown: Any = option(None, "Items that users have just seen (user_id, item_id, optional weight or rank).")
    prices: Any = option(
        None, "Prices of groups of items, as balance finds them (pass, probability, attribute, category, price, block)."
    )
    strength: float = option(
        0.0, "How many items of a history the prior is worth; 0: it only serves empty histories.", checked_strength
    )
    half_life: float | None = option(
        None,
        "Weigh the history by age: the weight halves with each; in the timestamps' unit, seconds for dates.",
        checked_half_life,
    )
    separator: str | None = option(
        GUESS,
        "What stands between the categories in one text, such as |; auto: as the labels show; none: nothing.",
        _check_separator,
    )
    visit: int | None = option(
        None,
        "Which visit of a user this is, from 0: visits balance one another; users may have a visit of their own.",
        lambda _, visit: read_visit(visit),
    )
    propensities: bool = option(
        False, "Add to slates how probable each ranking and each item in its place was.", truth_value
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.history is not None and self.targets is not None:
            raise InputError("targets", "are given with a history", "be given alone", "leave one of them out.")
        if self.history is None and self.targets is None and self.prior is None:
            one_for_all = Wording("targets={'drama': 0.6, …}", "--targets with a table of category and weight")
            must = Message("be given, or ", Option("targets"))
            raise InputError("history", "is missing", must, Message(one_for_all, " is one for all."))
        if self.strength and self.prior is None:
            found = f"is {self.strength} without a prior"
            raise InputError("strength", found, "be finite and at least 0, and 0 without a prior")
        if not self.category_columns:
            raise InputError("category", "is empty", "name at least one column")

    @property
    def category_columns(self) -> dict[str, str]:
        """The column of each attribute; where a single column is named, of one attribute without a name."""
        if isinstance(self.category, str):
            return {"": self.category}
        if isinstance(self.category, Mapping):
            return dict(self.category)
        return {name: name for name in self.category}

    @property
    def propensity_columns(self) -> tuple[str, str, str]:
        """The columns of slates for the probability of the ranking, of the item in its slot, and in any slot."""
        return self.probability, self.propensity, self.propensity_anywhere

    @property
    def splits_at(self) -> str | None:
        """The separator; ``GUESS`` where the labels decide, None where nothing is to be split."""
        return None if self.separator in (None, "", "none") else self.separator


def read_tables(given: dict[str, Any], *beside: type[Any]) -> Tables:
    """The keywords of tables; a name that is none is answered with the nearest, of the kinds ``beside`` them too."""
    return read_options(Tables, given, tuple(each.name for kind in beside for each in dataclasses.fields(kind)))


def check_distinct_names(options: Tables, columns: Sequence[str], *, lotteries: bool, report: Sequence[str]) -> None:
    """Raise an error where two columns of slates, of lotteries, or of a report would have the same name."""
    written = ["rank"]
    written += ["probability", "propensity", "propensity_anywhere"] if options.propensities else []
    written += ["ranking", "probability"] if lotteries else []
    roles = {role: options.column(role, "candidates", columns) for role in NEEDED["candidates"]}
    roles |= {role: getattr(options, role) for role in written}
    taken: dict[str, str] = {}
    for role, name in roles.items():
        other = taken.setdefault(name, role)
        if other != role:
            found = Message(f"is {name!r}, as ", Option(other), " is")
            raise InputError(role, found, "have a name of its own", Message("pass ", Option(role, ...), "."))
    if roles["user_id"] in report:
        clash = f"is {roles['user_id']!r}, a column of the report"
        raise InputError("user_id", clash, "have a name of its own", "rename yours.")


def _check_by_group(name: str, given: Any) -> None:
    """Limits are by attribute, and then by group."""
    if not isinstance(given, Mapping) or not all(isinstance(own, Mapping) for own in given.values()):
        hint = f'{name}={{"seller": {{"small": 0.02}}}} is one of a group of `seller`.'
        raise InputError(name, f"is {given!r}", "be a mapping by attribute from groups to shares", hint)


@dataclass(frozen=True, kw_only=True, eq=False)
class Everyone(CheckedOptions):
    """The keywords of :meth:`excalibr.Reranker.balance` besides those of :meth:`excalibr.Reranker.rerank`."""

    everyone: Any = option(None, "Wanted shares of an attribute's groups: seller=targets.parquet (category, weight).")
    everyone_weights: Any = option(None, "What a unit of deviation costs, by attribute: seller=0.5; 1 by default.")
    everyone_floors: Any = option(None, "The least share that a group must have: seller:small=0.02.", _check_by_group)
    everyone_caps: Any = option(None, "The largest share that a group may have: seller:big=0.3.", _check_by_group)
    everyone_relative: bool = option(False, "Count a group's deviation relative to its target.", truth_value)
    everyone_tolerance: float = option(
        1e-3,
        "Stop at this proven gap, relative to the bound or the scores' spread.",
        real_number("be a positive number", lambda value: 0.0 < value < inf),
    )
    max_passes: int = option(
        30,
        "Stop after so many passes over all users, with the gap that was proven.",
        whole_number(1, or_none=False),
    )
    start: Any = option(None, "Prices to begin with, yesterday's for instance.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.everyone is None and not self.everyone_floors and not self.everyone_caps:
            hint = 'everyone={"seller": {"big": 0.75, "small": 0.25}} wants these shares of the sellers.'
            raise InputError("everyone", "is missing", "be given, or everyone_floors or everyone_caps", hint)
