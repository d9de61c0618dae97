"""``make bench``: the whole public call beside the paper's stack and HiGHS, on the same problems, in one run.

``python -m benchmarks.solver [--problems 30] [--rows 1,2,3]`` prints a Markdown table. Times of a machine do not carry
over; ratios nearly do. GLOP runs in a process of its own, and its time is taken in there: building and solving the
program, without the decomposition that the paper's method needs after it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

import excalibr
from excalibr import Problem
from excalibr._types import Floats
from excalibr.paper import solve_reduced

TRADE_OFFS = (0.1, 0.5, 0.9)
REPEATS = 5
SEED = 20


@dataclass(frozen=True)
class Row:
    """A size, the peer that it is measured against (or none), and the ratio that is promised."""

    n: int
    k: int
    r: int
    per_item: int
    peer: str | None
    promised: float | None

    @property
    def name(self) -> str:
        """The size as the tables write it."""
        return f"{self.n}, {self.k}, {self.r}"


ROWS = (
    Row(150, 100, 20, 2, "glop", 400),
    Row(150, 100, 10, 1, "glop", 800),
    Row(150, 100, 2, 1, "glop", 2000),
    Row(150, 10, 20, 2, "glop", 50),
    Row(1000, 100, 20, 2, "highs", 1000),
    Row(500, 100, 100, 2, "highs", 60),
    Row(5000, 100, 20, 2, None, None),
)


@dataclass(frozen=True)
class Instance:
    """One problem as a user has it, before anything is checked."""

    scores: Floats
    categories: Floats
    target: Floats
    k: int
    trade_off: float

    def problem(self) -> Problem:
        """The checked problem, for the peers."""
        return Problem.of(self.scores, self.categories, self.target, k=self.k, trade_off=self.trade_off)


def main() -> None:
    options = _options()
    warm_up()
    print("| n, k, r | ours, ms: mean (median, worst) | peer, ms: mean | ratio of means (95 %) | promised |")
    print("|---|---|---|---|---|", flush=True)
    for row in options.rows:
        print(_line(row, instances(row, options.problems)), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.solver", description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=30, help="problems a row, over the trade-offs 0.1, 0.5 and 0.9")
    parser.add_argument("--rows", type=_rows, default=ROWS, help="rows of the table by number, as 1,2,3")
    return parser.parse_args()


def _rows(text: str) -> tuple[Row, ...]:
    return tuple(ROWS[int(number) - 1] for number in text.split(","))


def warm_up() -> None:
    """Compile the kernel, and start GLOP's process, before anything is timed."""
    for row in (ROWS[0], ROWS[2]):
        call_ours(instances(row, 1)[0])
    solve_reduced(instances(Row(5, 3, 2, 1, None, None), 1)[0].problem(), solver="glop")


def instances(row: Row, count: int) -> list[Instance]:
    """Uniform scores, ``per_item`` categories an item, a Dirichlet target; a third of them for each trade-off."""
    rng = np.random.default_rng(SEED)
    made = []
    for number in range(count):
        categories = np.zeros((row.n, row.r))
        for item in categories:
            item[rng.choice(row.r, row.per_item, replace=False)] = 1.0 / row.per_item
        target = rng.dirichlet(np.ones(row.r))
        made.append(Instance(rng.random(row.n), categories, target, row.k, TRADE_OFFS[number % len(TRADE_OFFS)]))
    return made


def _line(row: Row, problems: list[Instance]) -> str:
    ours = np.array([min(call_ours(each) for _ in range(REPEATS)) for each in problems])
    head = f"| {row.name} | {ours.mean():.2f} ({np.median(ours):.2f}, {ours.max():.2f}) "
    if row.peer is None:
        return head + "| – | – | – |"
    theirs = np.array([PEERS[row.peer](each) for each in problems])
    low, high = _interval(theirs, ours)
    ratio = theirs.mean() / ours.mean()
    return (
        head + f"| {theirs.mean():.0f} ({row.peer}) | {ratio:,.0f} ({low:,.0f} to {high:,.0f}) | {row.promised:,.0f} |"
    )


def call_ours(instance: Instance) -> float:
    """Milliseconds of the whole public call: checks, solve, rankings, certificate."""
    started = perf_counter()
    policy = excalibr.calibrate(
        instance.scores, instance.categories, instance.target, k=instance.k, trade_off=instance.trade_off
    )
    took = perf_counter() - started
    assert policy.gap <= 1e-9
    return 1e3 * took


def _call_glop(instance: Instance) -> float:
    solution = solve_reduced(instance.problem(), solver="glop")
    _same_optimum(instance, solution.objective, 1e-5)
    return 1e3 * (solution.seconds_building + solution.seconds_solving)


def _call_highs(instance: Instance) -> float:
    solution = solve_reduced(instance.problem())
    _same_optimum(instance, solution.objective, 1e-6)
    return 1e3 * (solution.seconds_building + solution.seconds_solving)


PEERS: dict[str, Callable[[Instance], float]] = {"glop": _call_glop, "highs": _call_highs}


def _same_optimum(instance: Instance, objective: float, within: float) -> None:
    """A peer counts only if it solved the same problem."""
    policy = excalibr.calibrate(
        instance.scores, instance.categories, instance.target, k=instance.k, trade_off=instance.trade_off
    )
    if abs(policy.objective - objective) > within:
        warnings.warn(f"the peer's objective is off by {objective - policy.objective:.2g}", stacklevel=2)


def _interval(theirs: Floats, ours: Floats) -> tuple[float, float]:
    """A bootstrap interval of the ratio of means, over problems."""
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(ours), (2000, len(ours)))
    ratios = theirs[picks].mean(axis=1) / ours[picks].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    main()
