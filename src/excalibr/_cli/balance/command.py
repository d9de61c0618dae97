"""The command and its exit codes; its options are those of ``rerank`` and what is asked of everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._cli.rerank.command import stopped_or_failed
from excalibr._cli.rerank.options import with_options
from excalibr._cli.signals import stoppable
from excalibr.errors import missing_extra

__all__ = ["balance"]


@with_options
def balance(
    candidates: Annotated[Path, typer.Argument(help="Scored candidates (user_id, item_id, score, others are kept).")],
    *,
    items: Annotated[Path, typer.Option(help="Items (item_id, category, and a column for each attribute of groups).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the prices go: .parquet, .csv or .arrow.")],
    everyone: Annotated[
        list[str] | None,
        typer.Option(help="Wanted shares of an attribute's groups: seller=targets.parquet (category, weight)."),
    ] = None,
    everyone_weights: Annotated[
        str | None, typer.Option(help="What a unit of deviation costs, by attribute: seller=0.5; 1 by default.")
    ] = None,
    everyone_floors: Annotated[
        str | None, typer.Option(help="The least share that a group must have: seller:small=0.02.")
    ] = None,
    everyone_caps: Annotated[
        str | None, typer.Option(help="The largest share that a group may have: seller:big=0.3.")
    ] = None,
    everyone_relative: Annotated[
        bool, typer.Option("--everyone-relative", help="Count a group's deviation relative to its target.")
    ] = False,
    everyone_tolerance: Annotated[float, typer.Option(help="Stop at this proven gap.")] = 1e-3,
    max_passes: Annotated[int, typer.Option(help="Stop after so many passes over all users.")] = 30,
    start: Annotated[Path | None, typer.Option(help="Prices to begin with, yesterday's for instance.")] = None,
    shares: Annotated[
        Path | None, typer.Option(help="Also write a row a group here: price, share before and after, target.")
    ] = None,
    slates: Annotated[
        Path | None, typer.Option(help="Also re-rank with the prices, and write the slates here.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="With --slates, also write a row a user here.")] = None,
    day: Annotated[str | None, typer.Option(help="Draw the slates by (seed, (user, day)).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    **options: Any,
) -> None:
    """Find prices for groups of items, so that over all users each group gets its share of what is seen.

    The candidates may be larger than memory; every pass reads them once, and a line says what is proven. Exit codes are
    those of rerank: 0 done, 2 wrong input or option, 3 a file cannot be read or written, 130 interrupted, 143
    terminated. A run that was stopped goes on with --resume, after its last pass, and ends with the same prices.
    """
    try:
        from excalibr._cli.balance.job import run_balance
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise missing_extra("pyarrow", "data") from None
    asked = {
        "everyone": everyone,
        "everyone_weights": everyone_weights,
        "everyone_floors": everyone_floors,
        "everyone_caps": everyone_caps,
        "everyone_relative": everyone_relative,
        "everyone_tolerance": everyone_tolerance,
        "max_passes": max_passes,
        "start": start,
    }
    outputs = {"out": out, "shares": shares, "slates": slates, "report": report}
    with stoppable() as stop, stopped_or_failed(stop):
        told = run_balance(candidates, items, outputs, asked, day, options, stop, resume=resume)
    typer.echo(told, err=True)
