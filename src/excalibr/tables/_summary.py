"""What was understood of the tables, in one line, and what looks wrong about them, with the option to change it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from excalibr._messages import Message, Option
from excalibr.errors import ExcalibrWarning, TableWarning, TruncationWarning
from excalibr.tables._items import CategoryColumn, ItemArrays

__all__ = ["NO_ROOM", "Note", "items_text", "review_items", "warn_all"]

FEW_ITEMS = 20
"""A table of fewer items may well have a category for each."""


@dataclass(frozen=True)
class Note:
    """Something to warn of."""

    kind: type[ExcalibrWarning]
    message: Message


NO_ROOM = Note(
    TruncationWarning,
    Message(
        "every user has as many slots as candidates, so that only their order can change. Hint: pass ",
        Option("k", 10),
        " for a slate of ten.",
    ),
)


def items_text(columns: Sequence[CategoryColumn]) -> str:
    """What was understood of the items."""
    return "; ".join(column.text for column in columns)


def review_items(items: ItemArrays) -> list[Note]:
    """At most one note for each column of categories."""
    found = (_looks_wrong(column, items) for column in items.columns)
    return [Note(TableWarning, message) for message in found if message is not None]


def warn_all(notes: Iterable[Note], stacklevel: int) -> None:
    """Warn of each."""
    for note in notes:
        warnings.warn(str(note.message), note.kind, stacklevel=stacklevel + 1)


def _looks_wrong(column: CategoryColumn, items: ItemArrays) -> Message | None:
    another = Message("pass ", Option("category", ...), " to name another column.")
    if column.without == column.items:
        return Message(f"no item has a category in `{column.name}`, so that nothing can be calibrated. Hint: ", another)
    mark, share = next(iter(column.marks.items()), ("", 0.0))
    if share > 0.5:
        return Message(
            f"`{mark}` stands in {share:.0%} of the labels of `{column.name}`, which are not split there. Hint: pass ",
            Option("separator", mark),
            " to split them, or ",
            Option("separator", "none"),
            " if they are whole.",
        )
    if column.categories == 1 and column.items > 1:
        only = items.categories[0].as_py() if len(items.columns) == 1 else "of their own"
        found = f"all {column.items:,} items have the one category {only!r} in `{column.name}`"
        return Message(found, ", so that there is nothing to balance. Hint: ", another)
    many = 2 * column.categories > column.items >= FEW_ITEMS and column.pairs < 2 * column.categories
    if many:
        found = f"`{column.name}` has {column.categories:,} categories for {column.items:,} items"
        return Message(found, ", hardly two items of any of them. Hint: ", another)
    return None
