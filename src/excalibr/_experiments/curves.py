"""Means over users with standard errors, as curves over the trade-off, and the value of a curve at a given KL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._experiments.measures import METRICS
from excalibr._experiments.plan import PlanPart, Setting
from excalibr._experiments.store import Block
from excalibr._types import Floats, Integers

__all__ = ["COMPARED", "DRAW_KL", "DRAW_L1", "KL", "Curves", "MethodCurve", "between"]

KL, DRAW_KL, DRAW_L1 = "kl_of_expectation", "kl_of_draw_mean", "l1_of_draw_mean"
COMPARED = (KL, DRAW_KL, DRAW_L1, "ndcg", "mrr")
"""What curves are compared in user by user."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodCurve:
    """One arm over the trade-offs, for one attribute, weighting and setting.

    An arm that runs on a sample of the users cannot be compared with the others' means: users differ far more than
    arms do. Its ``means`` are therefore those of relevance only over *all* users, times the ratio of its own means to
    relevance only's on the sample (the ratio estimator of survey sampling), and its ``errors`` are of that product.
    ``plain_means`` and ``plain_errors`` are over its own users.

    Attributes
    ----------
    users
        How many users it was run on.
    trade_offs
        (T,)
    means, errors, plain_means, plain_errors
        Metric → (T,).
    start
        Metric → the mean of relevance only, over all users: where every curve starts, at trade-off 0.
    rows
        (users,) which of all users it was run on.
    own
        (users, T + 1, 5) each user's KL of the expectation, KL and L1 of a draw, NDCG and MRR, :data:`COMPARED`; the
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
    plain_means: dict[str, Floats]
    plain_errors: dict[str, Floats]
    start: dict[str, float]
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
                *(float(curve.plain_means[metric][place]), float(curve.plain_errors[metric][place])),
                *(float(curve.means[metric][place]), float(curve.errors[metric][place])),
            )
            for curve in self
            for place, trade_off in enumerate(curve.trade_offs)
            for metric in METRICS
        ]
        return {name: list(column) for name, column in zip(_SUMMARY, zip(*rows, strict=True), strict=True)}


_SUMMARY = (
    *("attribute", "weighting", "candidates", "slots", "method", "trade_off", "metric", "users"),
    *("mean", "standard_error", "comparable_mean", "comparable_standard_error"),
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
        assert _same_place(relevance.part, block.part)
        for number in range(len(block.weightings)):
            yield _curve(block, relevance, number)


def _curve(block: Block, relevance: Block, number: int) -> MethodCurve:
    part, values = block.part, block.values[number]
    all_users = relevance.values[number][:, 0]
    own = np.isin(relevance.user_ids, block.user_ids)
    plain_means, plain_errors = values.mean(axis=0), _errors(values)
    means, errors = plain_means, plain_errors
    if len(values) < len(all_users):
        means, errors = _by_ratio(values, all_users[own], all_users)
    return MethodCurve(
        attribute=part.attribute,
        weighting=block.weightings[number],
        setting=part.setting,
        arm=part.arm,
        users=len(values),
        trade_offs=np.asarray(block.trade_offs),
        means=_by_metric(means),
        errors=_by_metric(errors),
        plain_means=_by_metric(plain_means),
        plain_errors=_by_metric(plain_errors),
        start={metric: float(all_users[:, place].mean()) for place, metric in enumerate(METRICS)},
        rows=np.flatnonzero(own),
        own=np.concatenate((values, all_users[own][:, None]), axis=1)[:, :, [METRICS.index(name) for name in COMPARED]],
    )


def _by_ratio(values: Floats, relevance: Floats, all_users: Floats) -> tuple[Floats, Floats]:
    """Means and errors of a sample's values, (users, trade-offs, metrics), by their ratio to relevance only's."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = values.mean(axis=0) / relevance.mean(axis=0)
        scale = all_users.mean(axis=0) / relevance.mean(axis=0)
        left = values - ratios * relevance[:, None]  # what the ratio does not explain of each user
        errors = np.hypot(scale * _errors(left), ratios * _errors(all_users))
    return np.asarray(ratios * all_users.mean(axis=0)), np.asarray(errors)


def _errors(values: Floats) -> Floats:
    """Standard errors over the first axis, nan for a single user."""
    users = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(users) if users > 1 else np.full(values.shape[1:], np.nan))


def _by_metric(table: Floats) -> dict[str, Floats]:
    return {metric: table[:, place] for place, metric in enumerate(METRICS)}


def _same_place(first: PlanPart, second: PlanPart) -> bool:
    return (first.attribute, first.setting) == (second.attribute, second.setting)
