"""Means over users as curves over the trade-off, and two curves at equal KL, on the users that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr import _seeds as seeds
from excalibr._experiments.arms import ARMS
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import SLATE_SETTING, Setting
from excalibr._experiments.store import Block
from excalibr._experiments.table import number
from excalibr._types import Booleans, Floats

KL, L1, DRAW_KL, DRAW_L1 = "kl_of_expectation", "l1_of_expectation", "kl_of_draw_mean", "l1_of_draw_mean"
DEVIATIONS, RELEVANCE = (KL, L1, DRAW_KL, DRAW_L1), ("ndcg", "mrr")  # what curves are compared in, user by user
WIDE_GAP = 0.15  # points that are further apart, as a share of relevance only's deviation, have a gap between them

PLACE = ("attribute", "weights", "n/k", "method")
"""The head of the columns that say which curve a row of a table is of."""

UserValues = Mapping[str, Floats]
"""Of deviations, NDCG and MRR each user's own, (users, T + 1), at every trade-off and, last, of relevance only."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodCurve:
    """One arm over the trade-offs, for one attribute, weighting and setting.

    An arm that ran on a sample of the users is compared with others on that sample only: users differ far more than
    arms do. ``start`` is therefore of its own users too.
    """

    attribute: str
    weighting: str
    setting: Setting
    arm: str
    user_ids: NDArray[Any]  # (users,) that it was run on
    trade_offs: Floats  # (T,)
    means: dict[str, Floats]  # metric → (T,)
    errors: dict[str, Floats]  # metric → (T,), nan for those of the catalogue
    start: dict[str, float]  # metric → relevance only's mean over the same users: where the curve starts
    complete: bool  # whether it ran on all users
    own: UserValues

    @property
    def users(self) -> int:
        """How many it was run on."""
        return len(self.user_ids)

    @property
    def label(self) -> str:
        """What figures and tables call its arm; one that only another version has is called by its name."""
        return ARMS[self.arm].label if self.arm in ARMS else self.arm

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Which curve it is, in words: :data:`PLACE`."""
        return self.attribute, self.weighting, str(self.setting), self.label

    def at(self, levels: Floats, x: str = KL, y: str = "ndcg") -> Floats:
        """``y`` where ``x`` has the given levels, between neighbouring points; nan where that is nowhere.

        Relevance only, which every sweep starts from, is a point of the curve.
        """
        across, up = (np.append(self.means[name], self.start[name]) for name in (x, y))
        return between(levels, across, up)

    def least(self, x: str, kept: float) -> float:
        """The least ``x`` with so much of relevance only's NDCG."""
        levels = np.linspace(0.0, self.start[x], 1001)
        enough = self.at(levels, x) >= kept * self.start["ndcg"]
        return float(levels[int(np.argmax(enough))]) if enough.any() else self.start[x]

    def at_share(self, share: float, x: str, y: str = "ndcg") -> float:
        """``y`` where ``x`` is down to a share of relevance only's; of relevance only, its one point."""
        if self.arm == "relevance":
            return self.start[y]
        return float(self.at(np.array([share * self.start[x]]), x, y)[0])

    def is_wide(self, shares: Floats, x: str) -> Booleans:
        """Whether the points on both sides of each share of relevance only's ``x`` are far apart."""
        points = np.sort(np.append(self.means[x], self.start[x])) / (self.start[x] or 1.0)
        places = np.clip(np.searchsorted(points, shares), 1, len(points) - 1)
        return np.asarray(points[places] - points[places - 1] > WIDE_GAP)

    def nearest(self, trade_off: float) -> int:
        """The place of the trade-off of the sweep that is nearest to this one."""
        return int(np.argmin(np.abs(self.trade_offs - trade_off)))


class Curves:
    """All curves of an experiment, and which attributes, weightings and settings were run."""

    def __init__(self, curves: Iterable[MethodCurve]) -> None:
        self._curves = {(each.attribute, each.weighting, each.setting, each.arm): each for each in curves}
        self.attributes = list(dict.fromkeys(curve.attribute for curve in self))
        self.weightings = list(dict.fromkeys(curve.weighting for curve in self))
        self.settings = list(dict.fromkeys(curve.setting for curve in self))

    @property
    def weighting(self) -> str:
        """The position weights that every setting was run with: the first of the plan's, by default log."""
        return next(iter(self.weightings), "log")

    @property
    def list_setting(self) -> Setting | None:
        """The setting by which one list of few slots is judged; None where none was run."""
        return next((each for each in (SLATE_SETTING, *self.settings) if each in self.settings and each.is_short), None)

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Curves:
        """From the blocks of all parts, relevance only before the other arms of its attribute and setting."""
        found: list[MethodCurve] = []
        relevance: Block | None = None
        for block in blocks:
            part = block.part
            if part.arm == "relevance":
                relevance = block
            if relevance is None or relevance.part != replace(part, arm="relevance"):
                raise ValueError(f"{part.attribute}, {part.setting}: relevance only does not come first")
            found += [_curve(block, relevance, number) for number in range(len(block.weightings))]
        return cls(found)

    def get(self, attribute: str, weighting: str, setting: Setting, arm: str) -> MethodCurve | None:
        """A curve, or None where that was not run."""
        return self._curves.get((attribute, weighting, setting, arm))

    def pairs(
        self, weighting: str, first: tuple[Setting, str], second: tuple[Setting, str]
    ) -> Iterator[tuple[MethodCurve, MethodCurve]]:
        """Two arms, each in its setting, of every attribute that has both."""
        for attribute in self.attributes:
            one, other = (self.get(attribute, weighting, *place) for place in (first, second))
            if one is not None and other is not None:
                yield one, other

    def margins(
        self,
        first: tuple[Setting, str],
        second: tuple[Setting, str],
        *,
        weighting: str | None = None,
        metric: str = "ndcg",
        across: str = KL,
    ) -> dict[str, Margins]:
        """Attribute → by how much one arm in its setting is above another, with the first weights or with these."""
        pairs = self.pairs(weighting or self.weighting, first, second)
        return {one.attribute: margins(one, other, metric, across) for one, other in pairs}

    def __iter__(self) -> Iterator[MethodCurve]:
        return iter(self._curves.values())

    def summary(self) -> dict[str, list[Any]]:
        """A tidy table: a row for each curve, trade-off and metric."""
        rows = [
            (
                *(curve.attribute, curve.weighting, curve.setting.candidates, curve.setting.slots, curve.arm),
                *(float(trade_off), metric, curve.users),
                *(float(curve.means[metric][place]), float(curve.errors[metric][place])),
            )
            for curve in self
            for place, trade_off in enumerate(curve.trade_offs)
            for metric in curve.errors
        ]
        return {name: list(column) for name, column in zip(_SUMMARY, zip(*rows, strict=True), strict=True)}


_SUMMARY = (
    *("attribute", "weighting", "candidates", "slots", "method", "trade_off", "metric", "users"),
    *("mean", "standard_error"),
)


def between(levels: Floats, across: Floats, up: Floats) -> Floats:
    """The height of a line through points at the given levels; nan to the left and the right of it."""
    order = np.argsort(across, kind="stable")
    return np.asarray(np.interp(levels, across[order], up[order], left=np.nan, right=np.nan))


def _curve(block: Block, relevance: Block, number: int) -> MethodCurve:
    part, values, of_all = block.part, block.values[number], block.catalogue[number]
    shared = np.isin(relevance.user_ids, block.user_ids)
    starts, complete = relevance.values[number][shared], bool(shared.all())
    of_catalogue = relevance.catalogue[number, 0] if complete else np.full(len(CATALOGUE), np.nan)  # it is of all users
    means, errors = (zip(METRICS, of.T, strict=True) for of in (values.mean(axis=0), standard_errors(values)))
    own = dict(zip(METRICS, np.moveaxis(np.concatenate((values, starts), axis=1), -1, 0), strict=True))
    return MethodCurve(
        attribute=part.attribute,
        weighting=block.weightings[number],
        setting=part.setting,
        arm=part.arm,
        user_ids=block.user_ids,
        trade_offs=np.asarray(block.trade_offs),
        means=dict(means) | dict(zip(CATALOGUE, of_all.T, strict=True)),
        errors=dict(errors) | dict.fromkeys(CATALOGUE, np.full(len(of_all), np.nan)),
        start=dict(zip((*METRICS, *CATALOGUE), [*starts[:, 0].mean(axis=0), *of_catalogue], strict=True)),
        complete=complete,
        own={name: np.ascontiguousarray(own[name]) for name in (*DEVIATIONS, *RELEVANCE)},
    )


def standard_errors(values: Floats) -> Floats:
    """Standard errors over the first axis, nan for a single user."""
    users = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(users) if users > 1 else np.full(values.shape[1:], np.nan))


SHARES = np.array([0.9, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1])  # of relevance only's KL: the levels of comparison
RESAMPLES = 200  # how often the users are drawn again, with replacement, to see what chance does (the bootstrap)


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """By how much one curve is above another at each of some levels, and again for users drawn with replacement."""

    values: Floats  # (levels,) nan where a curve does not reach a level
    resampled: Floats  # (resamples, levels)
    users: int  # that both curves have
    wide: Booleans = field(default_factory=lambda: np.zeros(len(SHARES), dtype=np.bool_))  # (levels,) in a wide gap

    @property
    def errors(self) -> Floats:
        """(levels,) standard errors."""
        return np.asarray(np.std(self.resampled, axis=0, ddof=1))

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
        again = self.resampled[:, known].mean(axis=1)
        return Estimate(float(self.values[known].mean()), float(again.std(ddof=1)), self.users)

    def at(self, share: float) -> Estimate:
        """At one of :data:`SHARES`."""
        place = int(np.argmin(np.abs(SHARES - share)))
        return Estimate(float(self.values[place]), float(self.errors[place]), self.users, bool(self.wide[place]))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference, its standard error, and from how many users; ≈ marks one between points that are far apart."""

    value: float
    error: float
    users: int
    wide: bool = False

    def __str__(self) -> str:
        text = f"{self.value:+.4f} ± {number(2 * self.error, 4)}"
        return "–" if isnan(self.value) else f"≈ {text}" if self.wide else text

    @property
    def verdict(self) -> str:
        """Whether it is above 0 by more than chance does, below, or not clear and with how many users it would be.

        >>> Estimate(0.01, 0.002, 500).verdict, Estimate(0.01, 0.01, 500).verdict
        ('holds', 'not clear: about 2,000 users would decide')
        """
        if isnan(self.value) or isnan(self.error):
            return "not clear: too few users" if self.users < 2 else "not clear: no level is reached by both"
        if abs(self.value) > 2 * self.error:
            return "holds" if self.value > 0 else "does not hold"
        if self.value == 0:
            return "not clear: no difference was found"
        return f"not clear: about {_rounded(self.users * (2 * self.error / self.value) ** 2):,} users would decide"

    @classmethod
    def of(cls, apart: Floats) -> Estimate:
        """The mean of users' own differences."""
        return cls(float(apart.mean()), float(standard_errors(apart)), len(apart))


def margins(first: MethodCurve, second: MethodCurve, metric: str = "ndcg", across: str = KL) -> Margins:
    """By how much the first curve is above the second at :data:`SHARES` of the KL, (7,); nan where one is not known.

    Both curves are of the users that they share, so that a method that ran on a sample is compared on that sample.
    """
    one, other = np.isin(first.user_ids, second.user_ids), np.isin(second.user_ids, first.user_ids)
    users, axes = int(one.sum()), (across, metric)
    counts = _resamples(users)
    found = [_at_shares(of_users(curve.own, same), counts, axes) for curve, same in ((first, one), (second, other))]
    wide = first.is_wide(SHARES, across) | second.is_wide(SHARES, across)
    return replace(_margins(found[0] - found[1], users), wide=wide)


def of_users(own: UserValues, users: NDArray[Any]) -> UserValues:
    """The values of some of the users."""
    return {name: values[users] for name, values in own.items()}


def change(old: UserValues, new: UserValues, metric: str, across: str, *, paired: bool) -> Margins:
    """By how much a later run is above an earlier one at the same levels: shares of what relevance only had in that.

    Where both are of the same users in the same order they are paired, otherwise each is drawn by itself.
    """
    first = _resamples(len(old[across]))
    second = first if paired else _resamples(len(new[across]), "resamples of others")
    levels, axes = _start_of(old, first, across), (across, metric)
    found = _at_shares(new, second, axes, levels) - _at_shares(old, first, axes, levels)
    return _margins(found, min(len(old[across]), len(new[across])))


def kept(curve: MethodCurve) -> Margins:
    """How much of relevance only's NDCG is left at :data:`SHARES` of its KL."""
    counts = _resamples(curve.users)
    starts = _start_of(curve.own, counts, "ndcg")
    left = _at_shares(curve.own, counts, (KL, "ndcg")) / np.where(starts > 0.0, starts, np.nan)[:, None]
    return _margins(left, curve.users)


def difference(first: Margins, second: Margins) -> Margins:
    """The first less the second, which are of the same users."""
    return Margins(first.values - second.values, first.resampled - second.resampled, min(first.users, second.users))


def best_rise(curve: MethodCurve) -> Estimate:
    """By how much NDCG at the best trade-off is above relevance only's; nan for a single user.

    Which trade-off is best is asked of the other half of the users: chosen on those that judge it, the best of many
    is above by chance alone.
    """
    rises = curve.own["ndcg"][:, :-1] - curve.own["ndcg"][:, -1:]
    if curve.users < 2:
        return Estimate(float("nan"), float("nan"), curve.users)
    found = np.empty(curve.users)
    for half, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        found[half] = rises[half, int(np.argmax(rises[other].mean(axis=0)))]
    return Estimate.of(found)


@lru_cache(maxsize=8)
def _resamples(users: int, key: str = "resamples") -> Floats:
    """(1 + resamples, users): everybody once, then how often each is drawn when as many are drawn with replacement."""
    drawn = (seeds.uniforms(0, key, RESAMPLES * users) * users).astype(np.int64).reshape(RESAMPLES, users)
    counts = [np.bincount(row, minlength=users) for row in drawn]
    return np.array([np.ones(users), *counts], dtype=np.float64)


def _margins(found: Floats, users: int) -> Margins:
    """The first row are the values; a level that fewer than half of the others reach is not known.

    A single user is the same in every resample, which says nothing of chance: the others are then nan.
    """
    values, again = found[0], found[1:]
    known = (~np.isnan(again)).sum(axis=0) > RESAMPLES // 2
    filled = np.where(np.isnan(again), values, again) if users > 1 else np.full_like(again, np.nan)
    return Margins(np.where(known, values, np.nan), np.where(known, filled, np.nan), users)


def _rounded(users: float) -> int:
    """To two digits, up."""
    size = 10 ** max(int(np.floor(np.log10(max(users, 1.0)))) - 1, 0)
    return int(np.ceil(users / size - 1e-9) * size)


def _start_of(own: UserValues, counts: Floats, name: str) -> Floats:
    """(resamples,): what relevance only has."""
    return np.asarray(counts @ own[name][:, -1] / counts.sum(axis=1))


def _at_shares(own: UserValues, counts: Floats, axes: tuple[str, str], levels: Floats | None = None) -> Floats:
    """(resamples, shares): the height of a curve at shares of the levels, or of what relevance only has."""
    across, up = (counts @ own[name] / counts.sum(axis=1)[:, None] for name in axes)
    whole = across[:, -1] if levels is None else levels
    return np.array([between(SHARES * level, x, y) for level, x, y in zip(whole, across, up, strict=True)])
