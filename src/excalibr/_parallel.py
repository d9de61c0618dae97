"""Contiguous ranges of users over threads: results in order, a bar on a terminal, nothing half-done on an interrupt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias, TypeVar

from excalibr._options import whole_number

Result = TypeVar("Result")
Advance: TypeAlias = Callable[[int], None]

RANGE = 64
"""Users a range, at most. Small: an interrupt waits for the ranges under way. Fewer users share the threads evenly."""


def over_ranges(
    work: Callable[[int, int], Result],
    size: int,
    threads: int = 1,
    advance: Advance | None = None,
    cancel: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """``work(first, last)`` on contiguous ranges of 0 … size − 1, the results in their order.

    At most a few ranges a thread are under way or waiting to be taken, so that results need not fit in memory at once.
    When the loop ends early, ``cancel`` is called before the ranges under way are awaited: what they find is not used.

    >>> list(over_ranges(lambda first, last: last - first, 100, threads=2))
    [50, 50]
    """
    width = max(1, min(RANGE, -(-size // threads)))
    ranges = [(first, min(first + width, size)) for first in range(0, size, width)]
    advance, cancel = advance or (lambda done: None), cancel or (lambda: None)
    done = (work(*each) for each in ranges) if threads == 1 else _threaded(work, ranges, threads, cancel)
    for (first, last), result in zip(ranges, done, strict=True):
        advance(last - first)
        yield result


def checked_threads(threads: int | None) -> int:
    """The number of threads to use; None is one for each processor that this process may use.

    >>> checked_threads(2)
    2
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    _check_threads("threads", threads)
    return int(threads)


_check_threads = whole_number(1)


@contextmanager
def progress_bar(what: str, total: int | None = None, unit: str = "users") -> Iterator[Advance]:
    """A function to call with the number of users that are done: a bar on a terminal, silent elsewhere."""
    bar = _bar(unit) if sys.stderr is not None and sys.stderr.isatty() else None  # a service may have none
    if bar is None:
        yield lambda done: None
        return
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def _threaded(
    work: Callable[[int, int], Result], ranges: list[tuple[int, int]], threads: int, cancel: Callable[[], None]
) -> Iterator[Result]:
    """A window of ranges in a pool; when the loop ends early, waiting ranges are dropped and running ones awaited."""
    waiting = iter(ranges)
    window: list[Future[Result]] = []
    pool = ThreadPoolExecutor(threads, thread_name_prefix="excalibr")
    try:
        for each in waiting:
            window.append(pool.submit(work, *each))
            if len(window) > 3 * threads:
                yield _result_of(window.pop(0))
        while window:
            yield _result_of(window.pop(0))
    except BaseException:
        cancel()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result_of(future: Future[Result]) -> Result:
    """Its result, waited for in turns: an interrupt on the threshold of a wait is answered only when that wait ends."""
    while not future.done():
        wait((future,), timeout=0.2)
    return future.result()


def one_blas_thread() -> AbstractContextManager[object]:
    """For work in Python: threads of our own and threads of BLAS would fight for the processors."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def _bar(unit: str) -> Any:
    """How many are done, how many a second, and the time that is left."""
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ModuleNotFoundError:  # the extra `cli` brings it; a bar is not worth an error
        return None

    class SpeedColumn(progress.ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {unit} a second" if speed else "")

    done = (progress.BarColumn(None), progress.MofNCompleteColumn(), SpeedColumn())
    columns = ("{task.description}", *done, progress.TimeRemainingColumn(), "left")
    return progress.Progress(*columns, console=Console(stderr=True), transient=True)
