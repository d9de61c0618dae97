"""The sections about ourselves alone: growth, the kernel and its slowest solves, starts, many users.

As in :mod:`benchmarks.sections`, each takes the results and returns Markdown, or nothing.
"""

from __future__ import annotations

import numpy as np

from benchmarks.results import Results
from benchmarks.sections import TIMES
from benchmarks.slowest import CAUSES, slowest
from benchmarks.statistics import Estimate, exponent, ratio_of_means, summarise
from benchmarks.tables import estimate, milliseconds, number, table

__all__ = ["growth", "kernel", "many", "slow", "starts"]

AIMS = (
    ("genre, n=150", 0.5, 1.5),
    ("decade, n=150", 0.15, None),
    ("popularity, n=150", 0.04, None),
    ("genre, n=1000", 4.0, None),
)
"""Milliseconds of the kernel alone: median, and p99 where one is asked."""

AIM_AROUND = 0.1
"""Milliseconds that the public call may take beyond the kernel."""


def growth(results: Results) -> str:
    """Exponents along each axis, and the points."""
    others = {"n": "k=50, r=20", "k": "n=1000, r=20", "r": "n=500, k=100", "λ": "n=150, k=100, r=20"}
    fits, parts = [], []
    for axis, fixed in others.items():
        points = [point for point in results.growth if point.axis == axis]
        if not points:
            continue
        if axis != "λ":
            values = [point.value for point in points]
            time = exponent(values, [point.seconds for point in points])
            sorts = exponent(values, [np.maximum(point.sorts, 1) for point in points])
            span = f"{values[0]:,.0f} to {values[-1]:,.0f}"
            fits.append([axis, span, fixed, _power(axis, time), _power(axis, sorts)])
        times = [milliseconds(float(np.mean(point.seconds))) for point in points]
        sorted_ = [number(float(np.mean(point.sorts))) for point in points]
        head = [f"{axis} ({fixed})", *(f"{point.value:g}" for point in points)]
        parts.append(table(head, [["ms, mean", *times], ["sorts, mean", *sorted_]]))
    if not parts:
        return ""
    fitted = table(["along", "from", "with", "time grows as (95 %)", "sorts grow as (95 %)"], fits)
    return "\n\n".join([fitted, *parts])


def _power(axis: str, found: Estimate) -> str:
    return f"{axis}^{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def kernel(results: Results) -> str:
    """The aims of the kernel, and what the public call adds."""
    aims = {name: (median, p99) for name, median, p99 in AIMS}
    rows = []
    for each in results.of_kind("kernel"):
        inside = summarise(each.seconds["kernel"])
        around = 1e3 * float(np.median(np.subtract(each.seconds["excalibr"], each.seconds["kernel"])))
        median, p99 = aims.get(each.name, (None, None))
        told = [milliseconds(value) for value in (inside.median, inside.mean, inside.p99, inside.worst)]
        verdict = (
            _within(1e3 * inside.median, median),
            _within(1e3 * inside.p99, p99),
            _within(around, AIM_AROUND),
        )
        sorts = number(float(np.median([solve.sorts for solve in each.solves])))
        rows.append([each.name, str(len(each.solves)), sorts, *told, *verdict])
    if not rows:
        return ""
    head = ["problems", "count", "sorts", *TIMES, "median, aim", "p99, aim", "public call adds, aim"]
    return f"Where from: {results.of_kind('kernel')[0].origin}. k = 100.\n\n{table(head, rows)}"


def _within(value: float, aim: float | None) -> str:
    if aim is None:
        return "–"
    return f"{number(value)} ≤ {aim:g}: {'yes' if value <= aim else '**no**'}"


def slow(results: Results) -> str:
    """The slowest solves of each set of films, and why."""
    rows, causes = [], list[str]()
    for each in results.of_kind("kernel"):
        for one in slowest(each):
            solve = one.solve
            causes.append(one.cause)
            sizes = f"{solve.n}, {solve.k}, {solve.r}"
            numbers = [number(one.milliseconds), sizes, f"{solve.trade_off:g}", str(solve.sorts), solve.engine]
            rows.append([each.name, *numbers, one.why])
    if not rows:
        return ""
    counted = ", ".join(f"{causes.count(cause)} {cause}" for cause in CAUSES if cause in causes)
    told = f"Of the {len(rows)} slowest solves of the kernel, by cause: {counted}."
    return f"{told}\n\n{table(['problems', 'ms', 'n, k, r', 'λ', 'sorts', 'engine', 'why'], rows)}"


def starts(results: Results) -> str:
    """Fresh processes."""
    rows = [
        [each.what, f"{np.median(each.seconds):.2f}", f"{min(each.seconds):.2f} to {max(each.seconds):.2f}"]
        for each in results.starts
    ]
    return table(["a fresh process until", "seconds, median", "of all"], rows) if rows else ""


def many(results: Results) -> str:
    """Threads and memory of a batch."""
    if not results.throughput:
        return ""
    single = results.throughput[0].rates
    by_threads = [
        [str(each.threads), f"{np.median(each.rates):,.0f}", f"{estimate(ratio_of_means([each.rates], [single]))}×"]
        for each in results.throughput
    ]
    rates = table(["threads", "users a second, median", "times one thread (95 %, over rounds)"], by_threads)
    by_users = [
        [f"{each.users:,}", f"{each.peak:,.0f}", f"{1024 * (each.peak - each.idle) / each.users:,.1f}"]
        for each in results.memory
    ]
    needed = table(["users at once", "peak MB of the process", "kB a user beyond one user's"], by_users)
    users = f"{results.throughput[0].users:,} film-like users, n = 150, k = 100, r = 18, through `calibrate_batch`."
    return "\n\n".join([users, rates, needed] if by_users else [users, rates])
