"""Streams of distinct problems, solved once a round by one version of the library or by two in turn.

A round is a fresh process for each side, all on the same core. They take the problems in short runs, one side after the
other and the other first in the next run, so that what a machine does meanwhile happens to both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.families import Family
from benchmarks.problems import Instance
from benchmarks.sides import Side, Worker, on_one_core
from benchmarks.statistics import Estimate, ratio_of_typical, summarise
from benchmarks.tables import estimate, milliseconds, table
from benchmarks.workers.problems_file import Stored, StoredFamily, write
from excalibr.positions import position_weights

__all__ = ["Stream", "measure_streams", "store", "stored", "told"]

RUN = 25
"""Problems that a side solves in a row: long enough to be a stream, short enough for drift to cancel."""

GREEDY = "greedy"

Progress = Callable[[str], None]
Table = list[list[float]]


@dataclass(frozen=True)
class Stream:
    """One family: by side, seconds (problems, rounds) of the call, of the kernel and of greedy; and what was found."""

    name: str
    origin: str
    k: int
    divergence: str
    trade_offs: list[float]
    call: dict[str, Table] = field(default_factory=dict)
    kernel: dict[str, Table] = field(default_factory=dict)
    greedy: dict[str, Table] = field(default_factory=dict)
    found: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def ratio(self, what: str, new: str, old: str) -> Estimate:
        """How many times as long the new side takes."""
        seconds: dict[str, Table] = getattr(self, what)
        return ratio_of_typical(seconds[new], seconds[old], self.trade_offs)

    def against_greedy(self, side: str, old: str) -> Estimate:
        """How many times as long a whole call of a side takes as the old side's greedy re-ranker."""
        return ratio_of_typical(self.call[side], self.greedy[old], self.trade_offs)

    def disagreement(self) -> float:
        """The largest difference between the sides' objectives; 0 with one side."""
        values = np.array([found["objective"] for found in self.found.values()], dtype=np.float64)
        return float(np.ptp(values, axis=0).max(initial=0.0)) if len(values) else 0.0


def measure_streams(
    sides: Sequence[Side], families: Sequence[Family], path: Path, rounds: int, progress: Progress
) -> list[Stream]:
    """Measure families that are stored in a file, with the same problems in the same order."""
    streams = [_Kept(family, sides, rounds) for family in families]
    for turn in range(rounds):
        progress(f"streams: round {turn + 1} of {rounds}")
        with ExitStack() as stack, on_one_core():
            workers = {side.name: stack.enter_context(Worker(side, "solving", str(path))) for side in sides}
            for worker in workers.values():
                worker.ask(warm_up=["excalibr", GREEDY])
            for kept in streams:
                kept.measure(workers, turn)
            if turn == rounds - 1:
                for kept in streams:
                    kept.check(workers)
    return [kept.stream() for kept in streams]


def stored(family: Family) -> StoredFamily:
    """A family as files have it."""
    named = {each.position_weights for each in family.instances if isinstance(each.position_weights, str)}
    problems = [_stored(instance) for instance in family.instances]
    return StoredFamily(family.name, family.divergence, named.pop() if named else "", family.spare, problems)


def store(families: Sequence[Family], path: Path) -> None:
    """Write families to an .npz."""
    write(path, [stored(family) for family in families])


def told(streams: Sequence[Stream], side: str) -> str:
    """One side's figures as a table."""
    head = ["family", "problems", "kernel, ms: median", "mean", "p99", "call, ms: median", "mean", "p99", "greedy, ms"]
    rows = []
    for stream in streams:
        kernel, call = summarise(stream.kernel[side]), summarise(stream.call[side])
        greedy = milliseconds(summarise(stream.greedy[side]).mean) if side in stream.greedy else "–"
        times = [kernel.median, kernel.mean, kernel.p99, call.median, call.mean, call.p99]
        rows.append([stream.name, str(len(stream.trade_offs)), *map(milliseconds, times), greedy])
    return table(head, rows)


def compared(streams: Sequence[Stream], new: str, old: str) -> str:
    """Two sides as ratios."""
    rows = [
        [stream.name, *(estimate(stream.ratio(what, new, old)) for what in ("kernel", "call"))] for stream in streams
    ]
    return table(["family", f"kernel, {new} / {old} (95 %)", "call (95 %)"], rows)


class _Kept:
    """The times of one family as they come in."""

    def __init__(self, family: Family, sides: Sequence[Side], rounds: int) -> None:
        self.family = family
        shape = family.count, rounds
        self.times = {
            what: {side.name: np.full(shape, np.nan) for side in sides} for what in ("call", "kernel", "greedy")
        }
        self.found: dict[str, dict[str, list[Any]]] = {}

    @property
    def with_greedy(self) -> bool:
        return self.family.slots >= 100 and self.family.divergence == "l1"

    def measure(self, workers: dict[str, Worker], turn: int) -> None:
        """A round, run by run."""
        for number, first in enumerate(range(0, self.family.count, RUN)):
            last = min(first + RUN, self.family.count)
            order = list(workers) if (number + turn) % 2 == 0 else list(workers)[::-1]
            for side in order:
                asked: dict[str, Any] = {"family": self.family.name, "first": first, "last": last}
                for what, seconds in workers[side].ask(**asked).items():
                    self.times[what][side][first:last, turn] = seconds
                if self.with_greedy:
                    seconds = workers[side].ask(**asked, method=GREEDY)["call"]
                    self.times["greedy"][side][first:last, turn] = seconds

    def check(self, workers: dict[str, Worker]) -> None:
        """What each side finds, after all is timed."""
        for side, worker in workers.items():
            self.found[side] = worker.ask(family=self.family.name, first=0, last=self.family.count, check=True)

    def stream(self) -> Stream:
        family = self.family
        trade_offs = [each.trade_off for each in family.instances[: family.count]]
        tables = {
            what: {side: seconds.tolist() for side, seconds in times.items()}
            for what, times in self.times.items()
            if what != "greedy" or self.with_greedy
        }
        return Stream(
            family.name, family.origin, family.slots, family.divergence, trade_offs, found=self.found, **tables
        )


def _stored(instance: Instance) -> Stored:
    entries = sp.csr_array(instance.categories)
    n, r = entries.shape
    return Stored(
        n=n,
        k=instance.k,
        r=r,
        trade_off=instance.trade_off,
        scores=np.ascontiguousarray(instance.scores, dtype=np.float64),
        indptr=entries.indptr.astype(np.int32),
        indices=entries.indices.astype(np.int32),
        values=entries.data.astype(np.float64),
        target=np.asarray(instance.target, dtype=np.float64),
        weights=position_weights(instance.position_weights, instance.k),
    )
