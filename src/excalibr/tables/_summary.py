"""What was understood of the tables, in one line, and what looks wrong about them, with the option to change it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from excalibr._messages import Message, Option
from excalibr.errors import ExcalibrWarning, TableWarning, TruncationWarning
from excalibr.tables._items import CategoryColumn, ItemArrays

FEW_ITEMS = 20
"""A table of fewer items may well have a category for each."""


@dataclass(frozen=True)
class Note:
    """Something to warn of: the kind of warning, and what it says."""

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
    """What was understood of the items' categories, in one line."""
    return "; ".join(column.text for column in columns)


def review_items(items: ItemArrays) -> list[Note]:
    """What looks wrong about the items, at most one note for each column of categories.

    >>> from excalibr.tables import Tables, read_items
    >>> from excalibr.tables._arrow import pa
    >>> table = pa.table({"item_id": [1, 2], "category": ["drama", "drama"]})
    >>> print(review_items(read_items(table, Tables(targets={"drama": 1.0})))[0].message)
    all 2 items have the one category 'drama' in `category`, so that there is nothing to balance. \
Hint: pass category=… to name another column.
    """
    found = (_looks_wrong(column, items) for column in items.columns)
    return [Note(TableWarning, message) for message in found if message is not None]


def warn_all(notes: Iterable[Note], stacklevel: int) -> None:
    """Warn of each, as if from the caller's line so many calls up."""
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
