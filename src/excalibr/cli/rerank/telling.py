"""What the command says before it begins: a line on what was understood of the tables, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from excalibr._messages import CommandWords, message_of
from excalibr.cli.rerank.sources import Source
from excalibr.cli.rerank.streams import Scan
from excalibr.reranker import Reranker
from excalibr.tables import NO_ROOM, Items, Note, Tables, items_text, review_items

__all__ = ["said_of_users", "tell_understood", "tell_warnings"]

ROLES = {
    "candidates": ("user_id", "item_id", "score"),
    "items": ("item_id", "category"),
    "history": ("user_id", "item_id"),
    "targets": ("user_id", "category"),
    "users": ("user_id",),
    "prior": ("category",),
    "pinned": ("user_id", "item_id"),
    "shown": ("user_id", "item_id"),
}
"""The columns that are found by their usual names, by table."""


def tell_understood(items: Items, users: str, sources: Iterable[Source], options: Tables) -> None:
    """One line on standard error: categories, users, and what nobody named."""
    several = not isinstance(options.category, str)
    dialects = []
    for source in sources:
        dialects += source.dialects
        for role in ROLES[source.name]:
            if not (role == "category" and several):
                options.find(role, source.name, source.schema.names)
        if source.name == "history" and options.half_life is not None:
            options.find("timestamp", "history", source.schema.names)
    said = "; ".join([items_text(items.columns), users, *options.recognised_text(), *dialects])
    typer.echo(f"excalibr: {said}.", err=True)


def tell_warnings(items: Items, reranker: Reranker, own_slots: bool, words: CommandWords) -> None:
    """A line for each thing that looks wrong."""
    named = reranker.k is not None or own_slots or not isinstance(reranker.position_weights, str)
    notes: list[Note] = [*review_items(items), *([] if named else [NO_ROOM])]
    for note in notes:
        typer.echo(f"excalibr: warning: {message_of(note.message, words)}", err=True)


def said_of_users(scanned: Scan, k: int | None) -> str:
    """How many users and candidates there are, as far as one pass over the users tells."""
    rows = scanned.rows - scanned.without_user
    if not scanned.is_sorted or not scanned.users:
        return f"{rows:,} candidates" + (f" for {k:,} slots a user" if k else "")
    candidates = rows / scanned.users
    about = f"{'' if candidates == round(candidates) else 'about '}{candidates:,.0f}"
    slots = f"{min(k, round(candidates)):,} slots of {about} candidates" if k else f"{about} candidates and slots"
    return f"{scanned.users:,} users; {slots}"
