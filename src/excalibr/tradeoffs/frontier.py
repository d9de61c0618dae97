"""The whole frontier: the exact curve between relevance and deviation as a polyline with a certified distance.

The curve lies between the chords of known points and the lines that touch it there. Where the two are too far apart,
the λ of the chord is solved: the point it finds is the one furthest from the chord.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import Any

import numpy as np

from excalibr._types import Floats
from excalibr.errors import InputError, explain, missing_extra
from excalibr.policy import Policy
from excalibr.problem import is_real, is_whole
from excalibr.tradeoffs.budgets import most_relevant_within, nearest_within
from excalibr.tradeoffs.curve import Curve, Point, chord

__all__ = ["Frontier", "trace"]

EXACT = 1e-9
"""The distance within which a point lies on a chord when every vertex is asked for."""

PART_FOR_SOLVES = 0.01
"""How exactly points are solved, as a part of the tolerance."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """The trade-off between relevance and deviation of one user, from pure relevance to the least deviation.

    Attributes
    ----------
    relevance, deviation
        (m,) the vertices of the curve, both falling. Deviation is in the divergence and weights that were asked for.
    trade_offs
        (m,) the smallest λ at which each vertex is the best of them; the first is 0.
    policies
        The optimal policy of each vertex.
    error
        What was certified: no point of the true curve is further than this from the polyline, with deviation as it is
        and relevance in units of the spread of the scores.
    solves
        How many programs were solved for it.
    """

    relevance: Floats
    deviation: Floats
    trade_offs: Floats
    policies: tuple[Policy, ...]
    error: float
    solves: int
    curve: Curve

    def at(self, trade_off: float) -> Policy:
        """The exact optimum at any λ."""
        return self.curve.at(trade_off).policy

    def within(self, *, relevance_loss: float | None = None, max_deviation: float | None = None) -> Policy:
        """The exact optimum for a budget: the best calibrated for a loss, or the most relevant within a deviation."""
        if (relevance_loss is None) == (max_deviation is None):
            raise InputError(
                explain("relevance_loss and max_deviation", "are both given or both left out", "be one of the two")
            )
        if relevance_loss is not None:
            return nearest_within(self.curve, relevance_loss)
        assert max_deviation is not None
        return most_relevant_within(self.curve, max_deviation)

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve on matplotlib axes, or on new ones; returns them."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise missing_extra("matplotlib", "plot") from error
        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        axes.plot(self.deviation, self.relevance, color="#1b6ca8", linewidth=2, marker="o", markersize=4)
        for place in _labelled(self.trade_offs):
            axes.annotate(
                f"λ = {self.trade_offs[place]:.2g}",
                (self.deviation[place], self.relevance[place]),
                xytext=(8, -10),
                textcoords="offset points",
                fontsize=8,
                color="#555555",
            )
        axes.set_xlabel("deviation from the target")
        axes.set_ylabel("relevance")
        axes.set_title(f"{len(self.relevance)} vertices, exact to {self.error:.1g}", fontsize=10)
        axes.grid(alpha=0.3)
        return axes

    def __len__(self) -> int:
        return len(self.relevance)

    def __repr__(self) -> str:
        return (
            f"Frontier({len(self)} vertices, relevance {self.relevance[0]:.6g} to {self.relevance[-1]:.6g}, "
            f"deviation {self.deviation[0]:.6g} to {self.deviation[-1]:.6g}, error {self.error:.1e}, "
            f"{self.solves} solves)"
        )


def trace(curve: Curve, tolerance: float = 1e-4, max_vertices: int | None = None) -> Frontier:
    """Find enough vertices for a polyline within ``tolerance`` of the curve; all of them for 0.

    Every stretch that may be too far from the curve is split at once, at the point furthest from its chord.
    """
    wanted = _checked(tolerance, max_vertices, curve)
    solved_to = max(curve.limits.tolerance, PART_FOR_SOLVES * wanted)
    points = [curve.most_relevant, curve.best_calibrated]
    errors: list[float | None] = [None]
    while True:
        apart = [
            _furthest(curve, *pair) if error is None else error
            for pair, error in zip(pairwise(points), errors, strict=True)
        ]
        split = [place for place, error in enumerate(errors) if error is None and apart[place] > wanted]
        if max_vertices is not None:
            split = sorted(sorted(split, key=lambda place: -apart[place])[: max_vertices - len(points)])
        if not split:
            return _frontier(curve, _vertices(curve, points), max(apart) + solved_to)
        found = curve.at_all([chord(points[place], points[place + 1]) for place in split], solved_to)
        for place, point in reversed(list(zip(split, found, strict=True))):
            above = _above_chord(curve, points[place], points[place + 1], point)
            if above <= max(wanted, EXACT):
                errors[place] = above
            else:
                points.insert(place + 1, point)
                errors.insert(place, None)


def _checked(tolerance: float, max_vertices: int | None, curve: Curve) -> float:
    if not is_real(tolerance) or not 0.0 <= tolerance < np.inf:
        raise InputError(explain("tolerance", f"is {tolerance!r}", "be a finite number of at least 0"))
    if tolerance == 0.0 and not curve.is_straight:
        hint = "tolerance=1e-6 gives a few hundred points."
        raise InputError(explain("tolerance", "is 0", "be positive: with KL the curve is smooth, not a polyline", hint))
    if max_vertices is not None and not (is_whole(max_vertices) and max_vertices >= 2):
        raise InputError(explain("max_vertices", f"is {max_vertices!r}", "be a whole number of at least 2, or None"))
    return float(tolerance)


def _furthest(curve: Curve, left: Point, right: Point) -> float:
    """How far the curve between two points can be from their chord: the corner of the lines that touch it there."""
    width, fall = left.relevance - right.relevance, left.cost - right.cost
    if width <= EXACT * curve.relevance_unit or fall <= EXACT:
        return 0.0
    # In units of (width, fall) the chord runs from (0, 1) to (1, 0), and a line at λ has the slope below.
    steep, gentle = _slope(right, width, fall), _slope(left, width, fall)
    if steep <= gentle or steep <= 1.0 or gentle >= 1.0:
        return 0.0
    corner = (1.0 - gentle) * (steep - 1.0) / (steep - gentle)
    return min(corner, 1.0) * _height(curve, left, right)


def _slope(point: Point, width: float, fall: float) -> float:
    """What a touching line gives up in units of width for a unit of fall; infinite at λ = 1."""
    if point.trade_off >= 1.0:
        return 1e18
    return point.trade_off / (1.0 - point.trade_off) * fall / width


def _height(curve: Curve, left: Point, right: Point) -> float:
    """The distance of the triangle's far corner (all the relevance at the lower cost) from the chord."""
    relevance = (left.relevance - right.relevance) / curve.relevance_unit
    cost = left.cost - right.cost
    return relevance * cost / hypot(relevance, cost)


def _above_chord(curve: Curve, left: Point, right: Point, point: Point) -> float:
    """How far an optimum at the chord's λ lies above the chord, with relevance in units of the scores' spread."""
    trade_off = point.trade_off
    gained = point.value(trade_off) - left.value(trade_off)
    return max(gained, 0.0) / hypot((1.0 - trade_off) * curve.relevance_unit, trade_off)


def _vertices(curve: Curve, points: list[Point]) -> list[Point]:
    """The points without those that another one equals."""
    kept = points[:1]
    for point in points[1:]:
        apart = (kept[-1].relevance - point.relevance) / curve.relevance_unit + kept[-1].cost - point.cost
        if apart > EXACT:
            kept.append(point)
        elif point.trade_off >= 1.0:
            kept[-1] = point
    return kept


def _frontier(curve: Curve, points: list[Point], error: float) -> Frontier:
    breaks = [0.0] + [chord(left, right) for left, right in pairwise(points)]
    return Frontier(
        relevance=np.array([point.relevance for point in points]),
        deviation=np.array([point.cost for point in points]),
        trade_offs=np.array(breaks),
        policies=tuple(point.policy for point in points),
        error=error,
        solves=curve.solves,
        curve=curve,
    )


def _labelled(trade_offs: Floats) -> list[int]:
    """A few vertices, evenly spread, with the first and the last."""
    return sorted({round(place) for place in np.linspace(0, len(trade_offs) - 1, 6)})
