"""A whole run, from the plan to the results; and the headline again, to see whether it holds.

A round of the headline is a process of its own, in a run as in a repeat, so that an interval over rounds holds all that
differs between repeats: where a process finds its memory, and what the machine does at that hour.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks import growth
from benchmarks.machine import machine, versions
from benchmarks.measuring import measure
from benchmarks.plan import ROWS, Scale, headline, others
from benchmarks.results import Repeats, Results, SetResult
from benchmarks.statistics import Estimate, ratio_of_rounds

__all__ = ["headline_ratios", "only_headline", "renew_headline", "repeat", "run"]

Progress = Callable[[str], None]
Times = dict[str, list[list[float]]]

ROOT = Path(__file__).parent.parent


def run(scale: Scale, data: Path | None, progress: Progress) -> Results:
    """Measure everything: half of the headline's rounds before all else, half after it."""
    started = perf_counter()
    before = scale.headline_rounds // 2
    rows = [_round(scale.headline, progress) for _ in range(before)]
    progress("making the problems")
    sets = measure(others(scale, data), scale.rounds, progress)
    rows += [_round(scale.headline, progress) for _ in range(scale.headline_rounds - before)]
    progress("growth with n, k, r and λ")
    points = growth.growth(scale)
    progress("starts, threads, memory")
    return Results(
        mode=scale.mode,
        machine=machine(),
        versions=versions(),
        rounds=scale.rounds,
        sets=[*_joined(rows), *sets],
        growth=points,
        starts=growth.starts(scale),
        throughput=growth.throughput(scale),
        memory=growth.memory(scale),
        minutes=(perf_counter() - started) / 60.0,
    )


def renew_headline(results: Results, rounds: int, progress: Progress) -> Results:
    """The results with the rows against the paper's stack measured anew, on the same problems."""
    count = max(len(each.solves) for each in results.of_kind("target"))
    anew = {each.name: each for each in _joined([_round(count, progress) for _ in range(rounds)])}
    sets = [anew.get(each.name, each) if each.kind == "target" else each for each in results.sets]
    return replace(results, sets=sets, renewed=True)


def only_headline(scale: Scale, progress: Progress, row: str | None = None) -> Results:
    """Measure the promised rows against the paper's stack alone, or one of them, in this process."""
    chosen = [order for order in headline(scale) if row in (None, order.problems.name)]
    sets = measure(chosen, scale.headline_rounds, progress)
    return Results(scale.mode, machine(), versions(), scale.headline_rounds, sets=sets)


def headline_ratios(results: Results) -> dict[str, Estimate]:
    """By row, how many times as long as ours the promised peer takes."""
    sets = {each.name: each for each in results.of_kind("target")}
    return {
        row.name: ratio_of_rounds(found.seconds[row.peer], found.seconds["excalibr"], found.strata)
        for row in ROWS
        if (found := sets.get(row.name)) is not None and row.peer in found.seconds
    }


def repeat(results: Results, times: int, rounds: int, progress: Progress, row: str | None = None) -> Results:
    """The results with the ratios of so many repeats, each a process of its own, on the same problems.

    With a row only that one is measured, and the others keep the repeats that they have.
    """
    values: dict[str, list[float]] = {}
    count = max(len(each.solves) for each in results.of_kind("target"))
    for number in range(times):
        progress(f"repeat {number + 1} of {times}")
        for name, estimate in headline_ratios(_in_a_process(count, rounds, row)).items():
            values.setdefault(name, []).append(estimate.value)
    found = {each.row: each for each in results.repeats} | {name: Repeats(name, values[name]) for name in values}
    return replace(results, repeats=[found[each.name] for each in ROWS if each.name in found])


def _round(problems: int, progress: Progress) -> Results:
    progress("a round of the headline, in a process of its own")
    return _in_a_process(problems, 1, None)


def _joined(rounds: list[Results]) -> list[SetResult]:
    """The sets of several runs as one, with the rounds of all."""
    return [
        replace(same[-1], seconds=_side_by_side([each.seconds for each in same]))
        for same in zip(*(each.sets for each in rounds), strict=True)
    ]


def _side_by_side(tables: list[Times]) -> Times:
    """Times of the same methods and problems, round after round."""
    return {method: np.hstack([table[method] for table in tables]).tolist() for method in tables[0]}


def _in_a_process(problems: int, rounds: int, row: str | None) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headline.json"
        command = [sys.executable, "-m", "benchmarks", "headline", "--problems", str(problems)]
        command += ["--rounds", str(rounds), "--json", str(path), *(["--row", row] if row else [])]
        subprocess.run(command, check=True, cwd=ROOT)
        return Results.load(path)
