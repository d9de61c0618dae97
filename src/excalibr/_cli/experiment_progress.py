"""How far it is: a bar with the time left on a terminal, a plain line every half minute elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from excalibr._cli.signals import Stop
from excalibr._experiments.processes import Progress as Tell

__all__ = ["shown_progress"]

_EVERY = 30.0  # seconds between plain lines


@contextmanager
def shown_progress(console: Console, stop: Stop) -> Iterator[Tell]:
    """What to tell progress to; a signal is acted on there."""
    with _bar(console) if console.is_terminal else _lines(console) as show:

        def tell(what: str, done: float, total: float) -> None:
            stop.check()
            show(what, done, total)

        yield tell


@contextmanager
def _bar(console: Console) -> Iterator[Tell]:
    """A bar, a new one for each kind of work, because their units differ."""
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description:44}"), *columns, console=console, transient=True) as bar:
        task, size = bar.add_task("reading the data", total=None), -1.0

        def show(what: str, done: float, total: float) -> None:
            nonlocal size
            if total != size:
                bar.reset(task)
                size = total
            bar.update(task, description=escape(what), completed=done, total=total)

        yield show


@contextmanager
def _lines(console: Console) -> Iterator[Tell]:
    """A line for what is being done, by a thread of its own: a fit that takes minutes says nothing by itself."""
    last, started, ended = ("reading the data", 0.0, 0.0), monotonic(), threading.Event()

    def show(what: str, done: float, total: float) -> None:
        nonlocal last
        last = (what, done, total)

    def repeat() -> None:
        while not ended.wait(_EVERY):
            console.print(_line(*last, monotonic() - started), markup=False, soft_wrap=True)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()


def _line(what: str, done: float, total: float, seconds: float) -> str:
    """A line, with the time left where it is known.

    >>> _line("genre, 150/100, greedy", 60.0, 240.0, 75.0)
    'excalibr: 1 min 15 s: genre, 150/100, greedy, 25 %, about 3 min to go'
    """
    share = f", {100 * done / total:.0f} %" if total > 1.0 else ""
    left = f", about {(total - done) / 60:.0f} min to go" if total > 60.0 else ""
    return f"excalibr: {int(seconds) // 60} min {int(seconds) % 60} s: {what}{share}{left}"
