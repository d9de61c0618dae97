"""Means over users with standard errors, as curves over the trade-off, and the value of a curve at a given KL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import Setting
from excalibr._experiments.store import Block
from excalibr._types import Floats, Integers

__all__ = [
    "COMPARED",
    "DRAW_KL",
    "DRAW_L1",
    "KL",
    "L1",
    "WIDE_GAP",
    "Curves",
    "MethodCurve",
    "between",
    "standard_errors",
]

KL, DRAW_KL, DRAW_L1 = "kl_of_expectation", "kl_of_draw_mean", "l1_of_draw_mean"
L1 = "l1_of_expectation"
COMPARED = (KL, L1, DRAW_KL, DRAW_L1, "ndcg", "mrr")
"""What curves are compared in user by user."""


WIDE_GAP = 0.15
"""Points of a curve that are further apart, as a share of relevance only's deviation, have a gap between them."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodCurve:
    """One arm over the trade-offs, for one attribute, weighting and setting.

    An arm that ran on a sample of the users is compared with others on that sample only: users differ far more than
    arms do. ``start`` is therefore of its own users too.

    Attributes
    ----------
    users
        How many users it was run on.
    trade_offs
        (T,)
    means, errors
        Metric → (T,); those of the catalogue, :data:`CATALOGUE`, have means only.
    start
        Metric → the mean of relevance only, over the same users: where the curve starts, at trade-off 0.
    complete
        Whether it ran on all users.
    rows
        (users,) which of all users it was run on.
    own
        (users, T + 1, 6) each user's deviations, NDCG and MRR, :data:`COMPARED`; the
        last point is relevance only.
    """

    attribute: str
    weighting: str
    setting: Setting
    arm: str
    users: int
    trade_offs: Floats
    means: dict[str, Floats]
    errors: dict[str, Floats]
    start: dict[str, float]
    complete: bool
    rows: Integers
    own: Floats

    def at(self, levels: Floats, x: str = KL, y: str = "ndcg") -> Floats:
        """The value of ``y`` where ``x`` has the given levels, between neighbouring points; nan where that is nowhere.

        Relevance only, which every sweep starts from, is a point of the curve.
        """
        return between(levels, np.append(self.means[x], self.start[x]), np.append(self.means[y], self.start[y]))

    def least(self, x: str, kept: float) -> float:
        """The least ``x`` with so much of relevance only's NDCG, as a share of relevance only's ``x``."""
        levels = np.linspace(0.0, self.start[x], 1001)
        enough = self.at(levels, x) >= kept * self.start["ndcg"]
        return float(levels[int(np.argmax(enough))] / self.start[x]) if enough.any() else 1.0

    def is_wide(self, share: float, x: str = KL) -> bool:
        """Whether the points on both sides of a share of relevance only's ``x`` are far apart."""
        points = np.sort(np.append(self.means[x], self.start[x])) / (self.start[x] or 1.0)
        place = int(np.clip(np.searchsorted(points, share), 1, len(points) - 1))
        return bool(points[place] - points[place - 1] > WIDE_GAP)

    def at_trade_off(self, trade_off: float, metric: str) -> float:
        """The mean at the trade-off of the sweep that is nearest to this one."""
        return float(self.means[metric][int(np.argmin(np.abs(self.trade_offs - trade_off)))])


class Curves:
    """All curves of an experiment."""

    def __init__(self, curves: Iterable[MethodCurve]) -> None:
        self._curves = {(each.attribute, each.weighting, each.setting, each.arm): each for each in curves}

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Curves:
        """From the blocks of all parts, relevance only before the other arms of its attribute and setting."""
        return cls(_curves(blocks))

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

    def __iter__(self) -> Iterator[MethodCurve]:
        return iter(self._curves.values())

    @property
    def attributes(self) -> list[str]:
        """Attributes that were run."""
        return list(dict.fromkeys(curve.attribute for curve in self))

    @property
    def weightings(self) -> list[str]:
        """Weightings that were run."""
        return list(dict.fromkeys(curve.weighting for curve in self))

    @property
    def settings(self) -> list[Setting]:
        """Settings that were run."""
        return list(dict.fromkeys(curve.setting for curve in self))

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


def _curves(blocks: Iterable[Block]) -> Iterator[MethodCurve]:
    relevance: Block | None = None
    for block in blocks:
        if block.part.arm == "relevance":
            relevance = block
        assert relevance is not None
        assert (relevance.part.attribute, relevance.part.setting) == (block.part.attribute, block.part.setting)
        for number in range(len(block.weightings)):
            yield _curve(block, relevance, number)


def _curve(block: Block, relevance: Block, number: int) -> MethodCurve:
    part, values = block.part, block.values[number]
    own = np.isin(relevance.user_ids, block.user_ids)
    starts = relevance.values[number][own, 0]
    together = block.together[number]
    nowhere = np.full(len(together), np.nan)
    return MethodCurve(
        attribute=part.attribute,
        weighting=block.weightings[number],
        setting=part.setting,
        arm=part.arm,
        users=len(values),
        trade_offs=np.asarray(block.trade_offs),
        means=_by_metric(values.mean(axis=0)) | {name: together[:, at] for at, name in enumerate(CATALOGUE)},
        errors=_by_metric(standard_errors(values)) | dict.fromkeys(CATALOGUE, nowhere),
        start=dict(zip(METRICS, starts.mean(axis=0).tolist(), strict=True)),
        complete=bool(own.all()),
        rows=np.flatnonzero(own),
        own=np.concatenate((values, starts[:, None]), axis=1)[:, :, [METRICS.index(name) for name in COMPARED]],
    )


def standard_errors(values: Floats) -> Floats:
    """Standard errors over the first axis, nan for a single user."""
    users = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(users) if users > 1 else np.full(values.shape[1:], np.nan))


def _by_metric(table: Floats) -> dict[str, Floats]:
    return {metric: table[:, place] for place, metric in enumerate(METRICS)}
