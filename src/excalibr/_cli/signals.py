"""Signals that stop a command: noted when they come, acted on where the work can stop, with the shell's exit codes.

An exception raised at any moment, as Python does on Ctrl-C, can come out of compiled code as a ``SystemError`` or be
lost in a callback. Here the first signal only sets a mark, which the work looks at between steps; a second one does not
wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from excalibr._parallel import Advance

__all__ = ["Stop", "stoppable"]

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stop:
    """Whether a signal came, and which."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def code(self) -> int:
        """The exit code that a shell knows a signal by: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal came; to be called where the work can stop."""
        if self.signal is not None:
            raise KeyboardInterrupt

    def checking(self, advance: Advance) -> Advance:
        """The same function with a check before every call."""

        def checked(users: int) -> None:
            self.check()
            advance(users)

        return checked

    def note(self, number: int, _: FrameType | None = None) -> None:
        """Note a signal; the second one does not wait for a check."""
        first = self.signal is None
        self.signal = number
        if not first:
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Note signals while this is open; those that are ignored, as under ``nohup``, stay ignored.

    Python lets only its main thread handle signals; elsewhere nothing is noted.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, stop.note)
        yield stop
    finally:
        for number in taken:
            signal.signal(number, before[number])
