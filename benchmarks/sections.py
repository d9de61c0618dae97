"""The sections of the page that compare: each takes results and returns Markdown, or nothing if none were measured."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import PEERS
from benchmarks.plan import AT_MOST, LARGER, ROWS, SMALLER
from benchmarks.results import Results, SetResult
from benchmarks.run import headline_ratios
from benchmarks.statistics import Estimate, ratio_of_means, ratio_of_sets, summarise
from benchmarks.tables import estimate, milliseconds, number, table

__all__ = [
    "TIMES",
    "corners",
    "films",
    "peers",
    "repeats",
    "several",
    "summary",
    "targets",
]

SHORT = ("glop", "highs-ds", "mip-scip", "greedy-at-once", "greedy", "sorting")
"""The peers that the page opens with."""

TIMES = ("ms: median", "mean", "p99", "worst")
WIDEST = 0.15


def summary(results: Results) -> str:
    """The first set of peers in one sentence each."""
    sets = results.of_kind("peers")
    if not sets:
        return ""
    found = sets[0]
    ours = found.seconds["excalibr"]
    lines = [
        f"In short, at n, k, r = {found.name}, where `calibrate` takes {milliseconds(summarise(ours).mean)} ms:",
        "",
    ]
    for method in SHORT:
        if method in found.seconds:
            ratio = ratio_of_means(found.seconds[method], ours, found.strata)
            told = "takes" if ratio.contains(1.0) or ratio.value > 1.0 else "takes only"
            lines.append(
                f"- {PEERS[method].label}: {told} {estimate(ratio)} times as long; {_objective(found, method)}."
            )
    return "\n".join(lines)


def targets(results: Results) -> str:
    """The promised ratios."""
    found = headline_ratios(results)
    rows = []
    for row in ROWS:
        if row.name in found:
            reached = found[row.name]
            sets = {each.name: each for each in results.of_kind("target")}
            ours = 1e3 * summarise(sets[row.name].seconds["excalibr"]).mean
            problems = str(len(sets[row.name].solves))
            told = [
                f"at least {row.promised:,.0f}×",
                f"{estimate(reached)}×",
                f"±{reached.width:.0%}",
                _verdict(reached, row.promised),
            ]
            rows.append([row.name, PEERS[row.peer].label, problems, number(ours), *told])
    rows += _size_row(results)
    if not rows:
        return ""
    head = ["n, k, r", "against", "problems", "ours, ms", "to reach", "reached (95 %)"]
    head += ["interval", "verdict"]
    if not found:
        return table(head, rows)
    widest = max(each.width for each in found.values())
    wide = [name for name, each in found.items() if each.width > WIDEST]
    tail = f"The widest interval is ±{widest:.0%}." + (f" Wider than ±15 %: {'; '.join(wide)}." if wide else "")
    return f"{table(head, rows)}\n\n{tail}"


def _verdict(reached: Estimate, promised: float) -> str:
    if reached.low >= promised:
        return "reached"
    return "missed" if reached.high < promised else "within the noise"


def _size_row(results: Results) -> list[list[str]]:
    sets = {each.name: each for each in results.of_kind("size")}
    if SMALLER not in sets or LARGER not in sets:
        return []
    small, large = sets[SMALLER], sets[LARGER]
    found = ratio_of_sets(large.seconds["excalibr"], small.seconds["excalibr"], large.strata)
    verdict = "reached" if found.high <= AT_MOST else ("missed" if found.low > AT_MOST else "within the noise")
    ours = number(1e3 * summarise(large.seconds["excalibr"]).mean)
    told = [f"at most {AT_MOST:g}×", f"{estimate(found)}×", f"±{found.width:.0%}", verdict]
    return [[LARGER, f"ours at {SMALLER}", str(len(large.solves)), ours, *told]]


def repeats(results: Results) -> str:
    """Whether the headline's ratios come out again."""
    found = headline_ratios(results)
    rows = []
    for each in results.repeats:
        interval = found[each.row]
        inside = sum(interval.contains(value) for value in each.values)
        span = f"{number(min(each.values))} to {number(max(each.values))}"
        rows.append([each.row, estimate(interval), span, f"{inside} of {len(each.values)}"])
    if not rows:
        return ""
    return table(["n, k, r", "this run (95 %)", "repeats, each a fresh process", "inside the interval"], rows)


def peers(results: Results) -> str:
    """All methods on uniform problems."""
    return "\n\n".join(_comparison(each) for each in results.of_kind("peers"))


def films(results: Results) -> str:
    """The same on films."""
    return "\n\n".join(_comparison(each) for each in results.of_kind("films"))


def _comparison(found: SetResult) -> str:
    head = ["method", *TIMES, "times ours (95 %)", "objective"]
    rows = []
    for method, seconds in found.seconds.items():
        ratio = ratio_of_means(seconds, found.seconds["excalibr"], found.strata)
        rows.append([PEERS[method].label, *_times(seconds), estimate(ratio), _objective(found, method)])
    rows.sort(key=lambda row: -float(row[2].replace(",", "")))
    return f"**{found.name}** ({found.origin}; problems: {len(found.solves)})\n\n{table(head, rows)}"


def _times(seconds: list[list[float]]) -> list[str]:
    found = summarise(seconds)
    return [milliseconds(value) for value in (found.median, found.mean, found.p99, found.worst)]


def _objective(found: SetResult, method: str) -> str:
    """Whether a claim holds; for a method that claims nothing, how far below the optimum it is on average."""
    peer = PEERS[method]
    if method == "excalibr":
        return f"optimum, gap ≤ {max(max(solve.gap / solve.scale for solve in found.solves), 1e-16):.0e}"
    if peer.like is None or peer.like not in found.objectives:
        return f"{number(float(np.nanmean(found.shortfalls(method))))} below the optimum by L1"
    apart = np.abs(found.shortfalls(method, peer.like))
    failed, off = int(np.isnan(apart).sum()), float(np.nanmax(apart, initial=0.0))
    what = "the optimum" if peer.like == "excalibr" else PEERS[peer.like].label
    near = f"to {off:.0e}" if off else "exactly"
    told = f"same as {what}, {near}" if off <= peer.within else f"**off {what} by {off:.0e}**"
    return f"{told}; gave up on {failed} of {len(apart)}" if failed else told


def corners(results: Results) -> str:
    """The adversarial problems."""
    rows = []
    for each in results.of_kind("corners"):
        solve = each.solves[0]
        gap = max(solve.gap / solve.scale for solve in each.solves)
        sorts = number(float(np.median([solve.sorts for solve in each.solves])))
        against, objective = "–", "proven by its gap"
        if "highs-ds" in each.seconds:
            ratio = ratio_of_means(each.seconds["highs-ds"], each.seconds["excalibr"], each.strata)
            against, objective = f"{estimate(ratio)}×", _objective(each, "highs-ds")
        engines = ", ".join(sorted({solve.engine for solve in each.solves}))
        sizes = f"{solve.n}, {solve.k}, {solve.r}"
        times = _times(each.seconds["excalibr"])
        rows.append([each.name, sizes, times[0], times[3], sorts, engines, f"{gap:.0e}", against, objective])
    head = [
        "problem",
        "n, k, r",
        "ms: median",
        "worst",
        "sorts",
        "engine",
        "gap",
        "HiGHS takes (95 %)",
        "HiGHS's objective",
    ]
    return table(head, rows) if rows else ""


def several(results: Results) -> str:
    """A frontier, a path, one ranking and KL in units of one solve."""
    chosen = ("path", "frontier", "single", "kl")
    sets = [each for each in [*results.of_kind("peers"), *results.of_kind("films")] if "path" in each.seconds]
    rows = []
    for each in sets:
        ratios = [ratio_of_means(each.seconds[name], each.seconds["excalibr"], each.strata) for name in chosen]
        rows.append([each.name, *(estimate(ratio) for ratio in ratios)])
    head = ["problems", *(PEERS[name].label for name in chosen)]
    return f"In units of one call of `calibrate` on the same problems.\n\n{table(head, rows)}" if rows else ""
