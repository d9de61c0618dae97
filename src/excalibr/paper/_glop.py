"""The paper's own stack, CVXPY with OR-Tools' GLOP, in a process of its own.

OR-Tools and highspy each bring their own HiGHS and cannot be loaded together, and CVXPY loads highspy where it can.
So a worker that never loads highspy solves the programs, whatever this process has loaded. It starts at the first
solve, serves all that follow, and ends with this process.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from importlib.util import find_spec

from excalibr._problem import Problem
from excalibr.errors import SolverError, missing_extra
from excalibr.paper._solution import Solution

__all__ = ["close", "solve"]


def solve(problem: Problem, full: bool) -> Solution:
    """Solve the reduced or the full program with CVXPY and GLOP."""
    for package in ("cvxpy", "ortools"):
        if not _is_installed(package):
            raise missing_extra(package, "paper")
    with _LOCK:
        reply = _ask(problem, full)
    if isinstance(reply, str):
        raise SolverError(reply)
    return reply


def close() -> None:
    """End the worker now; the next solve starts a new one. Called when the process ends."""
    process = _WORKERS.pop(os.getpid(), None)
    if process is not None:
        process.kill()
        process.communicate()


_LOCK = threading.Lock()
_WORKERS: dict[int, subprocess.Popen[bytes]] = {}  # by the process that it serves: a fork must not share its parent's
atexit.register(close)


def _ask(problem: Problem, full: bool) -> Solution | str:
    process = _running()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump((problem, full), process.stdin)
        process.stdin.flush()
        reply: Solution | str = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        close()
        raise SolverError(
            f"the worker process of GLOP ended without an answer ({error!r}). Hint: 'highs' needs none."
        ) from error
    except BaseException:  # an interrupt: the answer that is still to come must not be taken for the next one
        close()
        raise
    return reply


def _running() -> subprocess.Popen[bytes]:
    process = _WORKERS.get(os.getpid())
    if process is None or process.poll() is not None:
        close()
        # Not multiprocessing's spawn, which runs the caller's script again: that may load highspy, or have no guard.
        code = f"import sys; sys.path[:] = {sys.path!r}; from excalibr.paper._glop_worker import serve; serve()"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _WORKERS[os.getpid()] = process
    return process


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # hidden by None in sys.modules
        return False
