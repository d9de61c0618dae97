"""Timing in interleaved rounds: all sets, problems and methods in every round, so that a machine's drift cancels.

A slow call is made once in its turn. A quick one is made over and over for some milliseconds and the median counts; its
first call, which finds the caches full of what other methods left there, is kept apart.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import threadpoolctl

from benchmarks.kernels import inspect
from benchmarks.peers import PEERS, Measured, Peer, available, restart
from benchmarks.problems import Instance, ProblemSet, uniform
from benchmarks.results import SetResult
from excalibr.errors import ExcalibrWarning
from excalibr.solver import prepare

__all__ = ["Order", "measure", "quietly"]

QUICK = 0.02
BURST = 0.015
FEWEST, MOST = 5, 50
"""A call that takes no longer than the first is repeated for so many seconds, between five and fifty times."""

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Order:
    """A set to be measured: which methods on it, and in how many of the rounds (a slow method in fewer)."""

    kind: str
    problems: ProblemSet
    methods: Sequence[str]
    rounds: int = 10**6
    slow_rounds: dict[str, int] = field(default_factory=dict)

    def in_round(self, peer: Peer, turn: int) -> bool:
        """Whether a method is measured in this round."""
        return turn < min(self.rounds, self.slow_rounds.get(peer.name, self.rounds))


def measure(orders: Sequence[Order], rounds: int, progress: Progress = lambda text: None) -> list[SetResult]:
    """Measure every order, round by round."""
    peers = [available(list(order.methods)) for order in orders]
    kept = [_Kept(order, chosen) for order, chosen in zip(orders, peers, strict=True)]
    with quietly(), _on_one_core():
        for turn in range(rounds):
            restart()
            _warm_up({peer.name for chosen in peers for peer in chosen})
            for of_order in kept:
                progress(f"round {turn + 1} of {rounds}: {of_order.order.kind}, {of_order.order.problems.name}")
                of_order.measure(turn)
    return [each.result() for each in kept]


@contextmanager
def quietly() -> Iterator[None]:
    """One thread for linear algebra, no collection of garbage in the middle of a call, no warnings of ours."""
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        collected = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collected:
                gc.enable()


@contextmanager
def _on_one_core() -> Iterator[None]:
    """All on the same core, peers in processes of their own too: cores of a shared machine have moods of their own."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class _Kept:
    """The measurements of one order as they come in."""

    def __init__(self, order: Order, peers: list[Peer]) -> None:
        self.order, self.peers = order, peers
        count = len(order.problems.instances)
        self.seconds: dict[str, list[list[float]]] = {peer.name: [[] for _ in range(count)] for peer in peers}
        self.first: dict[str, list[list[float]]] = {peer.name: [[] for _ in range(count)] for peer in peers}
        self.objectives: dict[str, list[float]] = {peer.name: [float("nan")] * count for peer in peers}

    def measure(self, turn: int) -> None:
        for place, given in enumerate(self.order.problems.instances):
            instance = given.copied()
            for peer in self.peers:
                if self.order.in_round(peer, turn):
                    first, seconds = _timed(peer, instance)
                    self.seconds[peer.name][place].append(seconds)
                    self.first[peer.name][place].append(first.seconds)
                    self.objectives[peer.name][place] = first.objective
            gc.collect(1)
        gc.collect()

    def result(self) -> SetResult:
        problems = self.order.problems
        with quietly():
            solves = [inspect(instance) for instance in problems.instances]
        measured = (self.seconds, self.objectives, self.first)
        return SetResult(problems.name, self.order.kind, problems.origin, solves, *measured)


def _timed(peer: Peer, instance: Instance) -> tuple[Measured, float]:
    """The first call, and the seconds that count."""
    first = peer.measured(instance)
    if first.seconds > QUICK:
        return first, first.seconds
    calls = min(max(int(BURST / first.seconds), FEWEST), MOST)
    return first, float(np.median([peer.measured(instance).seconds for _ in range(calls)]))


def _warm_up(names: set[str]) -> None:
    """Compile, load and start whatever the methods need before anything is timed."""
    small = [*uniform(30, 5, 25, 2, 1).instances, *uniform(30, 5, 2, 1, 1).instances]
    prepare()  # every door of the kernel: one that is loaded in the middle of a round would be timed with it
    for name in sorted(names):
        for instance in small:
            PEERS[name].measured(instance)
