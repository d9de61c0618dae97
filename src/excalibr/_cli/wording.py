"""Errors in the words of the command that was asked: ``--user-id userId`` for Python's ``user_id='userId'``."""

from __future__ import annotations

import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
    """The command, whose errors and warnings say its options as they are typed."""
    words = words_of(command)

    @functools.wraps(command)
    def in_words(*args: Any, **options: Any) -> None:
        try:
            with _warnings_as_lines(words):
                command(*args, **options)
        except ExcalibrError as error:
            error.args = (message_of(error, words),)
            raise

    return in_words


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
    for each in inspect.signature(command, eval_str=True).parameters.values():
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
