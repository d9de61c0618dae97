"""``excalibr warmup``: have the kernel compiled before the first request needs it."""

from __future__ import annotations

import time

import typer

import excalibr

__all__ = ["warmup"]


def warmup() -> None:
    """Compile the solver's kernel for this machine, or load it from the cache, and say how long it took."""
    started = time.perf_counter()
    policy = excalibr.calibrate([1.0, 0.9, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    typer.echo(
        f"The kernel is ready after {time.perf_counter() - started:.1f} s "
        f"(a problem of {policy.problem.n} candidates solved, gap {policy.gap:.0e})."
    )
