"""The kernel among threads, forks, interrupts and too little memory, and the same bits however users are divided."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from excalibr import Policy, _parallel, calibrate, calibrate_batch, calibrate_path
from excalibr._many_users import solve_users
from excalibr._options import Options
from excalibr._problem import Batch
from excalibr.errors import BatchWarning, GapWarning

ROOT = Path(__file__).parents[2]
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "kl": {"divergence": "kl"},
    "caps": {"caps": {0: 0.5}},
    "at most two": {"max_per_category": 2},
    "a budget": {"relevance_loss": 0.05},
    "single": {"draws": "single"},
    "even": {"draws": "even"},
}


def made_up(r: int = 20, users: int = 70, n: int = 40) -> dict[str, Any]:
    """Users with equally many candidates, which have one category each: the item that they are."""
    random = np.random.default_rng(r)
    return {
        "scores": random.random(users * n),
        "indptr": np.arange(users + 1) * n,
        "categories": np.eye(r),
        "targets": random.dirichlet(np.ones(r), users),
        "items": random.integers(0, r, users * n),
    }


def one_of(given: dict[str, Any], user: int = 0, **more: Any) -> dict[str, Any]:
    """One of the users, for ``calibrate``."""
    own = slice(given["indptr"][user], given["indptr"][user + 1])
    rows = given["categories"][given["items"][own]]
    return {"scores": given["scores"][own], "categories": rows, "target": given["targets"][user]} | more


def bits_of(policy: Policy) -> list[Any]:
    assert policy.prices is not None
    return [policy.rankings.tolist(), policy.weights.tolist(), policy.prices.tolist(), policy.gap]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_threads_in_calibrate_at_once_give_the_bits_of_one_after_the_other(options: dict[str, Any]) -> None:
    given, together = made_up(r=5, users=8), threading.Barrier(4)

    def solve(user: int) -> list[Any]:
        return bits_of(calibrate(**one_of(given, user, k=6, **options)))

    def solve_together(user: int) -> list[Any]:
        together.wait()
        return solve(user)

    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(solve_together, range(8)))
    assert at_once == [solve(user) for user in range(8)]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_neither_threads_nor_ranges_change_a_bit(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    given = made_up(r=5, users=20)
    expected = [bits_of(policy) for policy in calibrate_batch(**given, k=6, threads=1, **options)]
    for size in (1, 7, 64):
        monkeypatch.setattr(_parallel, "RANGE", size)
        for threads in (1, 3):
            policies = calibrate_batch(**given, k=6, threads=threads, **options)
            assert [bits_of(policy) for policy in policies] == expected


def test_the_proximal_method_gives_the_same_bits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    given = made_up(r=20)
    expected = [bits_of(policy) for policy in calibrate_batch(**given, k=10, threads=1)]
    monkeypatch.setattr(_parallel, "RANGE", 7)
    assert [bits_of(policy) for policy in calibrate_batch(**given, k=10, threads=2)] == expected


FORK = """
import multiprocessing
from tests.kernel.test_safety import bits_of, made_up
from excalibr import calibrate_batch

def solve(_):
    return [bits_of(policy) for policy in calibrate_batch(**made_up(users=5), k=6, threads=2)]

before = solve(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(solve, range(2)) == [before, before]
print("same bits")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_after_a_solve_solves() -> None:
    assert run(FORK).stdout.strip() == "same bits"


INTERRUPTED = """
import signal, sys, threading
from types import SimpleNamespace
from excalibr import _parallel, calibrate_batch
from excalibr import _many_users as solving
from tests.kernel.test_safety import made_up

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
kernel = solving.kernel
def solve_range(*arguments):
    print("begun\\n", end="", flush=True)  # at once: two threads say it
    if "in a thread" in sys.argv and arguments[1] > 0:
        kernel.solve_range(arguments[0], 0, 3)  # meanwhile the main thread begins to wait
        print("interrupting\\n", end="", flush=True)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    return kernel.solve_range(*arguments)
solving.kernel = SimpleNamespace(solve_range=solve_range)
_parallel.RANGE = 2_000  # a range takes minutes: the kernel itself has to notice
threads = int(sys.argv[1])
calibrate_batch(**made_up(r=60, users=4_000, n=300), k=100, divergence="kl", max_per_category=2, threads=threads)
print("done")
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no signals to send here")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_batch(threads: int) -> None:
    process = start(INTERRUPTED, str(threads))
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(threads)] == ["begun\n"] * threads
        process.send_signal(signal.SIGINT)
        check_interrupted(process)
    finally:
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="there are no signals to send here")
def test_an_interrupt_that_does_not_wake_the_waiting_thread_ends_a_long_batch() -> None:
    process = start(INTERRUPTED, "2", "in a thread")
    try:
        assert process.stdout is not None
        assert "interrupting\n" in process.stdout  # one line after the other, until it comes
        check_interrupted(process)
    finally:
        process.kill()


def check_interrupted(process: subprocess.Popen[str]) -> None:
    """It ends by the interrupt, long before its work is done; a busy machine may need a while for that."""
    said, error = process.communicate(timeout=300)
    assert "done" not in said
    assert error.strip().endswith("KeyboardInterrupt")
    assert "SystemError" not in error
    assert process.returncode in (-signal.SIGINT, 130)


LIMIT = """
import resource
from pathlib import Path

def leave(megabytes):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, resource.RLIM_INFINITY))
"""
HUGE_SOLVE = f"""{LIMIT}
import numpy as np
from scipy.sparse import eye_array
from excalibr import calibrate

small = calibrate([1.0, 2.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1).gap
rows, target = eye_array(6_000, format="csr"), np.full(6_000, 1 / 6_000)
leave(200)
try:
    calibrate(np.zeros(6_000), rows, target, k=10)
except MemoryError:
    print("MemoryError", calibrate([1.0, 2.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1).gap == small)
"""
HUGE_USER = f"""{LIMIT}
import warnings
from types import SimpleNamespace
import numpy as np
from excalibr import calibrate_batch
from excalibr import _many_users as solving
from tests.kernel.test_safety import bits_of

def batch(n):
    # two small users, and between them one with so many candidates
    scores = np.concatenate([np.linspace(0, 1, 30), np.linspace(0, 1, n), np.linspace(1, 0, 30)])
    items = np.concatenate([np.arange(30) % 8, np.arange(n) % 8, np.arange(30) // 4])
    starts = [0, 30, 30 + n, 60 + n]
    return calibrate_batch(scores, starts, np.eye(8), np.full(8, 1 / 8), items=items, k=5, threads=1)

kernel = solving.kernel
def solve_range(*arguments):
    leave(64)
    try:
        return kernel.solve_range(*arguments)
    finally:
        leave(2**20)
solving.kernel = SimpleNamespace(solve_range=solve_range)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    policies = batch(3_000_000)
print([str(warning.message) for warning in caught])
small = batch(30)
print([bits_of(policies[user]) == bits_of(small[user]) for user in (0, 2)])
try:
    policies[1]
except Exception as error:
    print(type(error).__name__, error)
"""
needs_limits = pytest.mark.skipif(
    SANITIZED or not Path("/proc/self/statm").exists(), reason="needs a limit of memory that can be set"
)


@needs_limits
def test_memory_that_a_solve_cannot_have_is_a_memory_error() -> None:
    assert run(HUGE_SOLVE).stdout.split() == ["MemoryError", "True"]


@needs_limits
def test_a_user_who_needs_too_much_memory_stops_nobody() -> None:
    summary, same, error = run(HUGE_USER).stdout.splitlines()
    assert summary == "['1 of 3 users: 1 failed.']"
    assert same == "[True, True]"
    assert "the solver ran out of memory" in error


def test_the_warning_of_a_gap_points_at_the_line_that_called_calibrate() -> None:
    asked = one_of(made_up(users=1), k=10, max_sorts=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        calibrate(**asked)
    assert [(each.category, each.filename, each.lineno) for each in caught] == [(GapWarning, __file__, line)]


def test_the_warnings_of_a_path_point_at_the_line_that_called_it() -> None:
    asked = one_of(made_up(users=1), k=10, max_sorts=1, trade_offs=[0.4, 0.6])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        calibrate_path(**asked)
    assert [(each.category, each.filename, each.lineno) for each in caught] == [(GapWarning, __file__, line)] * 2


def test_the_warning_of_a_batch_points_at_the_line_that_called_it() -> None:
    given = made_up(users=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        calibrate_batch(**given, k=10, max_sorts=1)
    assert [(each.category, each.filename, each.lineno) for each in caught] == [(BatchWarning, __file__, line)]


@pytest.mark.parametrize("method", ["excalibr", "greedy"])
def test_batches_that_take_turns_leave_the_filters_of_warnings_as_they_were(method: str) -> None:
    batch = Batch.of(**made_up(users=200), options=Options(k=6, method=method, max_sorts=1))
    before = list(warnings.filters)
    one, other = (solve_users(batch, lambda part: part, threads=2) for _ in range(2))
    for _ in range(2):
        next(one), next(other)
        assert warnings.filters == before
    one.close()  # type: ignore[attr-defined]
    assert len(list(other)) == 2
    assert warnings.filters == before
    with pytest.warns(GapWarning):
        calibrate(**one_of(made_up(users=1), k=10, max_sorts=1))


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own that finds the package where this one does, and these tests."""
    package = Path(_parallel.__file__).parents[1]
    path = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    )


def run(program: str) -> subprocess.CompletedProcess[str]:
    process = start(program)
    said, error = process.communicate()
    assert process.returncode == 0, error
    return subprocess.CompletedProcess(program, 0, said, error)
