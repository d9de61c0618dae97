"""The whole frontier: the exact curve between relevance and deviation as a polyline with a certified distance.

It takes enough optimal points that the polyline through them is as near to the curve as was asked. The curve lies
between the chords of known points and the lines that touch it there. Where the two are too far apart, a sort at prices
between those of the two points may still show that the curve is near the chord; otherwise the stretch is split at the
chord's own λ. All new points of a round are solved in one sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, sqrt
from typing import Any

import numpy as np

from excalibr._options import real_number, whole_number
from excalibr._policy import Policy
from excalibr._solver import Curve, Point, solve
from excalibr._types import Floats
from excalibr.errors import InputError, needs_extra


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
            raise InputError("relevance_loss and max_deviation", "are both given or both left out", "be one of the two")
        budget = {"trade_off": None, "relevance_loss": relevance_loss, "max_deviation": max_deviation}
        return solve(self.curve.problem.asking(**budget))

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve on matplotlib axes, or on new ones; returns them."""
        with needs_extra("plot", "matplotlib"):
            import matplotlib.pyplot as plt
        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        axes.plot(self.deviation, self.relevance, color="#1b6ca8", linewidth=2, marker="o", markersize=4)
        for place in sorted({round(place) for place in np.linspace(0, len(self) - 1, 6)}):  # a few, with both ends
            axes.annotate(
                f"λ = {self.trade_offs[place]:.2g}",
                (self.deviation[place], self.relevance[place]),
                xytext=(8, -10),
                textcoords="offset points",
                fontsize=8,
                color="#555555",
            )
        axes.set(xlabel="deviation from the target", ylabel="relevance")
        axes.set_title(f"{self._size()}, exact to {self.error:.1g}", fontsize=10)
        axes.grid(alpha=0.3)
        return axes

    def _repr_html_(self) -> str:
        from excalibr._grid import MOST_ROWS, grid_of, html_of, numbers

        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), MOST_ROWS)).round().astype(int))
        measures = {"relevance": self.relevance[shown], "deviation": self.deviation[shown]}
        columns = {"from λ": numbers(self.trade_offs[shown])}
        columns |= {name: numbers(values) for name, values in measures.items()}
        bars = {name: _part(values) for name, values in measures.items()}
        headline = f"The frontier: {self._size()}, exact to {self.error:.1g}"
        return html_of(headline, grid_of(columns, (), len(self) - len(shown), bars=bars))

    def _size(self) -> str:
        return "1 vertex" if len(self) == 1 else f"{len(self)} vertices"

    def __len__(self) -> int:
        return len(self.relevance)

    def __repr__(self) -> str:
        return (
            f"Frontier({self._size()}, relevance {self.relevance[0]:.6g} to {self.relevance[-1]:.6g}, "
            f"deviation {self.deviation[0]:.6g} to {self.deviation[-1]:.6g}, error {self.error:.1e}, "
            f"{self.solves} solves)"
        )


def _part(values: Floats) -> Floats:
    """How far up each is from the least of them, or from 0, to the largest."""
    least = min(float(values.min()), 0.0)
    spread = float(values.max()) - least
    return (values - least) / spread if spread > 0.0 else np.zeros(len(values))


EXACT = 1e-9
"""The distance within which points are the same, and on a chord, when every vertex is asked for."""

PART_FOR_SOLVES = 0.4
"""How exactly points are solved, as a part of the tolerance."""

MOST_SOLVES, MOST_OPERATIONS = 20_000, 6e9
"""After so many programs, or multiplications of their solvers, which are two seconds, the polyline is left as it is,
with the error that was certified by then."""

ROUNDING = 4e-15
"""Of a cost: how far it can be from what it stands for, which shows where weights are huge."""

LEAST_SPREAD = 1e-305
"""Scores that differ by less count as equal, as in the kernel: such numbers have few digits left."""

VERTICAL = 1e18
UNKNOWN = -1.0
WORTH_A_BOUND = 4.0
"""Where touching lines are further apart than so many times what is wanted, no bound would save the stretch."""


def trace(curve: Curve, tolerance: float = 1e-4, max_vertices: int | None = None) -> Frontier:
    """A polyline within ``tolerance`` of the curve; every vertex of it for 0."""
    wanted = _checked(tolerance, max_vertices, curve)
    solved_to = max(curve.problem.options.tolerance, PART_FOR_SOLVES * wanted)
    allowed = max(wanted, EXACT + solved_to)
    spread = float(np.ptp(curve.problem.scores))
    unit = spread if spread >= LEAST_SPREAD else 1.0  # what differences in relevance are measured by
    vertices = [_vertex(curve.at(0.0), unit), _vertex(curve.at(1.0), unit)]
    solved = {0.0, 1.0}  # a λ a second time tells nothing new: rounding leaves chords that lead back to it
    while True:
        distances = [_distance_to_curve(curve, left, right, allowed, unit) for left, right in pairwise(vertices)]
        places = [
            place
            for place in _too_far(distances, allowed, len(vertices), max_vertices)
            if chord(vertices[place].point, vertices[place + 1].point) not in solved
        ]
        moved = False
        for place, point in reversed(_solved(curve, vertices, places, solved_to)):
            solved.add(point.trade_off)
            moved |= _split(vertices, place, point, allowed, unit)
        if not moved:  # near enough, or no further point would tell more
            distances = [_distance_to_curve(curve, left, right, allowed, unit) for left, right in pairwise(vertices)]
            return _frontier(curve, vertices, max(distances))


def _solved(curve: Curve, vertices: list[_Vertex], places: list[int], tolerance: float) -> list[tuple[int, Point]]:
    """The optimum at the chord of each of these stretches, as far as the effort goes that is left."""
    points = []
    for place in places:
        if curve.solves >= MOST_SOLVES or curve.operations >= MOST_OPERATIONS:
            break
        trade_off, prices = _between(vertices[place].point, vertices[place + 1].point)
        points.append((place, curve.at(trade_off, tolerance, prices)))
    return points


def chord(left: Point, right: Point) -> float:
    """The λ at which two points are worth the same; the left one is the more relevant."""
    relevance, cost = max(left.relevance - right.relevance, 0.0), max(left.cost - right.cost, 0.0)
    return relevance / (relevance + cost) if relevance + cost > 0.0 else 0.5


@dataclass(slots=True)
class _Vertex:
    """An optimal point, and the smallest and the largest λ at which it is known to be optimal.

    ``slack`` is how far above it the touching lines at these λ can lie, ``distance`` how far the curve can be from the
    chord to the next vertex.
    """

    point: Point
    low: float
    high: float
    slack: float
    distance: float = UNKNOWN


def _vertex(point: Point, unit: float) -> _Vertex:
    return _Vertex(point, point.trade_off, point.trade_off, _distance_above(point.trade_off, point.policy.gap, unit))


_check_tolerance = real_number("be a finite number of at least 0", lambda value: 0.0 <= value < np.inf)
_check_max_vertices = whole_number(2)


def _checked(tolerance: float, max_vertices: int | None, curve: Curve) -> float:
    _check_tolerance("tolerance", tolerance)
    if tolerance == 0.0 and curve.problem.penalty.smoothing:
        hint = "tolerance=1e-6 gives a few hundred points."
        raise InputError("tolerance", "is 0", "be positive: with KL the curve is smooth, not a polyline", hint)
    if max_vertices is not None:
        _check_max_vertices("max_vertices", max_vertices)
    return float(tolerance)


def _too_far(distances: list[float], allowed: float, count: int, max_vertices: int | None) -> list[int]:
    """The stretches to split, in order; the widest ones where only so many vertices are wanted."""
    places = [place for place, distance in enumerate(distances) if distance > allowed]
    if max_vertices is None:
        return places
    return sorted(sorted(places, key=lambda place: -distances[place])[: max(max_vertices - count, 0)])


def _split(vertices: list[_Vertex], place: int, point: Point, allowed: float, unit: float) -> bool:
    """Put the optimum at a chord's λ between its ends, unless it shows that the curve is near the chord.

    False if that showed nothing new.
    """
    left, right = vertices[place], vertices[place + 1]
    before = (left.high, right.low)
    left.distance = UNKNOWN
    gained = max(point.value(point.trade_off) - left.point.value(point.trade_off), 0.0) + point.policy.gap
    above = _distance_above(point.trade_off, gained, unit)
    if above <= allowed:
        left.distance = above
        return True
    if _distance(left.point, point, unit) <= EXACT:
        left.high, left.slack = max(left.high, point.trade_off), max(left.slack, above)
    elif _distance(point, right.point, unit) <= EXACT:
        right.low, right.slack = min(right.low, point.trade_off), max(right.slack, above)
    else:
        vertices.insert(place + 1, _vertex(point, unit))
        return True
    left.distance = min(_furthest(left, right, unit), above)
    return before != (left.high, right.low)


def _distance_to_curve(curve: Curve, left: _Vertex, right: _Vertex, allowed: float, unit: float) -> float:
    """How far the curve can be from the chord, as the touching lines show it or, where that is not enough, a bound."""
    if left.distance == UNKNOWN:
        left.distance = _furthest(left, right, unit)
        if allowed < left.distance <= WORTH_A_BOUND * allowed:
            trade_off, prices = _between(left.point, right.point)
            if prices is not None:  # what they prove takes one sort
                policy = left.point.policy
                gap = curve.gap_at(trade_off, policy.rankings, policy.weights, prices)
                left.distance = min(left.distance, _distance_above(trade_off, gap, unit))
    return left.distance


def _between(left: Point, right: Point) -> tuple[float, Floats | None]:
    """The chord's λ, and prices of the curve's categories between those of the two points in its proportion."""
    trade_off, width = chord(left, right), right.trade_off - left.trade_off
    known, others = left.policy._known_prices, right.policy._known_prices
    if known is None or others is None or width <= 0.0:
        return trade_off, None
    share = (trade_off - left.trade_off) / width
    return trade_off, np.asarray((1.0 - share) * known[1] + share * others[1])


def _furthest(left: _Vertex, right: _Vertex, unit: float) -> float:
    """How far the curve between two points can be from their chord: the corner of the lines that touch it there."""
    width, fall = left.point.relevance - right.point.relevance, left.point.cost - right.point.cost
    # The chord's normal is a sum of the lines' normals with coefficients whose sum is at most √2.
    slack = sqrt(2.0) * max(left.slack, right.slack)
    if width <= EXACT * unit or fall <= EXACT:
        return max(min(width / unit, fall), 0.0) + slack
    # In units of (width, fall) the chord runs from (0, 1) to (1, 0), and a line at λ has the slope below.
    steep, gentle = _slope(right.low, width, fall), _slope(left.high, width, fall)
    if steep <= gentle or steep <= 1.0 or gentle >= 1.0:
        return slack
    corner = (1.0 - gentle) * (steep - 1.0) / (steep - gentle)
    relevance = width / unit
    return min(corner, 1.0) * relevance * fall / hypot(relevance, fall) + slack


def _slope(trade_off: float, width: float, fall: float) -> float:
    """What a touching line gives up in units of width for a unit of fall; infinite at λ = 1."""
    return VERTICAL if trade_off >= 1.0 else trade_off / (1.0 - trade_off) * fall / width


def _distance(left: Point, right: Point, unit: float) -> float:
    return hypot((left.relevance - right.relevance) / unit, left.cost - right.cost)


def _distance_above(trade_off: float, gained: float, unit: float) -> float:
    """How far apart two lines at this λ are whose objectives differ by so much."""
    return gained / hypot((1.0 - trade_off) * unit, trade_off)


def _frontier(curve: Curve, vertices: list[_Vertex], error: float) -> Frontier:
    points = _envelope([vertex.point for vertex in vertices])
    error += max(vertices[0].slack, vertices[-1].slack)  # the curve may go on beyond an end that was not quite reached
    error += ROUNDING * max(0.0, *(vertex.point.cost for vertex in vertices))
    return Frontier(
        relevance=np.array([point.policy.relevance for point in points]),
        deviation=np.array([point.cost for point in points]),
        trade_offs=np.array([0.0] + [chord(left, right) for left, right in pairwise(points)]),
        policies=tuple(point.policy for point in points),
        error=error,
        solves=curve.solves,
        curve=curve,
    )


def _envelope(points: list[Point]) -> list[Point]:
    """The points that no chord of two others passes over: what the solves left uneven is evened out."""
    kept: list[Point] = []
    for point in points:
        while kept and not _falls(kept[-1], point) and _replaces(point, kept):
            kept.pop()
        if kept and not _falls(kept[-1], point):
            continue
        while len(kept) > 1 and chord(kept[-2], kept[-1]) >= chord(kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _falls(left: Point, right: Point) -> bool:
    """Whether both measures fall from a point to the next, as they do along the curve."""
    return left.relevance > right.relevance and left.cost > right.cost


def _replaces(point: Point, kept: list[Point]) -> bool:
    """Whether a point takes the last one's place: the better of two, and the end at λ = 1 where rounding raised it."""
    last = kept[-1]
    rounding = ROUNDING if point.trade_off == 1.0 and len(kept) > 1 else 0.0
    return last.relevance <= point.relevance and (1.0 + rounding) * last.cost >= point.cost
