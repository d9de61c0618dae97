"""The clock of the kernel: seconds of a call that were spent in compiled code, with a library of either kind.

A library with ``policy.info`` says it itself. An older one, whose kernel was compiled at run time, gets a stopwatch
around the functions that hand a checked problem to its engines.
"""

from __future__ import annotations

import functools
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter, thread_time
from typing import Any

import excalibr

__all__ = ["KernelClock", "entries_clocked", "interruptions"]

HAND_OVER = (("excalibr.solver", "answer_plain"), ("excalibr.solver.arranged", "answer"))
"""Of a library without ``policy.info``: module and name of what is called with a checked problem."""

_THREAD = getattr(resource, "RUSAGE_THREAD", None)

ENTRY_TYPES = ("nb_func", "_Entry")
"""What a function of the kernel that Python calls is an instance of: nanobind's, or that of the kernel before it."""


class KernelClock:
    """Seconds that a call spent in the kernel: :meth:`start` before it, :meth:`seconds` with its policy after it."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.patched = False
        if not _has_info(excalibr.Policy):
            for path, name in HAND_OVER:
                module = import_module(path)
                setattr(module, name, self._clocked(getattr(module, name)))
            self.patched = True

    def start(self) -> None:
        """Before a call that is timed."""
        self.spent = 0.0

    def seconds(self, policy: Any) -> float:
        """Of the latest call, whose policy this is; not a number where nothing was clocked."""
        if self.patched:
            return self.spent
        found = getattr(getattr(policy, "info", None), "seconds", None)
        return float("nan") if found is None else float(found)

    def _clocked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            started = perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.spent += perf_counter() - started

        return call


def _has_info(kind: type) -> bool:
    return hasattr(kind, "info") or "info" in getattr(kind, "__dataclass_fields__", {})


def interruptions() -> int:
    """How often the system has taken the core away from this thread so far; always 0 where it does not say.

    A call in which it did was measured together with somebody else's work.
    """
    return resource.getrusage(_THREAD).ru_nivcsw if _THREAD is not None else 0


@contextmanager
def entries_clocked() -> Iterator[Callable[[], float]]:
    """Processor seconds, of all threads, inside any function of the kernel that Python calls meanwhile."""
    spent, lock = [0.0], threading.Lock()

    def clocked(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
        def call(*arguments: Any, **options: Any) -> Any:
            started = thread_time()
            try:
                return function(*arguments, **options)
            finally:
                with lock:
                    spent[0] += thread_time() - started

        return call

    replaced = list(_entries())
    for module, name, entry in replaced:
        setattr(module, name, clocked(entry))
    try:
        yield lambda: spent[0]
    finally:
        for module, name, entry in replaced:
            setattr(module, name, entry)


def _entries() -> Iterator[tuple[Any, str, Any]]:
    """Every place in the library's loaded modules where a function of the kernel lies."""
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] == "excalibr":
            for name, value in list(vars(module).items()):
                if type(value).__name__ in ENTRY_TYPES:
                    yield module, name, value
