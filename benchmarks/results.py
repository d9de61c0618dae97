"""What a run leaves behind: raw measurements as frozen objects, and their JSON. Pages are made from nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from excalibr._types import Floats
from excalibr._writing import atomic_write

__all__ = ["GrowthPoint", "Memory", "Repeats", "Results", "SetResult", "Solve", "Start", "Throughput"]

PROTOCOL = "streams of distinct problems"
EARLIER_PROTOCOL = "one problem repeated"
"""How a run measured; times of one do not compare with times of the other."""


@dataclass(frozen=True)
class Solve:
    """One problem and how our kernel went about it; ``scale`` is what its objective is relative to."""

    n: int
    k: int
    r: int
    trade_off: float
    sorts: int
    engine: str
    rankings: int
    gap: float
    scale: float


@dataclass(frozen=True)
class SetResult:
    """A set of problems: of each method seconds (problems, rounds), and objectives (problems,)."""

    name: str
    kind: str
    origin: str
    solves: list[Solve]
    seconds: dict[str, list[list[float]]]
    objectives: dict[str, list[float]]

    @property
    def strata(self) -> list[float]:
        """The trade-off of each problem."""
        return [solve.trade_off for solve in self.solves]

    def shortfalls(self, method: str, reference: str = "excalibr") -> Floats:
        """By how much each objective is below the reference's, relative to the problem's scale."""
        theirs, ours = np.array(self.objectives[method]), np.array(self.objectives[reference])
        return np.asarray((ours - theirs) / np.array([solve.scale for solve in self.solves]))


@dataclass(frozen=True)
class GrowthPoint:
    """One size along an axis: seconds and sorts, one of each problem."""

    axis: str
    value: float
    seconds: list[float]
    sorts: list[int]


@dataclass(frozen=True)
class Start:
    """Seconds that a fresh process takes until something is done, one for each process."""

    what: str
    seconds: list[float]


@dataclass(frozen=True)
class Throughput:
    """Users a second with so many threads, one for each round."""

    threads: int
    users: int
    rates: list[float]


@dataclass(frozen=True)
class Memory:
    """Peak megabytes of a fresh process that calibrates so many users, with its arrays and without anything."""

    users: int
    peak: float
    idle: float


@dataclass(frozen=True)
class Repeats:
    """The ratio of one row of the headline, measured anew in so many fresh processes."""

    row: str
    values: list[float]


@dataclass(frozen=True)
class Results:
    """A whole run."""

    mode: str
    machine: dict[str, str]
    versions: dict[str, str]
    rounds: int
    minutes: float = 0.0
    sets: list[SetResult] = field(default_factory=list)
    growth: list[GrowthPoint] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    throughput: list[Throughput] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    repeats: list[Repeats] = field(default_factory=list)
    renewed: bool = False  # the rows against the paper's stack are of a later hour than the rest
    protocol: str = PROTOCOL

    def of_kind(self, kind: str) -> list[SetResult]:
        """The sets that were measured for one section."""
        return [each for each in self.sets if each.kind == kind]

    def save(self, path: Path) -> None:
        """Write it beside and rename, so that a broken run leaves the earlier one."""
        with atomic_write(path) as name:
            name.write_text(json.dumps(asdict(self), allow_nan=True), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what :meth:`save` wrote."""
        stored: dict[str, Any] = {"protocol": EARLIER_PROTOCOL, **json.loads(path.read_text(encoding="utf-8"))}
        for each in stored["sets"]:
            each.pop("first", None)  # which the earlier protocol kept
        stored["sets"] = [
            SetResult(**{**each, "solves": [Solve(**solve) for solve in each["solves"]]}) for each in stored["sets"]
        ]
        for name, made in _PARTS.items():
            stored[name] = [made(**each) for each in stored[name]]
        return cls(**stored)


_PARTS: dict[str, Any] = {
    "growth": GrowthPoint,
    "starts": Start,
    "throughput": Throughput,
    "memory": Memory,
    "repeats": Repeats,
}
