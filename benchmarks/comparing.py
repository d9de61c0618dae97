"""What got slower, or faster, between two runs by more than their own noise.

Both runs have the same problems, so each method is compared with itself, problem by problem, in units of what the
machine itself changed by: the peers that are not ours, which take as long as they did on the same machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.results import Results, SetResult
from benchmarks.statistics import Estimate, change_of_means

__all__ = ["Change", "changes", "drift", "report"]

OURS = ("excalibr", "kernel", "path", "frontier", "kl", "single", "greedy", "greedy-simple", "top-k")

FEWEST = 5
"""Problems that a set must have for a change to be told from noise."""


@dataclass(frozen=True)
class Change:
    """One method on one set of problems: mean milliseconds before and after, and their ratio beyond the drift."""

    where: str
    old: float
    new: float
    times: Estimate

    @property
    def is_real(self) -> bool:
        """Whether the two runs' own intervals, each √2 times narrower than the ratio's, would not overlap."""
        found = self.times
        low, high = (found.value * (end / found.value) ** np.sqrt(2.0) for end in (found.low, found.high))
        return not low <= 1.0 <= high


def changes(old: Results, new: Results) -> list[Change]:
    """Every method of ours that both runs measured, the most slowed first."""
    machine = drift(old, new)
    compared = [
        Change(f"{method}, {after.kind} {after.name}", *_means(before, after, method), _over(ratio, machine))
        for before, after in _pairs(old, new)
        for method, ratio in _ratios(before, after, ours=True)
    ]
    return sorted(compared, key=lambda change: -change.times.value)


def drift(old: Results, new: Results) -> float:
    """The median change of the methods that are not ours; 1 where none was measured in both runs."""
    found = [ratio.value for pair in _pairs(old, new) for _, ratio in _ratios(*pair, ours=False)]
    return float(np.median(found)) if found else 1.0


def report(old: Results, new: Results) -> str:
    """The changes in words."""
    if old.protocol != new.protocol:
        return f"Nothing compares: the old run measured {old.protocol}, the new one {new.protocol}."
    compared = changes(old, new)
    real = [change for change in compared if change.is_real]
    lines = [f"Peers took {drift(old, new):.2f} times as long as before; ratios below are beyond that."]
    if old.machine != new.machine:
        lines.insert(0, "The two runs are from different machines; only ratios to the peers compare.")
    for change in real:
        word, times = "slower" if change.times.value > 1.0 else "faster", change.times
        interval = f"{times.value:.2f} times ({times.low:.2f} to {times.high:.2f})"
        lines.append(f"{word}: {change.where}: {change.old:.3g} → {change.new:.3g} ms, {interval}")
    slower = sum(change.times.value > 1.0 for change in real)
    return "\n".join([*lines, f"{slower} of {len(compared)} measurements got slower by more than the runs' own noise."])


def _pairs(old: Results, new: Results) -> Iterator[tuple[SetResult, SetResult]]:
    """The sets that both runs measured, with enough problems to tell."""
    before = {(each.kind, each.name, each.origin): each for each in old.sets}
    for after in new.sets:
        earlier = before.get((after.kind, after.name, after.origin))
        if earlier is not None and min(len(earlier.solves), len(after.solves)) >= FEWEST:
            yield earlier, after


def _ratios(before: SetResult, after: SetResult, *, ours: bool) -> Iterator[tuple[str, Estimate]]:
    shared = min(len(before.solves), len(after.solves))
    for method, seconds in after.seconds.items():
        if (method in OURS) == ours and method in before.seconds:
            ratio = change_of_means(seconds[:shared], before.seconds[method][:shared], after.strata[:shared])
            yield method, ratio


def _means(before: SetResult, after: SetResult, method: str) -> tuple[float, float]:
    shared = min(len(before.solves), len(after.solves))
    old, new = (1e3 * float(np.mean(each.seconds[method][:shared])) for each in (before, after))
    return old, new


def _over(ratio: Estimate, machine: float) -> Estimate:
    return Estimate(ratio.value / machine, ratio.low / machine, ratio.high / machine)
