"""Options of commands, derived from the fields of ``Reranker``, ``Tables``, …: names, defaults, help texts."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from excalibr._messages import CommandWords
from excalibr.tables import Tables
from excalibr.tables._columns import OWN_COLUMNS, ColumnNames
from excalibr.tables._options import Everyone
from excalibr.tables._reranker import Reranker

__all__ = ["PATHS", "WORDS", "CandidatesFile", "Resume", "with_options"]

PATHS = ("history", "targets", "users", "prior", "pinned", "shown", "prices")
"""Options whose value is a table in a file, or a folder of files."""

CandidatesFile: TypeAlias = Annotated[
    Path, typer.Argument(help="Scored candidates (user_id, item_id, score, others are kept).")
]
Resume: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")]

_SHORT = {"k": ("-k",)}

WORDS = CommandWords(
    {
        each.name: next(iter(_SHORT.get(each.name, ())), f"--{each.name.replace('_', '-')}")
        for each in (*dataclasses.fields(Reranker), *dataclasses.fields(Tables), *dataclasses.fields(Everyone))
    }
)
"""How the commands write the options of :class:`Reranker`, :class:`Tables` and :class:`Everyone`."""

_KINDS = {**dict.fromkeys((*PATHS, "start"), Path | None), "everyone": list[str] | None}
"""What the command line reads where a caller in Python may give anything."""

_FIRST = ("k", "trade_off", "seed", "threads", "history", "targets")
"""What most callers give; the rest has panels of its own in the help."""

_PANELS = {
    **dict.fromkeys((each.name for each in dataclasses.fields(Reranker)), "How to rank"),
    **dict.fromkeys((each.name for each in dataclasses.fields(Tables)), "More tables, and how to read them"),
    **dict.fromkeys(_FIRST),
    **dict.fromkeys((each.name for each in dataclasses.fields(ColumnNames)), "Columns, in all tables"),
    **dict.fromkeys(OWN_COLUMNS, "Columns that one table calls otherwise"),
}


def with_options(*owners: Any, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command with an option for each field of these dataclasses but ``without``, in place of ``**options``."""

    def derive(command: Callable[..., None]) -> Callable[..., None]:
        given = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [each for each in given if each.kind != each.VAR_KEYWORD]
        parameters += [
            parameter for owner in owners for parameter in _parameters(owner) if parameter.name not in without
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return derive


@cache
def _parameters(owner: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(owner)
    return [_parameter(each, _KINDS.get(each.name) or _kind(hints[each.name])) for each in dataclasses.fields(owner)]


def _parameter(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    name = f"--{field.name.replace('_', '-')}"
    info = typer.Option(
        *(name, *_SHORT.get(field.name, ())), help=field.metadata["help"], rich_help_panel=_PANELS.get(field.name)
    )
    annotation = Annotated[kind, info]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation)


def _kind(hint: Any) -> Any:
    """What the command line reads for a type: of several, the first that a word can be."""
    if hint is Any:
        return str | None
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) else (hint,)
    simple = next(member for member in members if member in (bool, int, float, str))
    return simple | None if type(None) in members else simple
