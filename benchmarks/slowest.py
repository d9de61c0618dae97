"""The slowest of many solves, and why: sorts, cost of a sort, size of the lottery, or noise of the machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.results import SetResult, Solve
from excalibr._types import Floats

__all__ = ["CAUSES", "Slow", "slowest"]

SHARE = 0.01
UNSTEADY = 1.5
MOST = 0.7
"""The part of a solve's slowness, in logarithms, that makes a cause the cause."""


CAUSES = SORTS, DEARER, ENGINE, NOISE = "more sorts", "dearer sorts", "another engine", "noise of the machine"


@dataclass(frozen=True)
class Slow:
    """One of the slowest solves: milliseconds of the kernel, one of :data:`CAUSES`, and a sentence on why."""

    milliseconds: float
    solve: Solve
    cause: str
    why: str


def slowest(found: SetResult, share: float = SHARE, method: str = "kernel") -> list[Slow]:
    """The slowest part of a set, the slowest first; at least one."""
    table = np.array(found.seconds[method])
    times = np.median(table, axis=1)
    count = max(1, round(share * len(times)))
    typical = _Typical(
        seconds=float(np.median(times)),
        sorts=float(np.median([solve.sorts for solve in found.solves])),
        rankings=float(np.median([solve.rankings for solve in found.solves])),
        engine=max({solve.engine for solve in found.solves}, key=[solve.engine for solve in found.solves].count),
    )
    told = []
    for place in np.argsort(-times)[:count]:
        rounds, solve = table[place], found.solves[place]
        cause = _cause(rounds, solve, typical)
        told.append(Slow(1e3 * float(times[place]), solve, cause, _why(cause, rounds, solve, typical)))
    return told


@dataclass(frozen=True)
class _Typical:
    """The median solve of a set, and its most common engine."""

    seconds: float
    sorts: float
    rankings: float
    engine: str


def _cause(rounds: Floats, solve: Solve, typical: _Typical) -> str:
    if rounds.max() > UNSTEADY * rounds.min():
        return NOISE
    if solve.engine != typical.engine:
        return ENGINE
    times = float(np.median(rounds)) / typical.seconds
    more_sorts = max(solve.sorts, 1) / max(typical.sorts, 1.0)
    return SORTS if np.log(more_sorts) >= MOST * np.log(max(times, 1.01)) else DEARER


def _why(cause: str, rounds: Floats, solve: Solve, typical: _Typical) -> str:
    times = float(np.median(rounds)) / typical.seconds
    more_sorts = max(solve.sorts, 1) / max(typical.sorts, 1.0)
    lottery = f"a lottery of {solve.rankings} rankings, {typical.rankings:.0f} at the median"
    told = {
        NOISE: f"but its rounds differ by a factor of {rounds.max() / rounds.min():.1f}: noise of the machine",
        ENGINE: f"by {solve.engine}, where most take {typical.engine}; {lottery}",
        SORTS: f"for {more_sorts:.1f} times the sorts ({typical.sorts:.0f} at the median); {lottery}",
        DEARER: f"for {more_sorts:.1f} times the sorts, each {times / more_sorts:.1f} times as dear; {lottery}",
    }
    return f"{times:.1f} times the median solve, {told[cause]}"
