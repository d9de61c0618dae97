"""What is said to users, in Python's words or in those of the command line.

A message remembers the options that it names. Python is told ``user_id='userId'``, the command ``--user-id userId``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class _NoValue:
    """Stands for no value, in any process."""


@dataclass(frozen=True)
class Option:
    """An option in a message, with a value or without; ``...`` stands for a value of one's own."""

    name: str
    value: Any = _NoValue

    def __str__(self) -> str:
        if self.value is _NoValue:
            return self.name
        return f"{self.name}={'…' if self.value is ... else repr(self.value)}"


@dataclass(frozen=True)
class Wording:
    """What is said in one way to whoever writes Python, and in another at the command line."""

    python: str
    command: str

    def __str__(self) -> str:
        return self.python


Part: TypeAlias = str | Option | Wording


@dataclass(frozen=True)
class CommandWords:
    """How a command writes options: the flag of each by its Python name, ``--on/--off`` for those without a value."""

    flags: Mapping[str, str] = field(default_factory=dict)

    def render(self, part: Part) -> str:
        """A part of a message; an option that the command does not have stays as it is."""
        if isinstance(part, Wording):
            return part.command
        if isinstance(part, str) or part.name not in self.flags:
            return str(part)
        on, _, off = self.flags[part.name].partition("/")
        if part.value is _NoValue or part.value is True:
            return on
        if part.value is False:
            return off or f"no {on}"
        import shlex  # only a command needs it

        values = part.value if isinstance(part.value, (list, tuple)) else [part.value]
        text = ",".join("…" if value is ... else str(value) for value in values)
        return f"{on} {text if text == '…' else shlex.quote(text)}"


class Message(str):
    """A message in Python's words that remembers its parts."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Message:
        flat = [each for part in parts for each in (part.parts if isinstance(part, Message) else (part,))]
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = tuple(flat)
        return made

    def render(self, words: CommandWords | None) -> str:
        """The message in a command's words, or in Python's."""
        return "".join(str(part) if words is None else words.render(part) for part in self.parts)


def counted(count: int, noun: str, plural: str = "") -> str:
    """So many of something; a plural that does more than add an s is given.

    >>> counted(1, "user"), counted(2000, "user"), counted(0, "pass", "passes")
    ('1 user', '2,000 users', '0 passes')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def message_of(said: object, words: CommandWords | None = None) -> str:
    """What an error, a warning or a message says, in a command's words or in Python's."""
    text = said if isinstance(said, Message) else str(said)
    return text.render(words) if isinstance(text, Message) else text
