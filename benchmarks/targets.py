"""What a version of the library was to reach against an older one, what it reached, and whether that is certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.comparison import Comparison
from benchmarks.statistics import Estimate, excess, mean_of, median_of, ratio_of_means
from benchmarks.streams import Stream
from benchmarks.tables import estimate, number

__all__ = ["Target", "targets"]

FIRST_ANSWER, IMPORT, FIRST_USE = 0.12, 0.04, 0.05
"""Seconds: above a process that imports numpy, and above the second use."""

REAL_SET, REAL_RATIO, OTHERS_RATIO = "genre 150/100", 0.7, 1.05
SLATES, SLATES_MS = "gamma 150/10/20", 0.25
CURVED, CURVED_MS = "kl 150/100/20", 1.0
AROUND_US, GREEDY_RATIO = 15.0, 1.0
KERNEL_SHARE, TWO_THREADS, PEAK_MB, INSTALLED_MB = 0.8, 1.9, 80.0, 165.0
BEYOND_PLAIN = ("KL", "floors", "two attributes", "pins")


@dataclass(frozen=True)
class Target:
    """A row of the table: both versions as they were measured in one run, and the verdict on the new one."""

    what: str
    old: str
    aim: str
    reached: str
    verdict: str


def targets(found: Comparison) -> Iterator[Target]:
    """The rows for which there are measurements."""
    for row in (_first_answer, _import, _first_uses, _real_set, _slates, _curved, _other_sets, _around, _greedy):
        yield from row(found)
    for row in (_tables, _threads, _memory, _installed):
        yield from row(found)


Rows = Iterator[Target]


def _first_answer(found: Comparison) -> Rows:
    what = "fresh process to the first answer, above a process that imports numpy"
    yield from _start(found, "first answer", what, FIRST_ANSWER, found.empty_starts)


def _import(found: Comparison) -> Rows:
    yield from _start(found, "import excalibr", "`import excalibr`, above `import numpy`", IMPORT, {})


def _start(found: Comparison, which: str, what: str, aim: float, empty: dict[str, list[float]]) -> Rows:
    if not found.starts:
        return
    idle = found.starts["import numpy"]
    old, new = (excess(found.starts[which][side], idle[side]) for side in (found.old, found.new))
    cold = {side: seconds[0] - float(np.median(idle[side])) for side, seconds in empty.items()}
    told = [f"{estimate(each)} s" for each in (old, new)]
    if cold:
        told = [
            f"{text}; {number(cold[side])} s with an empty cache"
            for text, side in zip(told, (found.old, found.new), strict=True)
        ]
    verdict = _at_most(Estimate(new.value, new.low, max(new.high, cold.get(found.new, 0.0))), aim)
    yield Target(what, told[0], f"≤ {aim:g} s", told[1], verdict)


def _first_uses(found: Comparison) -> Rows:
    if not found.uses:
        return

    def worst(side: str) -> tuple[str, Estimate]:
        by_option = {
            option: excess(*np.transpose(of_sides[side]))
            for option, of_sides in found.uses.items()
            if option != "plain"  # which is the row of the first answer
        }
        option = max(by_option, key=lambda name: by_option[name].high)
        return option, by_option[option]

    told = [f"{option}: {estimate(more)} s" for option, more in (worst(found.old), worst(found.new))]
    if found.empty_uses:
        pairs = [of_sides[found.old][0] for option, of_sides in found.empty_uses.items() if option != "plain"]
        cold = [first - second for first, second in pairs]
        told[0] += f"; {number(min(cold))} to {number(max(cold))} s with an empty cache"
    what = "first use of each option in turn, above its second use; the worst option"
    yield Target(what, told[0], f"≤ {FIRST_USE:g} s", told[1], _at_most(worst(found.new)[1], FIRST_USE))


def _real_set(found: Comparison) -> Rows:
    stream = found.stream(REAL_SET)
    if stream:
        ratio = stream.ratio("kernel", found.new, found.old)
        what = f"kernel, {stream.name}, {stream.origin}"
        old = f"{_milliseconds(stream, 'kernel', found.old)} ms"
        yield Target(what, old, f"≤ {REAL_RATIO:g} × old", f"{estimate(ratio)} ×", _at_most(ratio, REAL_RATIO))


def _slates(found: Comparison) -> Rows:
    yield from _absolute(found, SLATES, "kernel", f"kernel, slates of 10, {SLATES}, mean over λ", SLATES_MS)


def _curved(found: Comparison) -> Rows:
    yield from _absolute(found, CURVED, "call", f"KL, the whole call, {CURVED}, targets with tiny shares", CURVED_MS)


def _absolute(found: Comparison, name: str, part: str, what: str, aim: float) -> Rows:
    stream = found.stream(name)
    if stream:
        old, new = (_mean(stream, part, side) for side in (found.old, found.new))
        yield Target(what, f"{estimate(old)} ms", f"≤ {aim:g} ms", f"{estimate(new)} ms", _at_most(new, aim))


def _other_sets(found: Comparison) -> Rows:
    ratios = {
        stream.name: stream.ratio("kernel", found.new, found.old)
        for stream in found.streams
        if stream.name not in (REAL_SET, SLATES, CURVED)
    }
    if ratios:
        worst = max(ratios, key=lambda name: ratios[name].high)
        slower = sum(ratio.high > OTHERS_RATIO for ratio in ratios.values())
        what = f"kernel, every other set ({len(ratios)}); the one with the highest upper end"
        reached = f"{worst}: {estimate(ratios[worst])} ×; above in {slower}"
        yield Target(
            what, "1", f"upper end ≤ {OTHERS_RATIO:g} ×", reached, _verdict(ratios[worst].high <= OTHERS_RATIO)
        )


def _around(found: Comparison) -> Rows:
    stream = found.stream(REAL_SET)
    if stream:
        old, new = (_scaled(excess(stream.call[side], stream.kernel[side]), 1e6) for side in (found.old, found.new))
        what = f"the public call above the kernel, {stream.name}"
        yield Target(
            what, f"{estimate(old)} µs", f"≤ {AROUND_US:g} µs", f"{estimate(new)} µs", _at_most(new, AROUND_US)
        )


def _greedy(found: Comparison) -> Rows:
    sets = [each for each in found.streams if found.old in each.greedy and not each.name.startswith("corner")]
    if not sets:
        return
    old, new = ({each.name: each.against_greedy(side, found.old) for each in sets} for side in (found.old, found.new))
    worst = max(new, key=lambda name: new[name].high)
    ends = f"{number(min(each.value for each in old.values()))} to {number(max(each.value for each in old.values()))} ×"
    reached = f"{number(min(each.value for each in new.values()))} × to {worst}: {estimate(new[worst])} ×"
    what = "exact `calibrate` against the old compiled greedy, sets with k = 100"
    yield Target(what, ends, f"≤ {GREEDY_RATIO:g} ×", reached, _at_most(new[worst], GREEDY_RATIO))


def _tables(found: Comparison) -> Rows:
    shares = {each.option: each.share for each in found.reranked if each.option in BEYOND_PLAIN}
    if not shares:
        return

    def least(side: str) -> tuple[str, Estimate]:
        by_option = {option: median_of(of_sides[side]) for option, of_sides in shares.items()}
        option = min(by_option, key=lambda name: by_option[name].low)
        return option, by_option[option]

    old, new = least(found.old), least(found.new)
    told = [f"{option}: {_percent(share)}" for option, share in (old, new)]
    what = "KL, floors, two attributes, pins through `Reranker`: the kernel's part of the time; the least"
    yield Target(what, told[0], f"≥ {KERNEL_SHARE:.0%}", told[1], _at_least(new[1], KERNEL_SHARE))


def _threads(found: Comparison) -> Rows:
    if "2" in found.threads:
        one, two = found.threads["1"], found.threads["2"]
        old, new = (ratio_of_means([two[side]], [one[side]]) for side in (found.old, found.new))
        what = "two threads against one, `calibrate_batch`"
        yield Target(
            what, f"{estimate(old)} ×", f"≥ {TWO_THREADS:g} ×", f"{estimate(new)} ×", _at_least(new, TWO_THREADS)
        )


def _memory(found: Comparison) -> Rows:
    if found.memory:
        old, new = (median_of(found.memory[side]) for side in (found.old, found.new))
        what = "peak memory of a process that solved one problem"
        yield Target(what, f"{estimate(old)} MB", f"≤ {PEAK_MB:g} MB", f"{estimate(new)} MB", _at_most(new, PEAK_MB))


def _installed(found: Comparison) -> Rows:
    if found.installed:
        old, new = (sum(found.installed[side].values()) for side in (found.old, found.new))
        what = "installed size of the core with what it depends on"
        verdict = _verdict(new <= INSTALLED_MB)
        yield Target(what, f"{number(old)} MB", f"≤ {INSTALLED_MB:g} MB", f"{number(new)} MB", verdict)


def _mean(stream: Stream, part: str, side: str) -> Estimate:
    return _scaled(mean_of(getattr(stream, part)[side], stream.trade_offs), 1e3)


def _milliseconds(stream: Stream, part: str, side: str) -> str:
    return estimate(_mean(stream, part, side))


def _scaled(found: Estimate, by: float) -> Estimate:
    return Estimate(by * found.value, by * found.low, by * found.high)


def _percent(found: Estimate) -> str:
    return f"{found.value:.0%} ({found.low:.0%} to {found.high:.0%})"


def _at_most(found: Estimate, aim: float) -> str:
    return _verdict(found.high <= aim, found.low <= aim)


def _at_least(found: Estimate, aim: float) -> str:
    return _verdict(found.low >= aim, found.high >= aim)


def _verdict(certain: bool, possible: bool | None = None) -> str:
    if certain:
        return "reached"
    return "within the noise" if possible else "**missed**"
