"""Which column of a table is which: by the name that was given for the table, for all tables, or by a usual name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from excalibr._messages import Message, Option
from excalibr._options import CheckedOptions, option
from excalibr._types import Floats, Integers
from excalibr.errors import InputError, InputTypeError
from excalibr.tables._frames import Frame, delimiter_in, joined_error, missing_column, read_frame
from excalibr.tables._ids import codes_in, matched, read_ids

USUAL = {
    "user_id": ("userid", "user", "uid", "customerid", "visitorid"),
    "item_id": ("itemid", "item", "iid", "movieid", "productid", "articleid", "bookid", "songid", "trackid", "videoid"),
    "score": ("score", "scores", "prediction", "predicted", "pred", "rating", "relevance"),
    "category": ("category", "categories", "genre", "genres", "topic", "topics"),
    "timestamp": ("timestamp", "ts", "time", "datetime", "date"),
    "rating": ("rating", "ratings", "stars"),
}
"""Names that are taken for a column without being asked; capitals, spaces, ``_`` and ``-`` do not count."""

PRIMARY = {"user_id": "candidates", "item_id": "candidates", "score": "candidates", "category": "items"}
"""The table that an option for all tables is first of all about: a name that was given must be there."""

NEEDED = {
    "candidates": ("user_id", "item_id", "score"),
    "items": ("item_id", "category"),
    "history": ("user_id", "item_id"),
    "users": ("user_id",),
    "pinned": ("user_id", "item_id", "rank"),
    "shown": ("user_id", "item_id"),
}
"""What a table cannot do without."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnNames(CheckedOptions):
    """How the columns are called, in all tables or in one of them."""

    user_id: str = option("user_id", "Column with the user.")
    item_id: str = option("item_id", "Column with the item.")
    score: str = option("score", "Column with the score.")
    category: str | Sequence[str] | Mapping[str, str] = option(
        "category", "Column with the category, a list of them, or a text with separators; several for attributes."
    )
    attribute: str = option("attribute", "Column with the attribute, in targets and prior, where there are several.")
    weight: str = option("weight", "Column with weights.")
    low: str = option("low", "Column with the least share wanted, in targets that are bands.")
    high: str = option("high", "Column with the largest share wanted, in targets that are bands.")
    timestamp: str = option("timestamp", "Column with the moment, in the history.")
    rank: str = option("rank", "Column with the rank: written to slates, read in pinned and shown.")
    ranking: str = option("ranking", "Column to write the number of a ranking to, in lotteries.")
    probability: str = option(
        "probability", "Column to write the probability of a ranking to, in lotteries and slates."
    )
    propensity: str = option("propensity", "Column to write the probability of an item in its place to, in slates.")
    propensity_anywhere: str = option(
        "propensity_anywhere", "Column to write the probability of an item in any place to, in slates."
    )
    items_item_id: str | None = option(None, "Column with the item, in the items table.")
    items_weight: str | None = option(None, "Column with weights, in the items table.")
    history_user_id: str | None = option(None, "Column with the user, in the history.")
    history_item_id: str | None = option(None, "Column with the item, in the history.")
    history_weight: str | None = option(None, "Column with weights, in the history.")
    targets_user_id: str | None = option(None, "Column with the user, in targets.")
    targets_category: str | None = option(None, "Column with the category, in targets.")
    targets_weight: str | None = option(None, "Column with weights, in targets.")
    prior_category: str | None = option(None, "Column with the category, in the prior.")
    prior_weight: str | None = option(None, "Column with weights, in the prior.")
    users_user_id: str | None = option(None, "Column with the user, in users.")
    pinned_user_id: str | None = option(None, "Column with the user, in pinned.")
    pinned_item_id: str | None = option(None, "Column with the item, in pinned.")
    pinned_rank: str | None = option(None, "Column with the rank, in pinned.")
    shown_user_id: str | None = option(None, "Column with the user, in shown.")
    shown_item_id: str | None = option(None, "Column with the item, in shown.")
    shown_weight: str | None = option(None, "Column with weights, in shown.")
    shown_rank: str | None = option(None, "Column with the rank, in shown.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is not default and not (_are_names(value) if name == "category" else isinstance(value, str)):
                must = "be the name of a column" + (", or names of several" if name == "category" else "")
                raise InputTypeError(name, f"is {value!r}", must)

    def find(self, role: str, table: str, columns: Sequence[str]) -> str | None:
        """The column that has a role (``user_id``, ``weight``, …) in a table; None where there is none.

        It is the one that was named for this table; or the one that was named for all tables; or else, of the columns
        that a table cannot do without, the only one with a usual name.
        """
        own = getattr(self, _own_option(role, table), None)
        if own is not None:
            if own not in columns:
                raise InputError(missing_column(own, table, columns, _own_option(role, table), role))
            return str(own)
        asked = getattr(self, role)
        named = isinstance(asked, str) and asked != _DEFAULTS[role]
        if asked in columns:
            return str(asked)
        if role not in USUAL or (named and PRIMARY.get(role) == table):
            return None
        usual = [role] if role in columns else usual_columns(role, columns)
        if len(usual) > 1:
            found = f"column {role!r} not found in {table}, where {' and '.join(map(repr, usual))} could be it."
            raise InputError(Message(found, " Hint: pass ", Option(self.option_for(role, table), usual[0]), "."))
        if usual:
            self.recognised.setdefault(table, {})[role] = usual[0]
        return usual[0] if usual else None

    def column(self, role: str, table: str, columns: Sequence[str]) -> str:
        """The same where there must be one; otherwise an error lists the columns that there are."""
        name = self.find(role, table, columns)
        if name is None:
            asked, keyword = getattr(self, role), self.option_for(role, table)
            everywhere = role if asked == _DEFAULTS[role] and keyword != role else None
            raise InputError(missing_column(str(asked), table, columns, keyword, role, everywhere))
        return name

    def open(self, table: Any, name: str) -> Frame:
        """One of the caller's tables, with all columns that it needs."""
        frame = read_frame(table, name)
        self.check(name, frame.columns)
        return frame

    def check(self, table: str, columns: Sequence[str]) -> None:
        """Raise an error that names all columns that a table needs and does not have."""
        wrong = []
        for role in NEEDED.get(table, ()):
            asked = getattr(self, role)
            if not isinstance(asked, str):  # the columns of several attributes
                names = asked.values() if isinstance(asked, Mapping) else asked
                absent = [name for name in names if name not in columns]
                wrong += [InputError(missing_column(name, table, columns, role)) for name in absent]
                continue
            try:
                self.column(role, table, columns)
            except InputError as error:
                wrong.append(error)
        if wrong:
            raise joined_error(wrong[:1] if delimiter_in(columns) else wrong, table)

    def read(self, frame: Frame, role: str) -> Any:
        """The column of a frame that has a role, as an Arrow array."""
        return frame.column(self.column(role, frame.name, frame.columns), role)

    def read_ids(self, frame: Frame, role: str) -> Any:
        """The same as ids that can be compared and sorted."""
        name = self.column(role, frame.name, frame.columns)
        return read_ids(frame.column(name, role), f"column {name!r} of {frame.name}")

    def read_numbers(self, frame: Frame, role: str) -> Floats:
        """The same as numbers, nan where it is null."""
        return frame.numbers(self.column(role, frame.name, frame.columns), role)

    def read_weights(self, frame: Frame) -> Floats:
        """The weight of each row: 1 without such a column, nan where it is null."""
        return frame.numbers_or_ones(self.find("weight", frame.name, frame.columns))

    def read_places(self, frame: Frame, role: str, known: Any, table: str) -> Integers:
        """Each row's place among the ids that another table has, −1 for one that it has not."""
        return codes_in(*matched(self.read_ids(frame, role), known, role, (frame.name, table)))

    def option_for(self, role: str, table: str) -> str:
        """The option that names this column of this table and leaves others as they are."""
        own = _own_option(role, table)
        return own if own in _DEFAULTS and PRIMARY.get(role) != table else role

    @cached_property
    def recognised(self) -> dict[str, dict[str, str]]:
        """By table and role, the columns that were found so far by their usual names and not by an option."""
        return {}

    def recognised_text(self) -> list[str]:
        """The same in words, such as "`userId` of history is taken as user_id"."""
        return [
            f"{', '.join(f'`{name}`' for name in found.values())} of {table} {'is' if len(found) == 1 else 'are'} "
            f"taken as {', '.join(found)}"
            for table, found in self.recognised.items()
        ]


_DEFAULTS = {each.name: each.default for each in dataclasses.fields(ColumnNames)}

OWN_COLUMNS = tuple(name for name, default in _DEFAULTS.items() if default is None)
"""The options that name a column of one table only."""


def _are_names(value: Any) -> bool:
    """Whether it is a column's name, a list of them, or the name of each attribute's."""
    names = [*value, *value.values()] if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
    return isinstance(names, Sequence) and all(isinstance(name, str) for name in names)


def usual_columns(role: str, columns: Sequence[str]) -> list[str]:
    """The columns with a usual name for a role."""
    return [column for column in columns if re.sub("[_ -]", "", str(column).lower()) in USUAL.get(role, ())]


def _own_option(role: str, table: str) -> str:
    return f"{table.partition('[')[0]}_{role}"
