"""What the measurements say: summaries, ratios of means with bootstrap intervals, exponents, and what got slower.

Times are arrays (problems, rounds): every problem was timed once a round, all methods after one another. Intervals
resample problems within their strata (the trade-offs are a design, not chance) and rounds (which share the state of a
machine). The headline's are wider: a fresh round, at another hour, should lie inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from excalibr._types import Floats, Integers

__all__ = [
    "Estimate",
    "Summary",
    "change_of_means",
    "excess",
    "exponent",
    "mean_of",
    "median_of",
    "ratio_of_means",
    "ratio_of_rounds",
    "ratio_of_sets",
    "ratio_of_typical",
    "summarise",
]

DRAWS, ROUND_DRAWS = 2000, 200
LEVEL = 0.95
FEW = 5
"""With a stratum of fewer problems they are all resampled together: so few say nothing of how they vary."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The larger distance from the value to an end of the interval, as a part of the value."""
        return max(self.high - self.value, self.value - self.low) / self.value

    def contains(self, value: float) -> bool:
        """Whether a value is inside the interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Summary:
    """How long a method takes, over problems, each at the median of its rounds; in the unit of what was given."""

    median: float
    mean: float
    p99: float
    worst: float


def summarise(seconds: ArrayLike) -> Summary:
    """Median, mean, 99th percentile and worst over problems."""
    each = np.median(_table(seconds), axis=1)
    return Summary(float(np.median(each)), float(each.mean()), float(np.quantile(each, 0.99)), float(each.max()))


def ratio_of_means(theirs: ArrayLike, ours: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """Mean of ``theirs`` over mean of ``ours``, the same problems and rounds: where one has fewer, its rounds count."""
    above, below = _table(theirs), _table(ours)
    rounds = min(above.shape[1], below.shape[1])
    above, below = above[:, :rounds], below[:, :rounds]
    picks, turns = _resampled(len(above), rounds, strata)
    return _estimate(above.mean() / below.mean(), _means(above, picks, turns) / _means(below, picks, turns))


def ratio_of_rounds(theirs: ArrayLike, ours: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """The same ratio with an interval in which that of one more round, of other problems like these, should lie.

    Two parts, joined as independent errors of the logarithm: problems by bootstrap, and rounds, which are few, by
    Student's t for one more observation. With a single round only the first is known.
    """
    above, below = _table(theirs), _table(ours)
    rounds = min(above.shape[1], below.shape[1])
    above, below = above[:, :rounds], below[:, :rounds]
    picks, turns = _resampled(len(above), 1, strata)
    means = above.mean(axis=1, keepdims=True), below.mean(axis=1, keepdims=True)
    value = float(above.mean() / below.mean())
    sampled = _estimate(value, _means(means[0], picks, turns) / _means(means[1], picks, turns))
    mood = 0.0
    if rounds > 1:
        spread = float(np.std(np.log(above.mean(axis=0) / below.mean(axis=0)), ddof=1))
        mood = float(stdtrit(rounds - 1, 0.5 + 0.5 * LEVEL)) * spread * np.sqrt(1.0 + 1.0 / rounds)
    down, up = np.hypot(mood, np.log(value / sampled.low)), np.hypot(mood, np.log(sampled.high / value))
    return Estimate(value, float(value * np.exp(-down)), float(value * np.exp(up)))


def ratio_of_typical(theirs: ArrayLike, ours: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """The ratio of means with every problem at the median of its rounds, so that one bad round does not count.

    The rounds are resampled for each of the two alone: they were measured in turn, and not at once.
    """
    above, below = _table(theirs), _table(ours)
    picks, _ = _resampled(len(above), 1, strata)
    drawn = _typical_means(above, picks, seed=1) / _typical_means(below, picks, seed=2)
    return _estimate(float(np.median(above, axis=1).mean() / np.median(below, axis=1).mean()), drawn)


def ratio_of_sets(above: ArrayLike, below: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """The ratio of the means of two sets of problems that have nothing to do with one another."""
    upper, lower = _table(above), _table(below)
    of_upper = _means(upper, *_resampled(len(upper), upper.shape[1], strata))
    of_lower = _means(lower, *_resampled(len(lower), lower.shape[1], strata, seed=1))
    return _estimate(upper.mean() / lower.mean(), of_upper / of_lower)


def change_of_means(new: ArrayLike, old: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """Mean of ``new`` over mean of ``old``, the same problems in the rounds of two different runs."""
    after, before = _table(new), _table(old)
    picks, turns = _resampled(len(after), after.shape[1], strata)
    _, earlier_turns = _resampled(len(before), before.shape[1], strata, seed=1)
    drawn = _means(after, picks, turns) / _means(before, picks, earlier_turns)
    return _estimate(after.mean() / before.mean(), drawn)


def mean_of(seconds: ArrayLike, strata: Sequence[object] | None = None) -> Estimate:
    """The mean over problems, each at the median of its rounds."""
    table = _table(seconds)
    picks, _ = _resampled(len(table), 1, strata)
    return _estimate(float(np.median(table, axis=1).mean()), _typical_means(table, picks))


def median_of(values: ArrayLike) -> Estimate:
    """The median of independent values, one a row."""
    found = _table(values)
    each = np.median(found, axis=1)
    picks = np.random.default_rng(0).integers(0, len(each), (DRAWS, len(each)))
    return _estimate(float(np.median(each)), np.median(each[picks], axis=1))


def excess(above: ArrayLike, below: ArrayLike) -> Estimate:
    """By how much one takes longer than the other, at the median of pairs that were measured together."""
    return median_of(np.subtract(_table(above), _table(below)))


def exponent(sizes: ArrayLike, times: Sequence[ArrayLike]) -> Estimate:
    """The power b of times ≈ a·sizeᵇ: least squares of the logarithms of mean times; ``times`` has a row for each size.

    >>> estimate = exponent([1, 10, 100], [[2.0], [20.0], [200.0]])
    >>> round(estimate.value, 6), round(estimate.low, 6)
    (1.0, 1.0)
    """
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    values = [np.asarray(each, dtype=np.float64) for each in times]
    random = np.random.default_rng(0)
    drawn = [each[random.integers(0, len(each), (DRAWS, len(each)))].mean(axis=1) for each in values]
    slope = _slope(logs, np.log([[each.mean()] for each in values]))[0]
    return _estimate(float(slope), _slope(logs, np.log(np.array(drawn))))


def _table(seconds: ArrayLike) -> Floats:
    table = np.asarray(seconds, dtype=np.float64)
    return table if table.ndim == 2 else table[:, None]


def _resampled(problems: int, rounds: int, strata: Sequence[object] | None, seed: int = 0) -> tuple[Integers, Integers]:
    """Draws of problems, each from its own stratum, and of rounds: (draws, problems) and (draws, rounds)."""
    random = np.random.default_rng(seed)
    if strata is not None and np.unique([str(stratum) for stratum in strata], return_counts=True)[1].min() < FEW:
        strata = None
    _, group = np.unique([str(stratum) for stratum in strata or [""] * problems], return_inverse=True)
    picks = np.empty((DRAWS, problems), dtype=np.int64)
    for stratum in range(int(group.max()) + 1):
        members = np.flatnonzero(group == stratum)
        picks[:, members] = members[random.integers(0, len(members), (DRAWS, len(members)))]
    return picks, random.integers(0, rounds, (DRAWS, rounds))


def _means(table: Floats, picks: Integers, turns: Integers) -> Floats:
    """The mean of each resampled table."""
    draws, problems = picks.shape
    places = picks + problems * np.arange(draws)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws * problems).reshape(draws, problems)
    by_turn = counts @ table / problems
    return np.asarray(np.take_along_axis(by_turn, turns, axis=1).mean(axis=1))


def _typical_means(table: Floats, picks: Integers, seed: int = 0) -> Floats:
    """The mean of each resampled table, its problems at the median of resampled rounds."""
    random = np.random.default_rng(seed)
    rounds = table.shape[1]
    typical = [np.median(table[:, random.integers(0, rounds, rounds)], axis=1) for _ in range(ROUND_DRAWS)]
    return np.concatenate([each[part].mean(axis=1) for each, part in zip(typical, _parts(picks), strict=True)])


def _parts(picks: Integers) -> list[Integers]:
    return np.array_split(picks, ROUND_DRAWS)


def _slope(logs: Floats, values: Floats) -> Floats:
    centred = logs - logs.mean()
    return np.asarray(centred @ values / (centred @ centred))


def _estimate(value: float, drawn: Floats) -> Estimate:
    tail = 0.5 * (1.0 - LEVEL)
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Estimate(float(value), float(low), float(high))
