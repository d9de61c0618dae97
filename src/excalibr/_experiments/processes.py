"""The parts worked off: users in chunks, on one process or several, finished parts stored and never done again.

Chunks do not depend on the number of processes, and a user's numbers not on the chunk, so neither do the results.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from excalibr._experiments.arms import ARMS, answer
from excalibr._experiments.measures import METRICS, attention, catalogue_measures, measure
from excalibr._experiments.plan import Plan, PlanPart
from excalibr._experiments.scoring import Progress
from excalibr._experiments.store import Block, Store
from excalibr._experiments.study import Study
from excalibr._parallel import one_blas_thread
from excalibr._types import Floats, Integers
from excalibr.errors import SolverError

_CHUNK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some users of a part."""

    part: PlanPart
    users: tuple[int, ...]
    seconds: float


def run_parts(
    study: Study, plan: Plan, store: Store, seconds: Mapping[PlanPart, float], threads: int, progress: Progress
) -> None:
    """Do and store every part that is not stored yet; ``seconds`` are what a user takes in each."""
    left = [part for part in seconds if not store.path(part).is_file()]
    chunks = [chunk for part in left for chunk in _chunks(study, plan, part, seconds[part])]
    total, done = sum(chunk.seconds for chunk in chunks) / threads, 0.0
    found: list[Measured] = []
    progress("starting the processes", 0.0, total)
    with closing(_measured(study, plan, store, chunks, threads)) as measured:  # an interrupt ends the processes too
        for number, (chunk, some) in enumerate(zip(chunks, measured, strict=True), 1):
            found.append(some)
            done += chunk.seconds / threads
            part = chunk.part
            if number == len(chunks) or chunks[number].part != part:
                store.write_part(_block(study, plan, part, found))
                found.clear()
            progress(f"{part.attribute}, {part.setting}, {ARMS[part.arm].label}", done, total)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Some users of a part."""

    values: Floats  # (weightings, users, trade-offs, metrics)
    seen: Integers  # (weightings, trade-offs, items)


def measure_users(study: Study, plan: Plan, part: PlanPart, users: Iterable[int]) -> Measured:
    """Answer and measure some of the users."""
    arm, trade_offs, weightings = ARMS[part.arm], plan.trade_offs_of(part), plan.weightings_of(part.setting)
    rows = []
    seen = np.zeros((len(weightings), len(trade_offs), len(study.popularity)), dtype=np.int64)
    for user in users:
        question, held_out = study.question(user, part.attribute, part.setting), study.held_out(user, part.setting)
        policies = answer(arm, question, weightings, trade_offs)
        items = study.items[user, : part.setting.candidates]
        who: dict[str, Any] = {"seed": plan.seed, "key": study.user_ids[user].item()}
        rows.append([measure(own, held_out, study.popularity[items], **who) for own in policies])
        for total, own in zip(seen, policies, strict=True):
            total[:, items] += attention(own)
    shape = (len(rows), len(weightings), len(trade_offs), len(METRICS))
    return Measured(np.asarray(rows, dtype=np.float64).reshape(shape).swapaxes(0, 1), seen)


def _chunks(study: Study, plan: Plan, part: PlanPart, seconds: float) -> Iterator[_Chunk]:
    users = study.users_of(plan, part).tolist()
    size = max(1, min(50, int(_CHUNK_SECONDS / max(seconds, 1e-6))))
    for start in range(0, len(users), size):
        some = tuple(users[start : start + size])
        yield _Chunk(part, some, len(some) * seconds)


def _block(study: Study, plan: Plan, part: PlanPart, found: Sequence[Measured]) -> Block:
    users = study.user_ids[study.users_of(plan, part)]
    values = np.concatenate([each.values for each in found], axis=1)
    catalogue = catalogue_measures(np.sum([each.seen for each in found], axis=0))
    return Block(part, plan.weightings_of(part.setting), users, plan.trade_offs_of(part), values, catalogue)


def _measured(
    study: Study, plan: Plan, store: Store, chunks: list[_Chunk], threads: int
) -> Generator[Measured, None, None]:
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


def _in_order(pool: ProcessPoolExecutor, chunks: list[_Chunk], ahead: int) -> Iterator[Measured]:
    """Results in order, with some chunks of work ahead: more would sit in memory, fewer would let a process wait."""
    rest = iter(chunks)
    running: deque[Future[Measured]] = deque(pool.submit(_work, chunk) for chunk in islice(rest, ahead))
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


def _work(chunk: _Chunk) -> Measured:
    study, plan = _OPENED[0]
    return measure_users(study, plan, chunk.part, chunk.users)
