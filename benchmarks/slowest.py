"""The slowest of many solves, and why: sorts, cost of a sort, size of the lottery, or a machine that looked away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.results import SetResult, Solve

__all__ = ["Slow", "slowest"]

SHARE = 0.01
UNSTEADY = 1.5
MOST = 0.7
"""The part of a solve's slowness, in logarithms, that makes a cause the cause."""


@dataclass(frozen=True)
class Slow:
    """One of the slowest solves: milliseconds of the kernel, and a sentence on why."""

    milliseconds: float
    solve: Solve
    why: str


def slowest(found: SetResult, share: float = SHARE, method: str = "kernel") -> list[Slow]:
    """The slowest part of a set, the slowest first; at least one."""
    table = np.array(found.seconds[method])
    times = np.median(table, axis=1)
    count = max(1, round(share * len(times)))
    sorts = np.array([solve.sorts for solve in found.solves])
    typical = _Typical(
        seconds=float(np.median(times)),
        sorts=float(np.median(sorts)),
        rankings=float(np.median([solve.rankings for solve in found.solves])),
        engine=max({solve.engine for solve in found.solves}, key=[solve.engine for solve in found.solves].count),
    )
    return [
        Slow(1e3 * float(times[place]), found.solves[place], _why(table[place], found.solves[place], typical))
        for place in np.argsort(-times)[:count]
    ]


@dataclass(frozen=True)
class _Typical:
    """The median solve of a set, and its most common engine."""

    seconds: float
    sorts: float
    rankings: float
    engine: str


def _why(rounds: np.ndarray, solve: Solve, typical: _Typical) -> str:
    times = float(np.median(rounds)) / typical.seconds
    head = f"{times:.1f} times the median solve"
    if rounds.max() > UNSTEADY * rounds.min():
        return f"{head}, but its rounds differ by a factor of {rounds.max() / rounds.min():.1f}: noise of the machine"
    if solve.engine != typical.engine:
        return f"{head}: it took {solve.engine}, where most take {typical.engine}"
    more_sorts = solve.sorts / max(typical.sorts, 1.0)
    lottery = f"a lottery of {solve.rankings} rankings, {typical.rankings:.0f} at the median"
    if np.log(max(more_sorts, 1e-9)) >= MOST * np.log(max(times, 1.01)):
        return f"{head}, for {more_sorts:.1f} times the sorts ({typical.sorts:.0f} at the median); {lottery}"
    dearer = times / more_sorts
    return f"{head}, for {more_sorts:.1f} times the sorts, each {dearer:.1f} times as dear; {lottery}"
