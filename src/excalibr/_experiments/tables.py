"""Every table, as Markdown and CSV: the data, runtimes, NDCG at equal KL, expectation against draw, the claims."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from typing import Any

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.claims import check_claims
from excalibr._experiments.comparison import margins
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, MethodCurve
from excalibr._experiments.plan import SLATE_SETTING
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.runtimes import Runtimes
from excalibr._experiments.store import Store
from excalibr._text import csv_cell, markdown_text

__all__ = ["Table", "tables_of", "write_tables"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts with the name of its files, a title, and what to know when reading it.

    Cells are plain text, which may come from data. ``bold`` is the column to stand out.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    bold: str = ""

    def markdown(self) -> str:
        """As Markdown."""
        bold = [name == self.bold for name in self.head]
        lines = [_line(map(markdown_text, self.head)), _line(["---"] * len(self.head))]
        for row in self.rows:
            cells = zip(map(markdown_text, row), bold, strict=True)
            lines.append(_line(f"**{cell}**" if strong and cell else cell for cell, strong in cells))
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """As CSV; a label that a spreadsheet would take for a formula has an apostrophe before it."""
        text = io.StringIO()
        rows = ([csv_cell(cell) for cell in row] for row in (self.head, *self.rows))
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()


def tables_of(results: ExperimentResults) -> list[Table]:
    """All tables of an experiment."""
    tables = [_data(results), _tuning(results), _equal_kl(results), _draws(results)]
    if results.runtimes is not None:
        tables += [_seconds(results, results.runtimes), _split_seconds(results, results.runtimes)]
        tables += [_drops(results, results.runtimes)]
    return [*tables, _further(results), _lists(results), _claims(results)]


def write_tables(results: ExperimentResults, store: Store) -> list[Table]:
    """Write them into the folder ``tables``."""
    tables = tables_of(results)
    for table in tables:
        title, note = markdown_text(table.title), markdown_text(table.note)
        store.write_text(f"tables/{table.name}.md", f"**{title}**\n\n{table.markdown()}\n{note}\n")
        store.write_text(f"tables/{table.name}.csv", table.csv())
    return tables


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _data(results: ExperimentResults) -> Table:
    rows = [*results.study.facts.items(), ("EASE regularisation, chosen", f"{results.study.regularisation:g}")]
    return Table("data", f"The data: {results.study.name}", ("", ""), rows)


def _tuning(results: ExperimentResults) -> Table:
    rows = [(f"{value:g}", f"{ndcg:.4f}") for value, ndcg in sorted(results.study.tuning.items())]
    return Table("tuning", "EASE, tuned on the validation users", ("regularisation", "NDCG@100"), rows)


def _equal_kl(results: ExperimentResults) -> Table:
    shares = [0.75, 0.5, 0.25, 0.1]
    rows = []
    for curve in results.curves:
        if curve.arm != "relevance":
            levels = np.array(shares) * curve.start["kl_of_expectation"]
            values = (_number(value, 4) for value in curve.at(levels))
            rows.append((*_place(curve), ARMS[curve.arm].label, f"{curve.start['ndcg']:.4f}", *values))
    head = ("attribute", "weights", "n/k", "method", "relevance only", *(f"{share:.0%} of the KL" for share in shares))
    note = (
        "NDCG where the KL of the expectation is down to a share of what relevance only has, between neighbouring "
        "trade-offs; – where no trade-off gets there."
    )
    return Table("equal-kl", "NDCG at equal KL", head, rows, note)


def _draws(results: ExperimentResults) -> Table:
    metrics = [f"{which}_of_{what}" for which in ("kl", "l1") for what in ("expectation", "draw_mean", "draw_worst")]
    rows = [
        (
            *(*_place(curve), ARMS[curve.arm].label, f"{curve.trade_offs[place]:g}"),
            *(f"{curve.means[metric][place]:.4f}" for metric in metrics),
            f"{curve.means['rankings'][place]:.1f}",
        )
        for curve in results.curves
        for place in _few(curve)
    ]
    words = [f"{which}, {what}" for which in ("KL", "L1") for what in ("expectation", "draw", "worst draw")]
    note = "A draw is on average over the lottery; the worst draw is the worst ranking that the lottery holds."
    head = ("attribute", "weights", "n/k", "method", "λ", *words, "rankings")
    return Table("draws", "Of the expectation and of a draw", head, rows, note)


def _few(curve: MethodCurve) -> Iterator[int]:
    """Places of a few trade-offs: the nearest to 0.1, 0.5 and 0.9."""
    near = [int(np.argmin(np.abs(curve.trade_offs - value))) for value in (0.1, 0.5, 0.9)]
    yield from dict.fromkeys(near)


# What the paper reports, on its machine and MovieLens 20M, to be read beside what is measured here.
_OF_PAPER: dict[str, dict[str, Any]] = {
    "seconds": {
        "reduced": {"genre": "0.69", "decade": "0.43", "popularity": "0.39"},
        "greedy": {"genre": "0.51", "decade": "0.50", "popularity": "0.47"},
        "mip-greedy": {"genre": "0.37", "decade": "0.27", "popularity": "0.28"},
    },
    "split": {"genre": ("0.648", "0.05"), "decade": ("0.40", "0.025"), "popularity": ("0.39", "0.01")},
    "drop": {
        "seconds": {"genre": "33.6%", "decade": "35.0%", "popularity": "33.6%"},
        "program": {"genre": "32.5%", "decade": "31.6%", "popularity": "32.5%"},
        "decomposition": {"genre": "43.6%", "decade": "58.5%", "popularity": "43.4%"},
    },
}


def _seconds(results: ExperimentResults, times: Runtimes) -> Table:
    names = list(results.study.attributes)
    methods = {
        "reduced": f"ExCalibR, the paper's stack ({times.linear})",
        "greedy": "greedy, compiled",
        "mip-greedy": f"MIP greedy ({times.integer})",
        "excalibr": "ExCalibR, our solver",
    }
    rows = [(label, *(_short(times.mean(name, method)) for name in names)) for method, label in methods.items()]
    ratios = (_number(times.mean(name, "reduced") / times.mean(name, "excalibr"), 0) for name in names)
    rows.append(("the paper's stack takes … times our solver", *ratios))
    rows += [
        (f"{ARMS.get(method, ARMS['excalibr']).label}, as the paper reports", *(told.get(name, "–") for name in names))
        for method, told in _OF_PAPER["seconds"].items()
    ]
    return Table("runtimes", "Seconds a user", ("method", *names), rows, _timed_note(results, times))


def _split_seconds(results: ExperimentResults, times: Runtimes) -> Table:
    parts = ("program", "decomposition", "seconds")
    rows: list[tuple[str, ...]] = []
    for name in results.study.attributes:
        for program in ("reduced", "full"):
            rows.append((name, program, *(_short(times.mean(name, program, what)) for what in parts)))
        if name in _OF_PAPER["split"]:
            rows.append((name, "reduced, as the paper reports", *_OF_PAPER["split"][name], "–"))
    head = ("attribute", "formulation", "linear program", "decomposition", "total")
    title = "Seconds a user of the paper's stack: program and decomposition"
    return Table("runtimes-split", title, head, rows, _timed_note(results, times))


def _drops(results: ExperimentResults, times: Runtimes) -> Table:
    names = list(results.study.attributes)
    rows: list[tuple[str, ...]] = []
    for what, label in (("seconds", "total"), ("program", "linear program"), ("decomposition", "decomposition")):
        told = _OF_PAPER["drop"][what]
        rows.append((label, *(f"{times.drop(name, what):.1%}" for name in names)))
        rows.append((f"{label}, as the paper reports", *(told.get(name, "–") for name in names)))
    title = "From the full to the reduced formulation: drop in time"
    return Table("runtimes-drop", title, ("", *names), rows, _timed_note(results, times))


def _timed_note(results: ExperimentResults, times: Runtimes) -> str:
    users = len({call.user for call in times.calls})
    return (
        f"Mean over {users} users and {len(results.plan.trade_offs)} trade-offs, n/k = {times.setting}, "
        f"{results.plan.weightings[0]} weights, one process. The largest difference between the objectives of the "
        f"paper's stack and our solver was {times.disagreement():.1e}."
    )


_FURTHER = (
    ("excalibr-kl", "excalibr", KL),
    ("single-kl", "greedy", DRAW_KL),
    ("single-kl", "excalibr", DRAW_KL),
    ("single", "greedy", DRAW_L1),
    ("single", "excalibr", DRAW_L1),
)
_MEASURED = {KL: "KL of the expectation", DRAW_KL: "KL of a draw", DRAW_L1: "L1 of a draw"}


def _further(results: ExperimentResults) -> Table:
    """What the methods that the paper does not have add to those that it has."""
    rows = []
    for (first, second, across), setting in product(_FURTHER, results.curves.settings):
        for attribute in results.curves.attributes:
            pair = [results.curves.get(attribute, "log", setting, arm) for arm in (first, second)]
            if pair[0] is not None and pair[1] is not None:
                found = margins(pair[0], pair[1], across=across)
                known = found.values[~np.isnan(found.values)]
                counts = (str(found.above), str(found.below), str(len(known)))
                what = f"{ARMS[first].label} less {ARMS[second].label}"
                mean = _number(float(known.mean()), 4) if len(known) else "–"
                rows.append((what, _MEASURED[across], str(setting), attribute, mean, *counts))
    head = ("NDCG of", "at equal", "n/k", "attribute", "mean", "clearly above", "clearly below", "levels")
    note = "Log weights, on the users that both ran on; clearly is by more than twice the standard error."
    return Table("further", "What the further methods add", head, rows, note)


_LISTS = (
    (DRAW_L1, ("greedy", "excalibr", "single")),
    (DRAW_KL, ("greedy", "excalibr", "single-kl")),
)


def _lists(results: ExperimentResults) -> Table:
    """What one list of few slots can do: its least deviation with so much of the NDCG, and how far from the best."""
    shares = (0.99, 0.97, 0.95, 0.9)
    rows = []
    for attribute, (measure, arms) in product(results.curves.attributes, _LISTS):
        for arm in arms:
            curve = results.curves.get(attribute, "log", SLATE_SETTING, arm)
            if curve is not None:
                least = (f"{curve.least(measure, share) * curve.start[measure]:.4f}" for share in shares)
                gap = float(curve.plain_means["gap"].mean())
                numbers = (f"{curve.start[measure]:.4f}", *least, "–" if isnan(gap) else f"{gap:.1e}")
                rows.append((attribute, _MEASURED[measure], ARMS[arm].label, *numbers))
    head = ("attribute", "measured", "method", "relevance only", *(f"{share:.0%} of the NDCG" for share in shares))
    note = (
        f"n/k = {SLATE_SETTING}, log weights: the least mean deviation of a list (for the lottery, of a draw) with at "
        "least so much of relevance only's NDCG, between neighbouring trade-offs. The gap is how far from the best "
        "possible objective the policies can be at most, as proven, on average over users and trade-offs."
    )
    return Table("lists", "One list: the least deviation at equal NDCG", (*head, "proven gap"), rows, note)


def _claims(results: ExperimentResults) -> Table:
    rows = [(claim.said, claim.verdict, claim.figures, claim.judged) for claim in check_claims(results)]
    return Table("claims", "What the paper claims", ("claim", "here", "figures", "judged by"), rows, bold="here")


def _place(curve: MethodCurve) -> tuple[str, str, str]:
    return curve.attribute, curve.weighting, str(curve.setting)


def _number(value: float, digits: int) -> str:
    return "–" if isnan(value) else f"{value:.{digits}f}"


def _short(value: float) -> str:
    return "–" if isnan(value) else f"{value:.3f}" if value >= 0.01 else f"{value:.5f}"
