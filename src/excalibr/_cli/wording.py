"""Errors in the words of the command that was asked: ``--user-id userId`` for Python's ``user_id='userId'``."""

from __future__ import annotations

import copy
import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.models import OptionInfo

from excalibr._cli.printing import print_warning
from excalibr._messages import CommandWords, message_of
from excalibr.errors import ExcalibrError, ExcalibrWarning

_SAME = {
    **{name: f"{name}_column" for name in ("user", "item", "items_item", "rating", "category")},
    "categories": "category_column",
    "arms": "methods",
    "setting": "settings",
    "regularisation": "regularisations",
}
"""Names in the library whose option is called otherwise."""


def in_command_words(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose errors and warnings say its options as they are typed, and which takes no empty path."""
    words, parameters = words_of(command), [_without_empty_paths(each) for each in _parameters(command)]

    @functools.wraps(command)
    def in_words(*args: Any, **options: Any) -> None:
        try:
            with _warnings_as_lines(words):
                command(*args, **options)
        except ExcalibrError as error:
            error.args = (message_of(error, words),)
            raise

    in_words.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    in_words.__annotations__ = {each.name: each.annotation for each in parameters}
    return in_words


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    return list(inspect.signature(command, eval_str=True).parameters.values())


def _without_empty_paths(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same where an empty text is no path: Python takes it for the folder that one is in."""
    kind, *infos = typing.get_args(parameter.annotation)
    if Path not in (kind, *typing.get_args(kind)):
        return parameter
    info = copy.copy(infos[0])
    info.parser = path
    return parameter.replace(annotation=typing.Annotated[kind, info])


def path(text: str) -> Path:
    """What was typed as a path; the help shows this function's name as its type."""
    if not text:
        raise typer.BadParameter("it is empty, and must be a path")
    return Path(text)


@contextmanager
def _warnings_as_lines(words: CommandWords) -> Iterator[None]:
    """Print warnings of ours as a line each, and not with a place in our sources, as Python does."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if isinstance(message, ExcalibrWarning):
                print_warning(message.args[0], words)
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        yield


def words_of(command: Callable[..., None]) -> CommandWords:
    """The flag of each option of a command, by the name that the library has for it."""
    flags = {}
    for each in _parameters(command):
        info = next((part for part in typing.get_args(each.annotation) if isinstance(part, OptionInfo)), None)
        if info is not None:
            flags[each.name] = _flag(each.name, info)
    others = {name: flags[own] for name, own in _SAME.items() if own in flags and name not in flags}
    return CommandWords(flags | others)


def _flag(name: str, info: OptionInfo) -> str:
    """Of several ways to write an option the first, or its letter where that is all of its name."""
    first = (info.default,) if isinstance(info.default, str) else ()  # typer keeps the first flag there
    written = (*first, *(info.param_decls or ())) or (f"--{name.replace('_', '-')}",)
    return f"-{name}" if f"-{name}" in written else written[0]
