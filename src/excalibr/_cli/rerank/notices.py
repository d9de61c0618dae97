"""What the command says before it begins: a line on what was understood of the tables, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterable

from excalibr._cli.rerank.sources import TableSource
from excalibr._cli.rerank.streams import Scan
from excalibr._cli.speech import say, say_warning
from excalibr._messages import CommandWords, message_of
from excalibr.tables import NO_ROOM, ItemArrays, Note, Tables, items_text, review_items
from excalibr.tables._reranker import Reranker

__all__ = ["said_of_users", "tell_understood", "tell_warnings"]


def tell_understood(items: ItemArrays, users: str, sources: Iterable[TableSource], options: Tables) -> None:
    """One line on standard error: categories, users, and what nobody named; an error where a column is not there."""
    dialects = []
    for source in sources:
        dialects += source.dialects
        _find_columns(source, items, options)
    said = "; ".join([items_text(items.columns), users, *options.recognised_text(), *dialects])
    say(f"excalibr: {said}.")


def _find_columns(source: TableSource, items: ItemArrays, options: Tables) -> None:
    columns = source.schema.names
    options.check(source.name, columns)
    if source.name == "history" and options.half_life is not None:
        options.column("timestamp", "history", columns)
    if source.name == "targets":
        options.find("user_id", "targets", columns)
    if source.name in ("targets", "prior") and not {items.columns[0].name, "category"} & set(columns):
        options.find("category", source.name, columns)


def tell_warnings(items: ItemArrays, reranker: Reranker, own_slots: bool, words: CommandWords) -> None:
    """A line for each thing that looks wrong."""
    named = reranker.k is not None or own_slots or not isinstance(reranker.position_weights, str)
    notes: list[Note] = [*review_items(items), *([] if named else [NO_ROOM])]
    for note in notes:
        say_warning(message_of(note.message, words))


def said_of_users(scanned: Scan, k: int | None) -> str:
    """How many users and candidates there are, as far as one pass over the users tells."""
    rows = scanned.rows - scanned.without_user
    if not scanned.is_sorted or not scanned.users:
        return f"{rows:,} rows of candidates" + (f", {k:,} slots a user" if k else "")
    candidates = rows / scanned.users
    whole = candidates == round(candidates)
    about = f"{candidates:,.0f}" if whole else f"about {candidates:,.{0 if candidates > 10 else 1}f}"
    slots = f"{min(k, round(candidates)):,} slots of {about} candidates" if k else f"{about} candidates and slots"
    return f"{scanned.users:,} users; {slots}"
