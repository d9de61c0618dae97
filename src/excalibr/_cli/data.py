"""``excalibr data``: get an official MovieLens archive, and show what a set holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Column, Table

from excalibr._cli.wording import in_command_words
from excalibr.datasets import MovieLens, genre, load_movielens
from excalibr.datasets._archives import MAX_BYTES, MAX_RATIO
from excalibr.datasets._download import GROUPLENS, download_movielens

data = typer.Typer(add_completion=False, no_args_is_help=True, help="Get MovieLens, and show what a set holds.")


@data.command(epilog="Example: excalibr data get ml-1m --to data")
@in_command_words
def get(
    name: Annotated[str, typer.Argument(help="ml-1m, ml-10m, ml-20m, ml-25m, ml-32m or ml-latest-small.")],
    to: Annotated[Path, typer.Option(help="The folder to put the zip in.")] = Path(),
    url: Annotated[str, typer.Option(help="Where the archives are: GroupLens, or a mirror.")] = GROUPLENS,
    checksum: Annotated[
        str | None, typer.Option(help="The SHA-256 or MD5 that it must have, in place of the known one.")
    ] = None,
    accept_unverified: Annotated[
        bool, typer.Option("--accept-unverified", help="Take what the server sends; over https only.")
    ] = False,
) -> None:
    """Download an official archive: resumed, checked, and put in place when it is whole."""
    console = Console(highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    elsewhere = not console.is_terminal  # where even an empty bar would be a line
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=elsewhere) as bar:
        task = bar.add_task(name, total=None)
        path = download_movielens(
            name,
            to,
            url=url,
            checksum=checksum,
            accept_unverified=accept_unverified,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    shown = escape(str(path))
    console.print(f"[bold]{shown}[/] is there. See what it holds: excalibr data show {shown}", soft_wrap=True)
    console.print("GroupLens asks to cite Harper and Konstan (2015), and not to redistribute it.", soft_wrap=True)


@data.command(epilog="Example: excalibr data show ml-1m.zip")
@in_command_words
def show(
    path: Annotated[Path, typer.Argument(help="An official zip, the folder it unpacks to, or a Parquet folder.")],
    complete: Annotated[
        bool, typer.Option("--complete/--sample", help="Whether an official set must have its official size.")
    ] = True,
    max_bytes: Annotated[int, typer.Option(help="What the tables may unpack to, at most.")] = MAX_BYTES,
    max_ratio: Annotated[float, typer.Option(help="The same, as a multiple of the zip's size.")] = MAX_RATIO,
) -> None:
    """Read and check a set, and count what the experiment would use of it."""
    loaded = load_movielens(path, complete=complete, max_bytes=max_bytes, max_ratio=max_ratio)
    columns = ("", Column(justify="right"))
    table = Table(*columns, title=escape(loaded.name), title_justify="left", show_header=False, box=None)
    for fact in _facts(loaded):
        table.add_row(*fact)
    Console(highlight=False).print(table)


def _facts(loaded: MovieLens) -> Iterator[tuple[str, str]]:
    counts, liked = loaded.counts, loaded.positives()
    items = loaded.items.of(liked.item_ids)
    years = items.years[items.years > 0]
    genres = genre(items.genres)
    top = np.sort(liked.counts)[::-1][: max(1, round(0.05 * len(items)))]
    yield "ratings", f"{counts.ratings:,}"
    yield "users", f"{counts.users:,}"
    yield "items", f"{counts.items:,}"
    yield "positives (above 3.5) of users with at least 5", f"{len(liked):,}"
    yield "  their users", f"{len(liked.user_ids):,}"
    yield "  their items", f"{len(items):,}"
    yield "genres", f"{len(genres.categories)}"
    yield "genres an item, mean", f"{genres.matrix.nnz / len(items):.2f}"
    yield "years", f"{years.min()} to {years.max()}" if len(years) else "none"
    yield "items without a year", f"{len(items) - len(years):,}"
    yield "share of positives on the top 5 % of items", f"{top.sum() / len(liked):.1%}"
