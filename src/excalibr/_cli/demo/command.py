"""The command itself: its options, and what it does in order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from excalibr._cli.demo import figure, tables
from excalibr._cli.demo.comparison import compare
from excalibr.datasets import make_catalogue

__all__ = ["demo"]


def demo(
    user: Annotated[str, typer.Option(help="Whose slate to re-rank; a wrong name lists the right ones.")] = "Ada",
    seed: Annotated[int, typer.Option(help="Makes the catalogue, its users and the draw.")] = 7,
    k: Annotated[int, typer.Option("-k", help="Number of slots.")] = 10,
    trade_off: Annotated[float, typer.Option(help="0 is relevance only, 1 is calibration only.")] = 0.5,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("excalibr-demo.png"),
) -> None:
    """Re-rank a small invented catalogue for one user and show what changed."""
    comparison = compare(make_catalogue(seed), user, k=k, trade_off=trade_off)
    console = Console(highlight=False)
    tables.show(comparison, console)
    figure.write(comparison, out)
    console.print(f"The same as a picture: [bold]{escape(str(out))}[/]", soft_wrap=True)
