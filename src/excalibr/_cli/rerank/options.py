"""The command's options, derived from the fields of ``Reranker`` and ``Tables``: names, defaults, help texts."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._messages import CommandWords
from excalibr.tables import Tables
from excalibr.tables._columns import OWN_COLUMNS, ColumnNames
from excalibr.tables._reranker import Reranker

__all__ = ["PATHS", "WORDS", "with_options"]

PATHS = ("history", "targets", "users", "prior", "pinned", "shown", "prices")
"""Options whose value is a table in a file, or a folder of files."""

_SHORT = {"k": ("-k",)}

WORDS = CommandWords(
    {
        each.name: next(iter(_SHORT.get(each.name, ())), f"--{each.name.replace('_', '-')}")
        for each in (*dataclasses.fields(Reranker), *dataclasses.fields(Tables))
    }
)
"""How the command writes the options of :class:`Reranker` and :class:`Tables`."""

_PANELS = {
    **dict.fromkeys((each.name for each in dataclasses.fields(ColumnNames)), "Columns, in all tables"),
    **dict.fromkeys(OWN_COLUMNS, "Columns that one table calls otherwise"),
}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of :class:`Reranker` and :class:`Tables`, in place of ``**options``."""
    own = [
        each for each in inspect.signature(command, eval_str=True).parameters.values() if each.kind != each.VAR_KEYWORD
    ]
    derived = [_parameter(each, Reranker) for each in dataclasses.fields(Reranker)]
    derived += [_parameter(each, Tables) for each in dataclasses.fields(Tables)]
    parameters = [*own, *derived]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _parameter(field: dataclasses.Field[Any], owner: type) -> inspect.Parameter:
    names = (f"--{field.name.replace('_', '-')}", *_SHORT.get(field.name, ()))
    help_text = field.metadata["help"]
    kind = Path | None if field.name in PATHS else _kind(typing.get_type_hints(owner)[field.name])
    info = typer.Option(*names, help=help_text, rich_help_panel=_PANELS.get(field.name))
    annotation = Annotated[kind, info]  # type: ignore[valid-type]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation)


def _kind(hint: Any) -> Any:
    """What the command line reads for a type: of several, the first that a word can be."""
    if hint is Any:
        return str | None
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) else (hint,)
    simple = next(member for member in members if member in (bool, int, float, str))
    return simple | None if type(None) in members else simple
