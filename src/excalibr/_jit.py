"""The only module that knows numba: how kernel functions are compiled, cached and announced.

``@compiled`` marks an inner function, ``@lean`` one that makes no arrays, ``@inlined`` one that becomes part of its
caller, ``entry(...)`` a function that Python calls. All release the GIL. With ``NUMBA_DISABLE_JIT=1`` they are plain
Python, bit for bit the same.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types

__all__ = [
    "BOOLEAN",
    "FLOAT",
    "FLOATS",
    "FLOAT_ROWS",
    "FLOAT_TABLES",
    "INTEGER",
    "INTEGERS",
    "OWN_FLOATS",
    "OWN_FLOAT_ROWS",
    "OWN_INTEGERS",
    "OWN_RANKINGS",
    "RANKINGS",
    "compiled",
    "entry",
    "inlined",
    "lean",
    "record",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_INNER_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # nobody calls them from Python: compile less
_NOTICE_AFTER_SECONDS = 1.5

# Inputs are declared read-only: numba then takes writable arrays too, with one compiled version for both.
BOOLEAN = types.boolean
FLOAT = types.float64
INTEGER = types.int64
FLOATS = types.Array(types.float64, 1, "C", readonly=True)
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
RANKINGS = types.Array(types.int64, 2, "C", readonly=True)
FLOAT_ROWS = types.Array(types.float64, 2, "C", readonly=True)
FLOAT_TABLES = types.Array(types.float64, 3, "C", readonly=True)

# What a kernel keeps from call to call, it writes to.
OWN_FLOATS = types.Array(types.float64, 1, "C")
OWN_FLOAT_ROWS = types.Array(types.float64, 2, "C")
OWN_INTEGERS = types.Array(types.int64, 1, "C")
OWN_RANKINGS = types.Array(types.int64, 2, "C")


def compiled(function: Function) -> Function:
    """Compile an inner function of a kernel, when an entry that calls it is compiled."""
    return numba.njit(**_OPTIONS, **_INNER_OPTIONS)(function)  # type: ignore[no-any-return]


def lean(function: Function) -> Function:
    """Compile an inner function that neither makes nor returns an array.

    It borrows the arrays of its arguments instead of counting them in and out, which takes longer than a small function
    itself when they come in named tuples.
    """
    return numba.njit(_nrt=False, **_OPTIONS, **_INNER_OPTIONS)(function)  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a lean function into the one or two that call it.

    An array is seven words in compiled code, so that a call with the named tuples of a kernel hands over hundreds: more
    work than many a function does. Not for what is called from many places: compiling takes longer with every one.
    """
    options = {"_nrt": False, "forceinline": True, **_OPTIONS, **_INNER_OPTIONS}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def entry(*arguments: Any, calls: tuple[Any, ...] = ()) -> Callable[[Function], Function]:
    """Compile a function that Python calls for these argument types, when it is first called, or load it from disk.

    ``calls`` are other entries, which become the function's first arguments: it calls what is compiled once already.
    """

    def decorate(function: Function) -> Function:
        if not numba.config.DISABLE_JIT:
            return _Entry(function, arguments, calls)  # type: ignore[return-value]
        return functools.partial(function, *calls) if calls else function  # type: ignore[return-value]

    return decorate


def record(kind: type, *fields: Any) -> Any:
    """The argument type of a named tuple with these types of fields; its arrays must be read-only where these are."""
    return types.NamedTuple(fields, kind)


class _Entry:
    """A function that is compiled once, at its first call, for one set of argument types."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], calls: tuple[_Entry, ...]) -> None:
        functools.update_wrapper(self, function)
        self._arguments = arguments
        self._calls = calls

    def __call__(self, *arguments: Any) -> Any:
        return self._kernel(*arguments)

    @functools.cached_property
    def _kernel(self) -> Any:
        dispatcher = _cached(self.__wrapped__)  # type: ignore[attr-defined]
        called = [other._kernel for other in self._calls]
        with _notice():
            dispatcher.compile(
                (*(types.FunctionType(other.nopython_signatures[0]) for other in called), *self._arguments)
            )
        dispatcher.disable_compile()
        return functools.partial(dispatcher, *called) if called else dispatcher


def _cached(function: Callable[..., Any]) -> Any:
    """A dispatcher with a cache on disk, or without one where no folder can be written (a read-only install)."""
    try:
        dispatcher = numba.njit(cache=True, **_OPTIONS)(function)
        # numba looks at the entry's own file only; a change in a function that it calls must make the cache stale too
        dispatcher._cache._cache_file._source_stamp = _source_stamp()
    except (RuntimeError, OSError, AttributeError):
        return numba.njit(**_OPTIONS)(function)
    return dispatcher


@functools.cache
def _source_stamp() -> bytes:
    """A digest of every module of the package that may hold compiled code."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for files in ("_jit.py", "solver/*.py", "search/*.py"):
        for path in sorted(package.glob(files)):
            digest.update(path.read_bytes())
    return digest.digest()


@contextmanager
def _notice() -> Iterator[None]:
    """Say in one line that a compilation is under way, when it takes long enough to wonder."""
    timer = threading.Timer(_NOTICE_AFTER_SECONDS, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@functools.cache
def _announce() -> None:
    print(
        "excalibr: compiling the kernel for this machine, once; it takes up to a minute …", file=sys.stderr, flush=True
    )
