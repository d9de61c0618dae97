"""Options of commands, derived from the fields of dataclasses: names, defaults, help texts; and what is typed, read.

``Reranker``, ``Tables`` and others declare them once.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from excalibr._cli.wording import words_of
from excalibr._options import split_keywords
from excalibr.errors import InputError
from excalibr.tables import Tables
from excalibr.tables._by_name import BY_CATEGORY
from excalibr.tables._columns import OWN_COLUMNS, ColumnNames
from excalibr.tables._options import Everyone
from excalibr.tables._reranker import Reranker

PATHS = ("history", "targets", "users", "prior", "pinned", "shown", "prices")
"""Options whose value is a table in a file, or a folder of files."""

CandidatesFile: TypeAlias = Annotated[
    Path, typer.Argument(help="Scored candidates (user_id, item_id, score, others are kept).")
]
Resume: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")]

LISTS = (*BY_CATEGORY, "attribute_weights", "everyone_weights", "everyone_floors", "everyone_caps")
"""Options that list numbers by name: given several times, they are one list."""

_KINDS = {
    **dict.fromkeys((*PATHS, "start"), Path | None),
    **dict.fromkeys((*LISTS, "everyone"), list[str] | None),
}
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
    return [_parameter(each, hints[each.name]) for each in dataclasses.fields(owner)]


def _parameter(field: dataclasses.Field[Any], hint: Any) -> inspect.Parameter:
    name, info = field.name, field.metadata.get("option")
    if info is None:  # it says nothing of commands
        flags = (f"--{name.replace('_', '-')}", *(["-k"] if name == "k" else []))
        info = typer.Option(*flags, help=field.metadata["help"], rich_help_panel=_PANELS.get(name))
        hint = _KINDS.get(name) or _kind(hint)
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info])


def _kind(hint: Any) -> Any:
    """What the command line reads for a type: of several, the first that a word can be."""
    if hint is Any:
        return str | None
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) else (hint,)
    simple = next(member for member in members if member in (bool, int, float, str))
    return simple | None if type(None) in members else simple


WORDS = words_of(with_options(Reranker, Tables, Everyone)(lambda **_: None))
"""How the commands write the options of :class:`Reranker`, :class:`Tables` and :class:`Everyone`."""


def given_paths(**paths: Path | None) -> dict[str, Path]:
    """Those that were typed."""
    return {name: path for name, path in paths.items() if path is not None}


def read_words(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Path]]:
    """What was typed, as Python takes it: how to rank, how columns are called and read, and tables in files."""
    ranking, tables = split_keywords(options, Reranker)
    paths = given_paths(**{name: tables.pop(name, None) for name in PATHS})
    tables["category"] = columns_of(tables["category"])
    by_attribute = not isinstance(tables["category"], str)
    return {name: read_numbers(name, value, by_attribute) for name, value in ranking.items()}, tables, paths


def columns_of(category: str) -> str | list[str] | dict[str, str]:
    """``genre`` as it is, ``genre,decade`` as a list, ``topic=genre,age=decade`` by attribute."""
    parts = category.split(",")
    pairs = [part.partition("=") for part in parts]
    if not all(given for _, given, _ in pairs):
        return [part.strip() for part in parts] if len(parts) > 1 else category
    names = [name.strip() for name, _, _ in pairs]
    _check_once("category", names, "column")
    return {name: column.strip() for name, (_, _, column) in zip(names, pairs, strict=True)}


def read_numbers(name: str, value: Any, by_attribute: bool = False) -> Any:
    """``1,2`` as a list, and for options by category also ``drama=1,epic=2`` by name and ``2`` for all.

    With several attributes, ``genre:drama=1`` for a category and ``genre=2`` for all of an attribute.
    """
    value = _one_list(value)
    if not isinstance(value, str) or name not in (*LISTS, "position_weights"):
        return value
    pairs = _pairs(name, value)
    if pairs is None and name == "position_weights":
        return value  # a name
    if pairs is None or len({bool(label) for label, _ in pairs}) > 1:
        raise InputError(name, f"is {value!r}", "be one number, numbers, or names and numbers such as drama=1,epic=0.5")
    if not pairs[0][0]:
        numbers = [number for _, number in pairs]
        return numbers if len(numbers) > 1 else numbers[0]
    return _nested(name, pairs) if by_attribute and name in BY_CATEGORY else dict(pairs)


def read_by_group(name: str, value: Any) -> Any:
    """Weights, ``seller=0.5`` as ``{"seller": 0.5}``; and limits, ``seller:small=0.02`` by attribute and group."""
    value = _one_list(value)
    if not isinstance(value, str):
        return value
    by_group = name != "everyone_weights"
    pairs = _pairs(name, value)
    if pairs is None or not all(label and (":" in label) == by_group for label, _ in pairs):
        must = "be attributes and numbers, such as seller=0.5"
        if by_group:
            must = "be attributes, groups and numbers, such as seller:small=0.02"
        raise InputError(name, f"is {value!r}", must)
    return _nested(name, pairs)


def _one_list(value: Any) -> Any:
    """``--floors drama=0.1 --floors epic=0.2`` as ``drama=0.1,epic=0.2``; None where nothing was typed."""
    if not isinstance(value, list):
        return value
    return ",".join(value) if value else None


def _pairs(name: str, text: str) -> list[tuple[str, float]] | None:
    """``drama=1,epic=0.5`` as pairs, without a name where there is no ``=``; None where a number is none."""
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        pairs = [(label.strip(), _number(number.strip())) for label, _, number in parts]
    except ValueError:
        return None
    _check_once(name, [label for label, _ in pairs if label], "number")
    return pairs


def _check_once(name: str, labels: list[str], what: str) -> None:
    twice = [label for number, label in enumerate(labels) if label in labels[:number]]
    if twice:
        raise InputError(name, f"has {twice[0]!r} twice", f"have one {what} for each")


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _nested(name: str, pairs: list[tuple[str, float]]) -> dict[str, Any]:
    """``genre:drama`` of 1 as ``{"genre": {"drama": 1}}``."""
    nested: dict[str, Any] = {}
    for label, number in pairs:
        attribute, given, category = label.partition(":")
        own = nested.setdefault(attribute, {} if given else number)
        if isinstance(own, dict) != bool(given):
            must = "have one number for it, or some for its categories"
            raise InputError(name, f"has {attribute!r} both alone and with a category", must)
        if given:
            own[category] = number
        else:
            nested[attribute] = number
    return nested
