"""Timing in interleaved rounds of streams: all sets and methods in every round, so that a machine's drift cancels.

A method solves the problems of a set one after another, each once a round, as a service or a batch meets them: the
branches of a problem that is repeated are predicted. The next method then has the same problems.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import thread_time

import threadpoolctl

from benchmarks.kernels import inspect
from benchmarks.peers import PEERS, Measured, Peer, available, restart
from benchmarks.problems import Instance, ProblemSet, uniform
from benchmarks.results import SetResult
from benchmarks.sides import on_one_core
from benchmarks.workers.clocks import interruptions
from excalibr.errors import ExcalibrWarning

__all__ = ["Order", "measure", "quietly"]

QUICK = 0.02
"""Seconds up to which a call is over before the system is likely to take the core away."""

RUN, LEAD = 25, 5
"""Problems that a method solves in a row, and those of the stream before them that it solves first, without a clock: it
should not be timed with caches full of what another method left there."""

TRIES = 5
"""How often a quick call is made for one that was not interrupted."""

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
    with quietly(), on_one_core():
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


class _Kept:
    """The measurements of one order as they come in."""

    def __init__(self, order: Order, peers: list[Peer]) -> None:
        self.order, self.peers = order, peers
        count = len(order.problems.instances)
        self.seconds: dict[str, list[list[float]]] = {peer.name: [[] for _ in range(count)] for peer in peers}
        self.objectives: dict[str, list[float]] = {peer.name: [float("nan")] * count for peer in peers}

    def measure(self, turn: int) -> None:
        """A round, run by run."""
        instances = self.order.problems.instances
        for first in range(0, len(instances), RUN):
            run = [given.copied() for given in instances[first : first + RUN]]
            lead = [instances[place].copied() for place in range(first - min(LEAD, len(instances)), first)]
            for peer in self.peers:
                if self.order.in_round(peer, turn):
                    _lead_in(peer, lead)
                    for place, measured in enumerate(_stream(peer, run), first):
                        self.seconds[peer.name][place].append(measured.seconds)
                        self.objectives[peer.name][place] = measured.objective
            gc.collect(1)
        gc.collect()

    def result(self) -> SetResult:
        problems = self.order.problems
        with quietly():
            solves = [inspect(instance) for instance in problems.instances]
        return SetResult(problems.name, self.order.kind, problems.origin, solves, self.seconds, self.objectives)


def _lead_in(peer: Peer, lead: Sequence[Instance]) -> None:
    for instance in lead:
        if peer.measured(instance).seconds > QUICK:
            return  # so long that what the caches hold at first does not matter


def _stream(peer: Peer, run: Sequence[Instance]) -> list[Measured]:
    """Every problem once; a quick call in which the system took the core away once more, after the others."""
    found: dict[int, Measured] = {}
    waiting = list(range(len(run)))
    for _ in range(TRIES):
        disturbed = []
        for place in waiting:
            before, used = interruptions(), thread_time()
            measured = peer.measured(run[place])
            done = interruptions() == before or thread_time() - used > QUICK
            if done or place not in found or measured.seconds < found[place].seconds:
                found[place] = measured
            if not done:
                disturbed.append(place)
        waiting = disturbed
    return [found[place] for place in range(len(run))]


def _warm_up(names: set[str]) -> None:
    """Load and start whatever the methods need before anything is timed."""
    small = [*uniform(30, 5, 25, 2, 1).instances, *uniform(30, 5, 2, 1, 1).instances]
    for name in sorted(names):
        for instance in small:
            PEERS[name].measured(instance)
