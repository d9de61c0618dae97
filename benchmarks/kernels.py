"""A look into the kernel, apart from timing: which engine solved a problem, its sorts and the size of its lottery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.problems import Instance
from benchmarks.results import Solve
from excalibr.problem import Limits
from excalibr.solver import engines

__all__ = ["ENGINES", "inspect"]

ENGINES = {
    "close_plain": "simplex",
    "close_program": "simplex",
    "solve_program": "proximal",
    "close_curved_program": "interior point",
}
"""The kernel's doors, as :mod:`excalibr.solver.engines` calls them, and what stands behind each."""


def inspect(instance: Instance) -> Solve:
    """Solve once more, and watch."""
    problem = instance.problem()
    with _watched() as used:
        found = engines.answer_plain(problem, Limits())
    n, r = np.shape(instance.categories)
    return Solve(
        n=n,
        k=instance.k,
        r=r,
        trade_off=instance.trade_off,
        sorts=int(found.sorts),
        engine=", then ".join(used),
        rankings=len(found.weights),
        gap=float(found.gap),
        scale=max(1.0, float(np.ptp(problem.gains))),
    )


@contextmanager
def _watched() -> Iterator[list[str]]:
    """The engines that are called meanwhile, in order."""
    used: list[str] = []
    doors = {name: getattr(engines, name) for name in ENGINES if hasattr(engines, name)}
    for name, door in doors.items():
        setattr(engines, name, _noting(used, ENGINES[name], door))
    try:
        yield used
    finally:
        for name, door in doors.items():
            setattr(engines, name, door)


def _noting(used: list[str], engine: str, door: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        used.append(engine)
        return door(*arguments)

    return call
