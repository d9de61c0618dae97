"""The command and its exit codes; its options are those of ``Reranker``, in the same words."""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._cli.options import CandidatesFile, Resume, with_options
from excalibr._cli.signals import Stop, stoppable
from excalibr._cli.speech import say, say_error
from excalibr.errors import ExcalibrError, needs_extra
from excalibr.tables import Reranker, Tables

__all__ = ["rerank", "stopped_or_failed"]

UNREADABLE = 3


@with_options(Reranker, Tables)
def rerank(
    candidates: CandidatesFile,
    *,
    items: Annotated[Path, typer.Option(help="Items (item_id, category, optional weight).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the slates go: .parquet, .csv or .arrow.")],
    report: Annotated[
        Path | None, typer.Option(help="Also write a row a user here: before, after, gap, status.")
    ] = None,
    lotteries: Annotated[
        Path | None, typer.Option(help="Also write all rankings with their probabilities here.")
    ] = None,
    day: Annotated[str | None, typer.Option(help="Draw by (seed, (user, day)) instead of (seed, user).")] = None,
    resume: Resume = False,
    **options: Any,
) -> None:
    """Re-rank a table of candidates that may be larger than memory.

    Tables are Parquet, CSV or Arrow files, or folders of them. Candidates in the order of their users are streamed as
    they are; others are sorted on disk first. Exit codes: 0 done, 2 wrong input or option, 3 a file cannot be read or
    written, 130 interrupted, 143 terminated. A run that was stopped goes on with --resume and ends with the same
    content.
    """
    with needs_extra("data", "pyarrow"):
        from excalibr._cli.rerank.job import read_job, run_job
    named = {"slates": out, "report": report, "lotteries": lotteries}
    outputs = {name: path for name, path in named.items() if path is not None}
    with stoppable() as stop, stopped_or_failed(stop):
        told = run_job(read_job(candidates, items, outputs, day, options, stop), resume=resume)
    say(told)


@contextmanager
def stopped_or_failed(stop: Stop) -> Iterator[None]:
    """Exit codes for what ends a run early: a signal, or a file that cannot be read or written."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if stop.signal is not None or isinstance(error, KeyboardInterrupt):
            # Whatever was going on when the signal came may have failed because of it.
            say_error(f"{_stopped(stop)}. Go on with --resume.")
            raise typer.Exit(stop.code) from None
        if isinstance(error, OSError) and not isinstance(error, ExcalibrError):
            say_error(_told(error))
            raise typer.Exit(UNREADABLE) from None
        raise


def _stopped(stop: Stop) -> str:
    by_hand = stop.signal in (None, signal.SIGINT)
    return "interrupted" if by_hand else f"stopped by {signal.Signals(stop.signal or 0).name}"


def _told(error: OSError) -> str:
    """The error in a line, with the file; what is finished is not lost."""
    text = " ".join(str(error).split())
    text = text if error.filename is None or str(error.filename) in text else f"{error.filename}: {text}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return text + (". Finished parts are kept: make room, and go on with --resume." if full else "")
