"""How time and sorts grow with n, k, r and λ, one at a time; what a process, a thread and a user more cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import excalibr
from benchmarks.kernels import inspect
from benchmarks.measuring import quietly
from benchmarks.peers import PEERS
from benchmarks.plan import Scale
from benchmarks.problems import ProblemSet, film_like, uniform
from benchmarks.results import GrowthPoint, Memory, Start, Throughput

__all__ = ["growth", "memory", "starts", "throughput"]

CANDIDATES = (100, 200, 500, 1000, 2000, 5000, 10_000)
SLOTS = (5, 10, 20, 50, 100, 200, 500)
CATEGORIES = (2, 5, 10, 20, 50, 100, 200, 400)
WEIGHTS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
ROUNDS = 3

FIRST_ANSWER = """
import numpy, excalibr
random = numpy.random.default_rng(1)
excalibr.calibrate(random.random(150), numpy.eye(20)[random.integers(0, 20, 150)], numpy.full(20, 0.05), k=100)
"""

PEAK = "import re; print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
"""Prints a process's own peak in kB; that of ``resource`` begins with its parent's."""


def growth(scale: Scale) -> list[GrowthPoint]:
    """Every axis, size by size; the other sizes stay."""
    with quietly():
        return [_point(axis, value, problems) for axis, value, problems in _axes(scale)]


def _axes(scale: Scale) -> Iterator[tuple[str, float, ProblemSet]]:
    count = scale.growth
    for n in CANDIDATES:
        yield "n", n, uniform(n, 50, 20, 2, count)
    for k in SLOTS:
        yield "k", k, uniform(1000, k, 20, 2, count)
    for r in CATEGORIES:
        if r <= scale.largest_r:
            yield "r", r, uniform(500, 100, r, min(2, r - 1), count)
    same = uniform(150, 100, 20, 2, count)
    for trade_off in WEIGHTS:
        moved = tuple(replace(instance, trade_off=trade_off) for instance in same.instances)
        yield "λ", trade_off, replace(same, instances=moved)


def _point(axis: str, value: float, problems: ProblemSet) -> GrowthPoint:
    """The stream of a size's problems some times over; the first time warms up."""
    call = PEERS["excalibr"].call
    rounds = [[call(instance).seconds for instance in problems.instances] for _ in range(1 + ROUNDS)]
    seconds = np.median(rounds[1:], axis=0).tolist()
    return GrowthPoint(axis, value, seconds, [inspect(instance).sorts for instance in problems.instances])


def starts(scale: Scale) -> list[Start]:
    """Seconds until a fresh process has done something: nothing, the import, an answer."""
    programs = {
        "Python itself": "pass",
        "import excalibr": "import excalibr",
        "first answer": FIRST_ANSWER,
    }
    measured = [Start(what, [_process(code) for _ in range(scale.processes)]) for what, code in programs.items()]
    return [each for each in measured if each.seconds]


def throughput(scale: Scale) -> list[Throughput]:
    """Users a second through ``calibrate_batch``, threads by threads in interleaved rounds; nothing without it."""
    calibrate_batch = getattr(excalibr, "calibrate_batch", None)
    if calibrate_batch is None:
        return []
    arrays = batch_arrays(scale.batch_users)
    counts = [1]
    while counts[-1] < (os.cpu_count() or 1):
        counts.append(min(2 * counts[-1], os.cpu_count() or 1))
    rates: dict[int, list[float]] = {threads: [] for threads in counts}
    calibrate_batch(*batch_arrays(2), k=100, threads=1)
    for _ in range(scale.rounds):
        for threads in counts:
            started = perf_counter()
            calibrate_batch(*arrays, k=100, threads=threads)
            rates[threads].append(scale.batch_users / (perf_counter() - started))
    return [Throughput(threads, scale.batch_users, rates[threads]) for threads in counts]


def memory(scale: Scale) -> list[Memory]:
    """Peak megabytes of a process that calibrates so many users at once; nothing without ``calibrate_batch``."""
    if not hasattr(excalibr, "calibrate_batch") or not Path("/proc/self/status").exists():
        return []
    idle = _peak(1)
    return [Memory(users, _peak(users), idle) for users in scale.memory_users]


def batch_arrays(users: int) -> tuple[Any, Any, Any, Any]:
    """Film-like users as ``calibrate_batch`` takes them: scores, where each user begins, rows and targets.

    A hundred different users, again and again: making more would take longer than calibrating them.
    """
    different = film_like("", 150, 100, 18, 3, min(users, 100)).instances
    chosen = [different[user % len(different)] for user in range(users)]
    scores = np.concatenate([each.scores for each in chosen])
    rows = np.concatenate([each.categories for each in chosen])
    return scores, np.arange(0, len(scores) + 1, 150), rows, np.array([each.target for each in chosen])


def _peak(users: int) -> float:
    code = "from benchmarks.growth import batch_arrays; import excalibr\n"
    code += f"excalibr.calibrate_batch(*batch_arrays({users}), k=100)\n{PEAK}"
    return float(_run(code).splitlines()[-1]) / 1024


def _process(code: str) -> float:
    started = perf_counter()
    _run(code)
    return perf_counter() - started


def _run(code: str) -> str:
    root = Path(__file__).parent.parent
    paths = os.pathsep.join([str(root), *(path for path in sys.path if path)])
    inherited = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=inherited)
    return done.stdout
