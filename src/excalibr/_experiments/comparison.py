"""Two curves at equal KL, on the users that both have, with what chance can do to their difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isnan

import numpy as np

from excalibr import _seeds as seeds
from excalibr._experiments.curves import COMPARED, KL, MethodCurve, between, standard_errors
from excalibr._types import Floats

__all__ = ["RESAMPLES", "SHARES", "Estimate", "Margins", "change", "difference", "kept", "margins", "rise"]

SHARES = np.array([0.9, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1])
"""The levels of KL that methods are compared at, as shares of what relevance only has."""

RESAMPLES = 200
"""How often the users are drawn again, with replacement, to see what chance does (the bootstrap)."""


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """By how much one curve is above another at each of some levels, and again for users drawn with replacement.

    Attributes
    ----------
    values
        (levels,) nan where a curve does not reach a level.
    again
        (resamples, levels)
    users
        How many users both curves have.
    """

    values: Floats
    again: Floats
    users: int

    @property
    def errors(self) -> Floats:
        """(levels,) standard errors."""
        return np.asarray(np.std(self.again, axis=0, ddof=1))

    @property
    def clear(self) -> Floats:
        """1 where it is above by more than twice the standard error, −1 where below, 0 where chance may be why."""
        return np.asarray(np.sign(self.values) * (np.abs(self.values) > 2 * self.errors))

    @property
    def mean(self) -> Estimate:
        """The mean over the levels that are known."""
        known = ~np.isnan(self.values)
        if not known.any():
            return Estimate(float("nan"), float("nan"), self.users)
        again = np.nanmean(self.again[:, known], axis=1)
        return Estimate(float(self.values[known].mean()), float(again.std(ddof=1)), self.users)

    def at(self, share: float) -> Estimate:
        """At one of :data:`SHARES`."""
        place = int(np.argmin(np.abs(SHARES - share)))
        return Estimate(float(self.values[place]), float(self.errors[place]), self.users)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference, its standard error, and from how many users."""

    value: float
    error: float
    users: int

    def __str__(self) -> str:
        return "–" if isnan(self.value) else f"{self.value:+.4f} ± {2 * self.error:.4f}"

    @property
    def verdict(self) -> str:
        """Whether it is above 0 by more than chance does, below, or not clear and with how many users it would be.

        >>> Estimate(0.01, 0.002, 500).verdict, Estimate(0.01, 0.01, 500).verdict
        ('holds', 'not clear: about 2,000 users would decide')
        """
        if isnan(self.value) or isnan(self.error):
            return "not clear: no level is reached by both"
        if abs(self.value) > 2 * self.error:
            return "holds" if self.value > 0 else "does not hold"
        if self.value == 0:
            return "not clear: no difference was found"
        return f"not clear: about {_rounded(self.users * (2 * self.error / self.value) ** 2):,} users would decide"

    @classmethod
    def of(cls, apart: Floats) -> Estimate:
        """The mean of users' own differences."""
        return cls(float(apart.mean()), float(standard_errors(apart)), len(apart))

    def above(self, least: float) -> Estimate:
        """By how much it is above a least value."""
        return Estimate(self.value - least, self.error, self.users)


def margins(first: MethodCurve, second: MethodCurve, metric: str = "ndcg", across: str = KL) -> Margins:
    """By how much the first curve is above the second at :data:`SHARES` of the KL, (7,); nan where one is not known.

    Both curves are of the users that they share, so that a method that ran on a sample is compared on that sample.
    """
    users = np.intersect1d(first.rows, second.rows)
    one, other = (curve.own[np.isin(curve.rows, users)] for curve in (first, second))
    counts, axes = _drawn(len(users)), (across, metric)
    return _known(_at_shares(one, counts, axes) - _at_shares(other, counts, axes), len(users))


def change(old: Floats, new: Floats, metric: str = "ndcg", across: str = KL, *, paired: bool) -> Margins:
    """By how much a later run is above an earlier one at the same levels: shares of what relevance only had in that.

    ``old`` and ``new`` are (users, points, compared), as :attr:`MethodCurve.own`; where they are of the same users in
    the same order they are paired, otherwise each is drawn by itself.
    """
    first = _drawn(len(old))
    second = first if paired else _drawn(len(new), "resamples of others")
    levels = first @ old[:, -1, COMPARED.index(across)] / first.sum(axis=1)
    axes = (across, metric)
    found = _at_shares(new, second, axes, levels) - _at_shares(old, first, axes, levels)
    return _known(found, min(len(old), len(new)))


def kept(curve: MethodCurve, across: str = KL) -> Margins:
    """How much of relevance only's NDCG is left at :data:`SHARES` of its KL."""
    counts = _drawn(curve.users)
    place = COMPARED.index("ndcg")
    starts = counts @ curve.own[:, -1, place] / counts.sum(axis=1)
    return _known(_at_shares(curve.own, counts, (across, "ndcg")) / starts[:, None], curve.users)


def difference(first: Margins, second: Margins) -> Margins:
    """The first less the second, which are of the same users."""
    return Margins(first.values - second.values, first.again - second.again, min(first.users, second.users))


def _drawn(users: int, key: str = "resamples") -> Floats:
    """(1 + resamples, users): everybody once, then drawn with replacement."""
    return np.concatenate((np.ones((1, users)), _counts(users, key)))


def _known(found: Floats, users: int) -> Margins:
    """The first row are the values; a level that fewer than half of the others reach is not known."""
    values, again = found[0], found[1:]
    known = (~np.isnan(again)).sum(axis=0) > RESAMPLES // 2
    filled = np.where(np.isnan(again), values, again)
    return Margins(np.where(known, values, np.nan), np.where(known, filled, np.nan), users)


def _rounded(users: float) -> int:
    """To two digits, up."""
    size = 10 ** max(int(np.floor(np.log10(max(users, 1.0)))) - 1, 0)
    return int(np.ceil(users / size - 1e-9) * size)


def rise(curve: MethodCurve, place: int, metric: str = "ndcg") -> Estimate:
    """By how much a point of the curve is above relevance only."""
    number = COMPARED.index(metric)
    return Estimate.of(curve.own[:, place, number] - curve.own[:, -1, number])


def _at_shares(own: Floats, counts: Floats, axes: tuple[str, str], levels: Floats | None = None) -> Floats:
    """(resamples, shares): the height of a curve at shares of the levels, or of what relevance only has."""
    means = np.tensordot(counts, own, axes=1) / counts.sum(axis=1)[:, None, None]
    across, up = (means[:, :, COMPARED.index(name)] for name in axes)
    whole = across[:, -1] if levels is None else levels
    return np.array([between(SHARES * level, x, y) for level, x, y in zip(whole, across, up, strict=True)])


@lru_cache(maxsize=8)
def _counts(users: int, key: str) -> Floats:
    """(resamples, users): how often each user is drawn when as many are drawn with replacement."""
    drawn = (seeds.uniforms(0, key, RESAMPLES * users) * users).astype(np.int64).reshape(RESAMPLES, users)
    return np.array([np.bincount(row, minlength=users) for row in drawn], dtype=np.float64)
