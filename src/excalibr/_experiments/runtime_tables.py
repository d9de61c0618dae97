"""The tables of runtimes: what is measured here beside what the paper reports."""

from __future__ import annotations

from typing import Any

from excalibr._experiments.arms import ARMS
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.runtimes import Runtimes
from excalibr._experiments.table import Table, number, short

__all__ = ["drops_table", "seconds_table", "split_table"]

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


def seconds_table(results: ExperimentResults, times: Runtimes) -> Table:
    names = list(results.study.attributes)
    methods = {
        "reduced": f"ExCalibR, the paper's stack ({times.linear})",
        "greedy": "greedy, compiled",
        "mip-greedy": f"MIP greedy ({times.integer})",
        "excalibr": "ExCalibR, our solver",
    }
    rows = [(label, *(short(times.mean(name, method)) for name in names)) for method, label in methods.items()]
    ratios = (number(times.mean(name, "reduced") / times.mean(name, "excalibr"), 0) for name in names)
    rows.append(("the paper's stack takes … times our solver", *ratios))
    rows += [
        (f"{ARMS.get(method, ARMS['excalibr']).label}, as the paper reports", *(told.get(name, "–") for name in names))
        for method, told in _OF_PAPER["seconds"].items()
    ]
    return Table("runtimes", "Seconds a user", ("method", *names), rows, _timed_note(results, times))


def split_table(results: ExperimentResults, times: Runtimes) -> Table:
    parts = ("program", "decomposition", "seconds")
    rows: list[tuple[str, ...]] = []
    for name in results.study.attributes:
        for program in ("reduced", "full"):
            rows.append((name, program, *(short(times.mean(name, program, what)) for what in parts)))
        if name in _OF_PAPER["split"]:
            rows.append((name, "reduced, as the paper reports", *_OF_PAPER["split"][name], "–"))
    head = ("attribute", "formulation", "linear program", "decomposition", "total")
    title = "Seconds a user of the paper's stack: program and decomposition"
    return Table("runtimes-split", title, head, rows, _timed_note(results, times))


def drops_table(results: ExperimentResults, times: Runtimes) -> Table:
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
