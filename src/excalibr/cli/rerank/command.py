"""The command and its exit codes; its options are those of ``Reranker``, in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr.cli.rerank.options import with_options
from excalibr.errors import missing_extra

__all__ = ["rerank"]

UNREADABLE = 3
INTERRUPTED = 130


@with_options
def rerank(
    candidates: Annotated[Path, typer.Argument(help="Scored candidates (user_id, item_id, score, others are kept).")],
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    **options: Any,
) -> None:
    """Re-rank a table of candidates that may be larger than memory.

    Tables are Parquet, CSV or Arrow files, or folders of them. Candidates in the order of their users are streamed as
    they are; others are sorted on disk first. Exit codes: 0 done, 2 wrong input or option, 3 a file cannot be read or
    written, 130 interrupted. A run that was stopped goes on with --resume and ends with the same content.
    """
    try:
        from excalibr.cli.rerank.job import read_job, run_job
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise missing_extra("pyarrow", "data") from None
    named = {"slates": out, "report": report, "lotteries": lotteries}
    outputs = {name: path for name, path in named.items() if path is not None}
    job = read_job(candidates, items, outputs, day, options)
    try:
        told = run_job(job, resume=resume)
    except KeyboardInterrupt:
        typer.echo("excalibr: interrupted. Go on with --resume.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        typer.echo(f"excalibr: {error}", err=True)
        raise typer.Exit(UNREADABLE) from None
    typer.echo(told, err=True)
