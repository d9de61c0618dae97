"""``excalibr compare``: the results of two experiments side by side, paired by user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from excalibr._experiments.curves import DEVIATIONS, KL, RELEVANCE
from excalibr._experiments.folders import FolderComparison, compare_folders
from excalibr._grid import Grid
from excalibr._text import markdown_text
from excalibr._writing import atomic_write
from excalibr.errors import InputError

_WORDS = ("attribute", "weights", "n/k", "method", "users", "new is")


def compare(
    old: Annotated[Path, typer.Argument(help="The --out folder of an experiment.")],
    new: Annotated[Path, typer.Argument(help="The --out folder of another.")],
    metric: Annotated[str, typer.Option(help=f"What is compared: {' or '.join(RELEVANCE)}.")] = "ndcg",
    across: Annotated[str, typer.Option(help=f"At equal {', '.join(DEVIATIONS[:-1])} or {DEVIATIONS[-1]}.")] = KL,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file for it as well, that ends in .md or .csv.")
    ] = None,
) -> None:
    """Show two result folders of `excalibr experiment` side by side.

    What differs in how they were made, what only one of them has, and by how much each method is better or worse at
    equal deviation, on the users that both have, with what chance can do.
    """
    if output is not None and output.suffix not in (".md", ".csv"):
        raise InputError("output", f"is {output}", "end in .md or .csv")
    found = compare_folders(old, new, metric=metric, across=across)
    typer.echo(_text(found))
    if output is not None:
        with atomic_write(output) as path:
            path.write_text(found.table.csv() if output.suffix == ".csv" else _markdown(found), encoding="utf-8")


def _text(found: FolderComparison) -> str:
    table = found.table
    grid = Grid(table.head, list(table.rows), _WORDS).text()
    return "\n".join([table.title, *_differences(found), "", grid, "", table.note])


def _markdown(found: FolderComparison) -> str:
    table = found.table
    differences = [f"- {markdown_text(line)}" for line in _differences(found)]
    return "\n".join([f"# {markdown_text(table.title)}", "", *differences, "", table.markdown(), table.note, ""])


def _differences(found: FolderComparison) -> list[str]:
    same = () if found.settings else ("made with the same settings",)
    return [*same, *found.settings, *found.only]
