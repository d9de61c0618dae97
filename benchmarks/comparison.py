"""What ``python -m benchmarks against`` leaves behind: two versions of the library side by side, raw, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.streams import Stream
from excalibr._writing import atomic_write

__all__ = ["AGAIN", "Comparison", "Reranked"]

AGAIN = "{} again"
"""The name of the older side where its streams are measured twice."""

Rounds = list[float]


@dataclass(frozen=True)
class Reranked:
    """An option of ``Reranker``: by side, users a second and the kernel's part of the time, one of each round."""

    option: str
    users: dict[str, Rounds]
    share: dict[str, Rounds]


@dataclass(frozen=True)
class Comparison:
    """By side, everything that was measured, one number for each round.

    Attributes
    ----------
    old, new
        The names of the sides.
    seed
        Of the problems.
    starts
        By what a fresh process does, its seconds.
    empty_starts, empty_uses
        The same, and the uses, for a version whose kernel is compiled at run time and nothing is in its cache.
    uses
        By option, seconds of the first and the second use in a process.
    threads
        By number of threads, users a second.
    memory
        Peak megabytes of a process that solved one problem.
    installed
        By distribution, megabytes.
    """

    mode: str
    old: str
    new: str
    machine: dict[str, str]
    rounds: int
    minutes: float = 0.0
    seed: int | None = None
    streams: list[Stream] = field(default_factory=list)
    starts: dict[str, dict[str, Rounds]] = field(default_factory=dict)
    empty_starts: dict[str, Rounds] = field(default_factory=dict)
    uses: dict[str, dict[str, list[Rounds]]] = field(default_factory=dict)
    empty_uses: dict[str, dict[str, list[Rounds]]] = field(default_factory=dict)
    reranked: list[Reranked] = field(default_factory=list)
    threads: dict[str, dict[str, Rounds]] = field(default_factory=dict)
    memory: dict[str, Rounds] = field(default_factory=dict)
    installed: dict[str, dict[str, float]] = field(default_factory=dict)

    def stream(self, name: str) -> Stream | None:
        """The family of this name, where it was measured."""
        return next((each for each in self.streams if each.name == name), None)

    def save(self, path: Path) -> None:
        """Write it beside and rename."""
        with atomic_write(path) as name:
            name.write_text(json.dumps(asdict(self), allow_nan=True), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Comparison:
        """Read what :meth:`save` wrote."""
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        stored["streams"] = [Stream(**each) for each in stored["streams"]]
        stored["reranked"] = [Reranked(**each) for each in stored["reranked"]]
        return cls(**stored)
