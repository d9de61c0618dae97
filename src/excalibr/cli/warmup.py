"""``excalibr warmup``: have the kernel compiled before the first request needs it."""

from __future__ import annotations

import time

import typer

__all__ = ["warmup"]


def warmup() -> None:
    """Compile the solver's kernel for this machine, or load it from the cache, and say how long it took."""
    started = time.perf_counter()
    from excalibr.solver import prepare

    prepare()
    typer.echo(f"The kernel is ready after {time.perf_counter() - started:.1f} s.")
