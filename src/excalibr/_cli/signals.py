"""Signals that stop a command: noted when they come, acted on where the work can stop, with the shell's exit codes.

An exception raised at any moment, as Python does on Ctrl-C, can come out of compiled code as a ``SystemError`` or be
lost in a callback. Here the first signal only sets a mark, which the work looks at between steps; a second one does not
wait.
"""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec

import typer

from excalibr._cli.printing import print_error, print_line
from excalibr.errors import ExcalibrError

Given = ParamSpec("Given")

UNREADABLE = 3

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stop:
    """Whether a signal came, and which."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def code(self) -> int:
        """The exit code that a shell knows a signal by: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    def __str__(self) -> str:
        by_hand = self.signal in (None, signal.SIGINT)
        return "interrupted" if by_hand else f"stopped by {signal.Signals(self.signal or 0).name}"

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal came; to be called where the work can stop."""
        if self.signal is not None:
            raise KeyboardInterrupt

    def checking(self, function: Callable[Given, None]) -> Callable[Given, None]:
        """The same function with a check before every call."""

        def checked(*given: Given.args, **named: Given.kwargs) -> None:
            self.check()
            function(*given, **named)

        return checked

    def note(self, number: int, _: FrameType | None = None) -> None:
        """Note a signal; the second one does not wait for a check."""
        first = self.signal is None
        self.signal = number
        if not first:
            raise KeyboardInterrupt


@contextmanager
def stoppable(on_stop: Callable[[Stop], None]) -> Iterator[Stop]:
    """Note signals while this is open, and after one call ``on_stop`` and exit with its code.

    Those that are ignored, as under ``nohup``, stay ignored. Python lets only its main thread handle signals; elsewhere
    nothing is noted.
    """
    stop = Stop()
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS if in_main}
    taken = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, stop.note)
        yield stop
    except (Exception, KeyboardInterrupt) as error:
        if stop.signal is None and not isinstance(error, KeyboardInterrupt):
            raise
        # Whatever was going on when the signal came may have failed because of it.
        on_stop(stop)
        raise typer.Exit(stop.code) from None
    finally:
        for number in taken:
            signal.signal(number, before[number])


def run_resumable(work: Callable[[Stop], str]) -> None:
    """Do it and print what it sums up; where it ends early and can go on, exit with the code that says why.

    That is a signal, or a file that cannot be read or written.
    """
    with stoppable(lambda stop: print_error(f"{stop}. Go on with --resume.")) as stop:
        try:
            print_line(work(stop))
        except OSError as error:
            if stop.signal is not None or isinstance(error, ExcalibrError):
                raise
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            kept = ". Finished parts are kept: make room, and go on with --resume." if full else ""
            print_error(text_of(error) + kept)
            raise typer.Exit(UNREADABLE) from None


def text_of(error: OSError) -> str:
    """The error in a line, with the file."""
    text = " ".join(str(error).split())
    return text if error.filename is None or str(error.filename) in text else f"{error.filename}: {text}"
