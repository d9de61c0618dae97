"""Two curves at equal KL, on the users that both have, with what chance can do to their difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from excalibr import _seeds as seeds
from excalibr._experiments.curves import COMPARED, KL, MethodCurve, between
from excalibr._types import Floats

__all__ = ["RESAMPLES", "SHARES", "Margins", "margins", "rise"]

SHARES = np.array([0.9, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1])
"""The levels of KL that methods are compared at, as shares of what relevance only has."""

RESAMPLES = 200
"""How often the users are drawn again, with replacement, to see what chance does (the bootstrap)."""


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """By how much one curve is above another at each of some levels, with standard errors."""

    values: Floats
    errors: Floats

    @property
    def clear(self) -> Floats:
        """1 where it is above by more than twice the standard error, −1 where below, 0 where chance may be why."""
        return np.asarray(np.sign(self.values) * (np.abs(self.values) > 2 * self.errors))

    @property
    def above(self) -> int:
        """How many are clearly above."""
        return int((self.clear > 0).sum())

    @property
    def below(self) -> int:
        """How many are clearly below."""
        return int((self.clear < 0).sum())

    def __len__(self) -> int:
        return len(self.values)


def margins(first: MethodCurve, second: MethodCurve, metric: str = "ndcg", across: str = KL) -> Margins:
    """By how much the first curve is above the second at :data:`SHARES` of the KL, (7,); nan where one is not known.

    Both curves are of the users that they share, so that a method that ran on a sample is compared on that sample.
    """
    users = np.intersect1d(first.rows, second.rows)
    one, other = (curve.own[np.isin(curve.rows, users)] for curve in (first, second))
    values = _apart(one, other, np.ones((1, len(users))), (across, metric))[0]
    again = _apart(one, other, _counts(len(users)), (across, metric))
    known = (~np.isnan(again)).sum(axis=0) > RESAMPLES // 2
    errors = np.full(len(SHARES), np.nan)
    errors[known] = np.nanstd(again[:, known], axis=0, ddof=1)
    return Margins(np.where(known, values, np.nan), errors)


def rise(curve: MethodCurve, place: int, metric: str = "ndcg") -> tuple[float, float]:
    """By how much a point of the curve is above relevance only, and the standard error of that."""
    number = COMPARED.index(metric)
    apart = curve.own[:, place, number] - curve.own[:, -1, number]
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("nan")


def _apart(first: Floats, second: Floats, counts: Floats, axes: tuple[str, str]) -> Floats:
    """(resamples, shares): the difference of two curves, with each user counted so often."""
    return _at_shares(first, counts, axes) - _at_shares(second, counts, axes)


def _at_shares(own: Floats, counts: Floats, axes: tuple[str, str]) -> Floats:
    means = np.tensordot(counts, own, axes=1) / counts.sum(axis=1)[:, None, None]
    across, up = (means[:, :, COMPARED.index(name)] for name in axes)
    return np.array([between(SHARES * x[-1], x, y) for x, y in zip(across, up, strict=True)])


@lru_cache(maxsize=8)
def _counts(users: int) -> Floats:
    """(resamples, users): how often each user is drawn when as many are drawn with replacement."""
    drawn = (seeds.uniforms(0, "resamples", RESAMPLES * users) * users).astype(np.int64).reshape(RESAMPLES, users)
    return np.array([np.bincount(row, minlength=users) for row in drawn], dtype=np.float64)
