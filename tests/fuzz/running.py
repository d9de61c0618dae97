"""Runs questions in processes of their own and watches them: a crash or a hang is recorded, and the run goes on.

A worker notes the seed that it is at in shared memory before it asks, so that whoever watches knows which one it was.
Time is the worker's own processor time: what else a machine does, or that it was paused, makes nothing slow.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.asking import ask
from tests.fuzz.checks import Failure, check, check_time
from tests.fuzz.problems import question
from tests.fuzz.questions import Question

HANG = 60.0
"""Processor seconds after which a question is given up, when nothing else is said."""

LOOK_EVERY = 0.1
WAITING = 20
"""How many times as long, by looks at it, a worker may take that uses no processor, as where it waits for a lock."""

SLOWEST = 8
OUT_OF_TIME = int(getattr(signal, "SIGPROF", 0))
"""What ends a worker whose processor time is over; 0 where systems have no such timer, and looks alone are counted."""

_NEXT, _DONE, _DONE_ALL = range(3)


@dataclass(frozen=True)
class Plan:
    """What to run: questions of a profile from a first seed on, so many or for so long."""

    profile: str
    first: int
    problems: int | None = None
    seconds: float | None = None
    workers: int = 2
    literal_every: int = 50
    hang: float = HANG
    memory: float = 8.0
    """Gigabytes that a worker may have; 0 for no limit, as sanitizers need it."""

    def is_literal(self, seed: int) -> bool:
        """Whether HiGHS has its say."""
        return self.literal_every > 0 and seed % self.literal_every == 0


@dataclass
class Report:
    """What was found."""

    tried: int = 0
    seconds: float = 0.0
    library_seconds: float = 0.0
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, seed: int, kind: str, detail: str) -> None:
        self.failures.append((seed, Failure(kind, detail)))


class Examined(NamedTuple):
    """What does not hold of an answer, the processor seconds that the library took, and the kind of the answer."""

    failures: list[Failure]
    seconds: float
    kind: str


def examine(asked: Question, *, literally: bool) -> Examined:
    """Ask and check."""
    answer = ask(asked)
    kind = type(answer.error).__name__ if answer.error is not None else asked.call
    gap_warning = any(each.category.__name__ == "GapWarning" for each in answer.warnings)
    kind += " with GapWarning" if gap_warning else ""
    failures = check_time(asked, answer) + check(asked, answer, literally=literally)
    return Examined(failures, answer.seconds, kind)


class Task:
    """What a worker does with a seed: the question of the profile, asked and checked. Tests put others in its place."""

    def prepare(self) -> None:
        warm_up()

    def examine(self, plan: Plan, seed: int) -> Examined:
        try:
            return examine(question(plan.profile, seed), literally=plan.is_literal(seed))
        except Exception as error:  # of the fuzz itself: to be put right there, and no reason to stop
            return Examined([Failure("fuzz broken", repr(error))], 0.0, "none")


def run(plan: Plan, progress: Callable[[Report], None], task: Task | None = None) -> Report:
    """Run the plan; ``progress`` is told now and then."""
    report, start = Report(), time.monotonic()
    watched = [_Watched(plan, number, task or Task()) for number in range(plan.workers)]
    try:
        while any(each.is_busy for each in watched):
            time.sleep(LOOK_EVERY)
            for each in watched:
                each.look(report)
            report.tried = sum(each.tried for each in watched)
            report.seconds = time.monotonic() - start
            progress(report)
            if plan.seconds is not None and report.seconds > plan.seconds and all(each.has_tried for each in watched):
                break
    finally:
        for each in watched:
            each.stop(report)
    report.tried = sum(each.tried for each in watched)
    report.seconds = time.monotonic() - start
    return report


class _Watched:
    """A worker process from outside: started, listened to, and started again where it died or hung."""

    def __init__(self, plan: Plan, number: int, task: Task) -> None:
        self.plan, self.next, self.task = plan, plan.first + number, task
        self.earlier, self.is_busy = 0, True
        self._start()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context("spawn")
        self.state = context.RawArray("q", [self.next, 0, 0])
        self.begun = context.RawValue("d", 0.0)
        self.receiving, sending = context.Pipe(duplex=False)
        shared = (self.state, self.begun, sending)
        self.process = context.Process(target=_work, args=(self.plan, self.task, *shared), daemon=True)
        self.process.start()
        sending.close()
        self.looks, self.seen = 0, (-1, 0.0)

    @property
    def tried(self) -> int:
        """How many questions it is done with, those of earlier processes included."""
        return self.earlier + int(self.state[_DONE])

    @property
    def has_tried(self) -> bool:
        """Whether it is done with a question, or with all that it could do: a run that is timed waits for so much."""
        return self.tried > 0 or not self.is_busy

    def look(self, report: Report) -> None:
        """Take in what it has to say; see whether it still works."""
        if not self.is_busy:
            return
        self._listen(report)
        is_alive = self.process.is_alive()
        if not is_alive:
            self._listen(report)
        if self.state[_DONE_ALL]:
            self.is_busy = is_alive
        elif not is_alive and self.process.exitcode == -OUT_OF_TIME:
            self._again(report, "hang", f"no answer in {self.plan.hang:.0f} s of processor time")
        elif not is_alive:
            self._again(report, "crash", f"exit code {self.process.exitcode}")
        elif self._waits():
            self.process.kill()
            self._again(report, "hang", f"no answer in {self.looks} looks")

    def _waits(self) -> bool:
        """Whether it has been at the same question for so many looks that it can only be waiting."""
        at = (int(self.state[_NEXT]), float(self.begun.value))
        self.looks = self.looks + 1 if at == self.seen else 0
        self.seen = at
        return bool(self.begun.value) and self.looks * LOOK_EVERY > WAITING * self.plan.hang

    def stop(self, report: Report) -> None:
        if self.process.is_alive():
            self.process.terminate()
        self.process.join()
        self._listen(report)

    def _again(self, report: Report, kind: str, detail: str) -> None:
        """Record what stopped it, and go on after that."""
        self.process.join()
        at = int(self.state[_NEXT])
        report.add(at, kind if self.begun.value else f"{kind} at the start", detail)
        self.earlier, self.state[_DONE] = self.tried + 1, 0
        self.next = at + self.plan.workers
        last = None if self.plan.problems is None else self.plan.first + self.plan.problems
        if not self.begun.value or (last is not None and self.next >= last):
            self.is_busy = False
        else:
            self._start()

    def _listen(self, report: Report) -> None:
        try:
            while self.receiving.poll():
                _merge(report, self.receiving.recv())
        except (EOFError, OSError):  # the other end is gone; whether that is right is for `look` to say
            pass


@dataclass
class _News:
    """What a worker has found since it last told."""

    failures: list[tuple[int, Failure]] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    times: list[tuple[float, int, str]] = field(default_factory=list)
    library_seconds: float = 0.0


def _merge(report: Report, news: _News) -> None:
    report.failures += news.failures
    report.answers.update(news.answers)
    report.library_seconds += news.library_seconds
    report.slowest = sorted(report.slowest + news.times, reverse=True)[:SLOWEST]


def _work(plan: Plan, task: Task, state: Any, begun: Any, sending: Connection) -> None:
    """The worker: one seed of as many as there are workers; failures are told at once, the rest now and then."""
    _limit_memory(plan.memory)
    task.prepare()
    last = None if plan.problems is None else plan.first + plan.problems
    news, told = _News(), time.monotonic()
    while last is None or state[_NEXT] < last:
        seed = int(state[_NEXT])
        begun.value = time.monotonic()
        _give_time(plan.hang)
        found, seconds, kind = task.examine(plan, seed)
        news.failures += [(seed, failure) for failure in found]
        news.answers[kind] += 1
        news.library_seconds += seconds
        news.times.append((seconds, seed, kind))
        state[_NEXT] = seed + plan.workers
        state[_DONE] += 1
        if found or begun.value - told > 1.0:
            sending.send(_trimmed(news))
            news, told = _News(), begun.value
    state[_DONE_ALL] = 1  # what is left is to tell, and to end, which may take its time
    sending.send(_trimmed(news))


def _trimmed(news: _News) -> _News:
    news.times = sorted(news.times, reverse=True)[:SLOWEST]
    return news


def _give_time(seconds: float) -> None:
    """The process ends where it uses so much processor time from here on, in C++ too."""
    if OUT_OF_TIME:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(gigabytes: float) -> None:
    """A question that eats all memory must not take the machine with it."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    if gigabytes:
        resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)


def warm_up() -> None:
    """Ask simple questions of every kind, so that loading is not counted as answering."""
    random = np.random.default_rng(0)
    for r in (3, 25):
        scores, rows, target = random.random(30), np.eye(r)[np.arange(30) % r], np.full(r, 1 / r)
        for divergence in ("l1", "kl"):
            for more in ({}, {"max_per_category": 2}, {"floors": {0: 0.02}}, {"relevance_loss": 0.1}):
                for draws in ("lottery", "single", "even"):
                    options = {"k": 5, "divergence": divergence, "draws": draws, **more}
                    ask(Question(scores, rows, target, options))
            plain = {"k": 5, "divergence": divergence}
            ask(Question(scores, rows, target, plain | {"trade_offs": [0.1, 0.7]}, "calibrate_path"))
            ask(Question(scores, rows, target, plain | {"tolerance": 1e-2}, "frontier"))
            ask(Question(scores, rows, target, plain | {"trade_off": 0.5}, "calibrate_batch"))
