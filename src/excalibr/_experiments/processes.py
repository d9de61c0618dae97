"""The parts worked off: users in chunks, on one process or several, finished parts stored and never done again.

Chunks do not depend on the number of processes, and a user's numbers not on the chunk, so neither do the results.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

from excalibr import _seeds as seeds
from excalibr._experiments.arms import ARMS, answer
from excalibr._experiments.measures import METRICS, measure
from excalibr._experiments.plan import Plan, PlanPart
from excalibr._experiments.store import Block, Store
from excalibr._experiments.study import Study
from excalibr._parallel import one_blas_thread
from excalibr._types import Floats, Integers
from excalibr.errors import SolverError

__all__ = ["Progress", "measure_users", "run_parts", "users_of"]

Progress = Callable[[str, float, float], None]
"""What is being done, how much of it is done, and how much there is; in seconds of work, roughly."""

_CHUNK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some users of a part."""

    part: PlanPart
    users: tuple[int, ...]

    def seconds(self, plan: Plan) -> float:
        return len(self.users) * _seconds_a_user(self.part, plan)


def run_parts(
    study: Study, plan: Plan, store: Store, parts: Iterable[PlanPart], threads: int, progress: Progress
) -> None:
    """Do and store every part that is not stored yet."""
    chunks = [chunk for part in parts if not store.path(part).is_file() for chunk in _chunks(study, plan, part)]
    total, done = sum(chunk.seconds(plan) for chunk in chunks), 0.0
    found: list[Floats] = []
    progress("starting the processes", 0.0, total)
    with closing(_measured(study, plan, store, chunks, threads)) as measured:  # an interrupt ends the processes too
        for number, (chunk, values) in enumerate(zip(chunks, measured, strict=True), 1):
            found.append(values)
            done += chunk.seconds(plan)
            part = chunk.part
            if number == len(chunks) or chunks[number].part != part:
                store.write_part(_block(study, plan, part, np.concatenate(found, axis=1)))
                found.clear()
            progress(f"{part.attribute}, {part.setting}, {ARMS[part.arm].label}", done, total)


def measure_users(study: Study, plan: Plan, part: PlanPart, users: Iterable[int]) -> Floats:
    """(weightings, users, trade-offs, metrics) of some of the users."""
    arm, trade_offs = ARMS[part.arm], _trade_offs(plan, part)
    rows = []
    for user in users:
        question, held_out = study.question(user, part.attribute, part.setting), study.held_out(user, part.setting)
        draw = float(seeds.uniforms(plan.seed, study.user_ids[user].item(), 1)[0])
        policies = answer(arm, question, plan.weightings, trade_offs)
        rows.append([measure(of_weighting, held_out, draw) for of_weighting in policies])
    shape = (len(rows), len(plan.weightings), len(trade_offs), len(METRICS))
    return np.asarray(rows, dtype=np.float64).reshape(shape).swapaxes(0, 1)


def users_of(study: Study, plan: Plan, part: PlanPart) -> Integers:
    """Rows of the users that a part is run on."""
    sample = ARMS[part.arm].sample_with(part.setting.slots)
    return study.sample(getattr(plan, sample)) if sample else np.arange(len(study))


def _trade_offs(plan: Plan, part: PlanPart) -> tuple[float, ...]:
    return plan.trade_offs if ARMS[part.arm].sweeps else (0.0,)


def _seconds_a_user(part: PlanPart, plan: Plan) -> float:
    return 1e-3 * ARMS[part.arm].cost * len(plan.weightings) * len(_trade_offs(plan, part))


def _chunks(study: Study, plan: Plan, part: PlanPart) -> Iterator[_Chunk]:
    users = users_of(study, plan, part).tolist()
    size = max(1, min(50, int(_CHUNK_SECONDS / _seconds_a_user(part, plan))))
    for start in range(0, len(users), size):
        yield _Chunk(part, tuple(users[start : start + size]))


def _block(study: Study, plan: Plan, part: PlanPart, values: Floats) -> Block:
    users = study.user_ids[users_of(study, plan, part)]
    return Block(part, plan.weightings, users, _trade_offs(plan, part), values)


def _measured(
    study: Study, plan: Plan, store: Store, chunks: list[_Chunk], threads: int
) -> Generator[Floats, None, None]:
    """What each chunk gives, in order."""
    if threads == 1 or len(chunks) < 2:
        with one_blas_thread():
            yield from (measure_users(study, plan, chunk.part, chunk.users) for chunk in chunks)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(threads, context, initializer=_start, initargs=(store.study, plan))
    try:
        yield from _in_order(pool, chunks, ahead=4 * threads)
    except BrokenProcessPool as error:
        hint = "start again with the same arguments to go on."
        raise SolverError(f"a worker process ended before its time ({error}). Hint: {hint}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, chunks: list[_Chunk], ahead: int) -> Iterator[Floats]:
    """Results in order, with some chunks of work ahead: more would sit in memory, fewer would let a process wait."""
    rest = iter(chunks)
    running: deque[Future[Floats]] = deque(pool.submit(_work, chunk) for chunk in islice(rest, ahead))
    while running:
        yield running.popleft().result()
        running.extend(pool.submit(_work, chunk) for chunk in islice(rest, 1))


_OPENED: list[tuple[Study, Plan]] = []  # of this worker process


def _start(path: Path, plan: Plan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the pool
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_blas_thread()
    _OPENED.append((Study.load(path), plan))


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers; they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(chunk: _Chunk) -> Floats:
    study, plan = _OPENED[0]
    return measure_users(study, plan, chunk.part, chunk.users)
