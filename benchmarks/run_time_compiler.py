"""What the benchmark knows of a kernel that is compiled at run time, and of nothing else: this file can go with it.

Such a library has no ``policy.info``: which engine ran is seen by watching the functions that call the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.problems import Instance
from benchmarks.results import Solve
from excalibr.problem import Limits

__all__ = ["CACHE", "inspect", "is_used", "prepare"]

CACHE = "NUMBA_CACHE_DIR"
"""The variable that names the folder of what was compiled."""

ENGINES = {
    "close_plain": "simplex",
    "close_program": "simplex",
    "solve_program": "proximal",
    "close_curved_program": "interior point",
}
"""The kernel's entry points, as :mod:`excalibr.solver.engines` calls them, and what stands behind each."""


def is_used() -> bool:
    """Whether this library compiles at run time."""
    return find_spec("excalibr._jit") is not None


def prepare() -> None:
    """Compile or load every entry point: one that is loaded in the middle of a round would be timed with it."""
    if is_used():
        import_module("excalibr.solver").prepare()


def inspect(instance: Instance) -> Solve:
    """Solve once more, and watch."""
    engines = import_module("excalibr.solver.engines")
    problem = instance.problem()
    with _watched(engines) as used:
        found = engines.answer_plain(problem, Limits())
    return Solve(
        n=problem.n,
        k=instance.k,
        r=problem.r,
        trade_off=instance.trade_off,
        sorts=int(found.sorts),
        engine=", then ".join(used),
        rankings=len(found.weights),
        gap=float(found.gap),
        scale=max(1.0, float(np.ptp(problem.gains))),
    )


@contextmanager
def _watched(engines: Any) -> Iterator[list[str]]:
    """The engines that are called meanwhile, in order."""
    used: list[str] = []
    entries = {name: getattr(engines, name) for name in ENGINES if hasattr(engines, name)}
    for name, entry in entries.items():
        setattr(engines, name, _noting(used, ENGINES[name], entry))
    try:
        yield used
    finally:
        for name, entry in entries.items():
            setattr(engines, name, entry)


def _noting(used: list[str], engine: str, entry: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        used.append(engine)
        return entry(*arguments)

    return call
