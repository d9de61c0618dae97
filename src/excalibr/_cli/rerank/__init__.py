"""``excalibr rerank``: tables in files to slates in a file, streamed, and resumed after any interruption.

Its options are those of ``Reranker``, in the same words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._cli.options import CandidatesFile, Resume, given_paths, with_options
from excalibr._cli.signals import run_resumable
from excalibr.errors import needs_extra
from excalibr.tables import Reranker, Tables

__all__ = ["rerank"]


@with_options(Reranker, Tables)
def rerank(
    candidates: CandidatesFile,
    *,
    items: Annotated[Path, typer.Option(help="Items (item_id, category, optional weight).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the slates go: .parquet, .csv or .arrow.")],
    report: Annotated[
        Path | None, typer.Option(help="Also write one row per user here: before, after, gap, status.")
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
    outputs = given_paths(slates=out, report=report, lotteries=lotteries)
    run_resumable(lambda stop: run_job(read_job(candidates, items, outputs, day, options, stop), resume=resume))
