"""The page of the documentation: what was found, written by the command and by nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from excalibr._experiments.figures import figures_of, write_figures
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.sentences import READING, WHY, caption, expectation_and_draw, introduction, verdicts
from excalibr._experiments.table import Table
from excalibr._experiments.tables import tables_of
from excalibr._text import markdown_text
from excalibr._writing import beside

__all__ = ["PAGE_FIGURES", "write_page"]

PAGE_FIGURES = (
    *("figure-1", "figure-2", "figure-3", "figure-4", "figure-n200", "figure-lotteries", "figure-differences"),
    *("figure-list", "figure-list-differences"),
)
"""Those that the page shows; the report has all."""

_TAKES_LONG = "takes minutes, and data that are large enough; tests/experiments runs small ones"
"""Why the tests of the documentation leave its commands out, in comments above them."""

_OWN_DATA = f"""\
## On data of your own

The same command takes a table of ratings and a table of items, [CSV, Parquet or Arrow](tables.md#the-command); every
category column becomes an attribute, and popularity comes with them:

<!-- not run: {_TAKES_LONG} -->
```console
$ excalibr experiment --ratings plays.parquet --items catalogue.csv --category-column genre \\
    --user-column listener --item-column track --rating-column stars --above 3.5 --out results
```

| option | what it says |
|---|---|
| `--ratings`, `--items` | the two tables |
| `--category-column` | a column of the items table; again for each further one |
| `--separator` | what stands between several labels; otherwise [as they show](tables.md#separators); or `none` |
| `--user-column`, `--item-column` | how your columns are called, if not [as usual](tables.md#column-names) |
| `--items-item-column` | the item's column in the items table, where it differs |
| `--rating-column` | the same (`rating`); an empty one takes every row for a positive |
| `--above` | a rating above 3.5 is a positive, and any count in a column such as `plays` |
| `--minimum` | users with fewer than 5 positives are left out |
| `--split time`, `--timestamp-column` | hold out the latest fifth of a user's positives instead of a random one |
| `--min-item-count` | leave out items with fewer positives, where EASE would not fit in memory |
| `--scores` | candidates with scores of a model of your own; the ratings are then what the model knew |
| `--held-out` | with it, what the users are judged by |
| `--settings` | candidates/slots, again for each: `--settings 50/10` for a small catalogue |
| `--attributes`, `--weightings`, `--methods`, `--trade-offs` | less of everything, for a first look |
| `--users`, `--sample`, `--mip-users`, `--timed-users` | how many users, in all and for the slow methods |
| `--time 15m` | choose items, users and trade-offs to fit into a time; kept, and printed as options that repeat it |
| `--metrics` | what the table of further measures has, such as `recall`, `coverage`, `gini` or `l1_of_7_visits` |

Before anything is fitted, everything that can be checked is, and what EASE needs is said. Rows without a user, an item
or a rating, rows of unknown items and all but the latest row of a user and an item are left out and counted; everything
that is wrong with the tables is said at once. Without
`--trade-offs` they are spread along the users' own curves, whatever the scale of the scores.

Two such folders side by side, paired by user: `excalibr compare results-before results-after`.

Interrupted, it goes on where it stopped when it is started again with the same arguments. In the folder are then
`report.html`, which stands alone, `results.parquet` with a row for each user, method and trade-off,
`summary.parquet` with means and standard errors, and the folders `figures` and `tables`.
"""


def write_page(results: ExperimentResults, folder: Path, command: str) -> Path:
    """Write ``experiment.md`` and its figures, in ``experiment/`` beside it, into a folder."""
    write_figures(results.curves, folder / "experiment", only=PAGE_FIGURES, svg=False)  # the page shows PNGs
    with beside(folder / "experiment.md") as path:
        path.write_text("\n".join(_lines(results, tables_of(results), command)), encoding="utf-8")
    return folder / "experiment.md"


def _lines(results: ExperimentResults, tables: Sequence[Table], command: str) -> Iterator[str]:
    by_name = {table.name: table for table in tables}
    yield from (
        f"# The paper's experiment on {markdown_text(results.study.name)}",
        "",
        "This page is written by the command itself:",
        "",
    )
    yield from (f"<!-- not run: {_TAKES_LONG} -->", *_fenced(f"$ {command}"), "")
    for paragraph in introduction(results):
        yield from (markdown_text(paragraph), "")
    yield from ("## Where the exact lotteries win, and where they are level", "")
    yield from (*(f"- {markdown_text(line)}" for line in verdicts(results)), "", WHY, "")
    yield from ("## What the paper claims, and what is found here", "")
    yield from _table(by_name["claims"])
    yield from ("## Figures", "", READING, "")
    for figure in figures_of(results.curves):
        if figure.name in PAGE_FIGURES:
            words = markdown_text(caption(figure, results))
            yield from (f"![{markdown_text(figure.title)}](experiment/{figure.name}.png)", "", words, "")
    yield from ("## NDCG at equal KL", "")
    yield from _table(_only(by_name["equal-kl"], "log", (str(PAPER_SETTING), str(SLATE_SETTING))))
    for name in ("differences", "aims", "lists", "list-bound", "measures"):
        if by_name[name].rows:
            yield from (f"## {by_name[name].title}", "")
            yield from _table(by_name[name])
    yield from ("## How far expectation and draw are from each other", "")
    yield from (*(f"- {markdown_text(line)}" for line in expectation_and_draw(results)), "")
    yield from _table(_only(by_name["draws"], "log", (str(PAPER_SETTING), str(SLATE_SETTING)), "ExCalibR"))
    if "runtimes" in by_name:
        yield from ("## Runtimes", "")
        for name in ("runtimes", "runtimes-split", "runtimes-drop"):
            yield from (f"**{by_name[name].title}**", "")
            yield from _table(by_name[name], note=name == "runtimes")
    yield from ("## The data", "")
    yield from (*_table(by_name["data"]), *_table(by_name["tuning"]))
    yield _OWN_DATA


def _table(table: Table, *, note: bool = True) -> Iterator[str]:
    yield table.markdown()
    if table.note and note:
        yield from (markdown_text(table.note), "")


def _fenced(command: str) -> tuple[str, str, str]:
    """A block of console text, between more backticks than stand together in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence}console", " ".join(command.split()), fence


def _only(table: Table, weighting: str, settings: Sequence[str], method: str = "") -> Table:
    """Some of a table's rows: those of a weighting, of settings, and of methods whose name starts so."""
    rows = [row for row in table.rows if row[1] == weighting and row[2] in settings and row[3].startswith(method)]
    return replace(table, rows=rows)
