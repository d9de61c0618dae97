"""``excalibr balance``: prices for everybody together from tables in files, streamed pass by pass, and resumed.

Its options are those of ``rerank`` and what is asked of everybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._cli.options import CandidatesFile, Resume, given_paths, with_options
from excalibr._cli.signals import run_resumable
from excalibr.errors import needs_extra
from excalibr.tables import Reranker, Tables
from excalibr.tables._options import Everyone

__all__ = ["balance"]


@with_options(Everyone, Reranker, Tables)
def balance(
    candidates: CandidatesFile,
    *,
    items: Annotated[Path, typer.Option(help="Items (item_id, category, and a column for each attribute of groups).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the prices go: .parquet, .csv or .arrow.")],
    shares: Annotated[
        Path | None, typer.Option(help="Also write one row per group here: price, share before and after, target.")
    ] = None,
    slates: Annotated[
        Path | None, typer.Option(help="Also re-rank with the prices, and write the slates here.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="With --slates, also write one row per user here.")] = None,
    day: Annotated[str | None, typer.Option(help="Draw the slates by (seed, (user, day)).")] = None,
    resume: Resume = False,
    **options: Any,
) -> None:
    """Find prices for groups of items, so that over all users each group gets its share of what is seen.

    The candidates may be larger than memory; every pass reads them once, and a line says what is proven. Exit codes are
    those of rerank: 0 done, 2 wrong input or option, 3 a file cannot be read or written, 130 interrupted, 143
    terminated. A run that was stopped goes on with --resume, after its last pass, and ends with the same prices.
    """
    with needs_extra("data", "pyarrow"):
        from excalibr._cli.balance.job import run_balance
    outputs = given_paths(out=out, shares=shares, slates=slates, report=report)
    run_resumable(lambda stop: run_balance(candidates, items, outputs, day, options, stop, resume=resume))
