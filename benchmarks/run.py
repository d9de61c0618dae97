"""A whole run, from the plan to the results; and the headline again, in fresh processes, to see whether it holds."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from benchmarks import growth
from benchmarks.machine import machine, versions
from benchmarks.measuring import measure
from benchmarks.plan import ROWS, Scale, headline, orders
from benchmarks.results import Repeats, Results
from benchmarks.statistics import Estimate, ratio_of_rounds

__all__ = ["headline_ratios", "only_headline", "repeat", "run"]

Progress = Callable[[str], None]

ROOT = Path(__file__).parent.parent


def run(scale: Scale, data: Path | None, progress: Progress) -> Results:
    """Measure everything."""
    started = perf_counter()
    progress("making the problems")
    sets = measure(orders(scale, data), max(scale.rounds, scale.headline_rounds), progress)
    progress("growth with n, k, r and λ")
    points = growth.growth(scale)
    progress("starts, threads, memory")
    return Results(
        mode=scale.mode,
        machine=machine(),
        versions=versions(),
        rounds=scale.rounds,
        sets=sets,
        growth=points,
        starts=growth.starts(scale),
        throughput=growth.throughput(scale),
        memory=growth.memory(scale),
        minutes=(perf_counter() - started) / 60.0,
    )


def only_headline(scale: Scale, progress: Progress, row: str | None = None) -> Results:
    """Measure the promised rows against the paper's stack alone, or one of them."""
    chosen = [order for order in headline(replace(scale, highs=0)) if row in (None, order.problems.name)]
    sets = measure(chosen, scale.headline_rounds, progress)
    return Results(scale.mode, machine(), versions(), scale.headline_rounds, sets=sets)


def headline_ratios(results: Results) -> dict[str, Estimate]:
    """By row, how many times as long as ours the promised peer takes."""
    sets = {each.name: each for each in results.of_kind("asked")}
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
    count = max(len(each.solves) for each in results.of_kind("asked"))
    for number in range(times):
        progress(f"repeat {number + 1} of {times}")
        for name, estimate in headline_ratios(_in_a_process(count, rounds, row)).items():
            values.setdefault(name, []).append(estimate.value)
    found = {each.row: each for each in results.repeats} | {name: Repeats(name, values[name]) for name in values}
    return replace(results, repeats=[found[each.name] for each in ROWS if each.name in found])


def _in_a_process(problems: int, rounds: int, row: str | None) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headline.json"
        command = [sys.executable, "-m", "benchmarks", "headline", "--problems", str(problems)]
        command += ["--rounds", str(rounds), "--json", str(path), *(["--row", row] if row else [])]
        subprocess.run(command, check=True, cwd=ROOT)
        return Results.load(path)
