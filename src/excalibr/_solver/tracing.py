"""Traces the frontier: enough optimal points that the polyline through them is as near to the curve as was asked.

The curve lies between the chords of known points and the lines that touch it there. Where the two are too far apart, a
sort at prices between those of the two points may still show that the curve is near the chord; otherwise the stretch is
split at the chord's own λ. All new points of a round are solved in one sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, sqrt

import numpy as np

from excalibr._arrays import is_real, is_whole
from excalibr._solver import Curve, Point
from excalibr._solver.frontier import Frontier
from excalibr._types import Floats
from excalibr.errors import InputError, explain

__all__ = ["trace"]

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
    near = max(wanted, EXACT + solved_to)
    unit = _unit(curve)
    stops = [_stop(curve.at(0.0), unit), _stop(curve.at(1.0), unit)]
    solved = {0.0, 1.0}  # a λ a second time tells nothing new: rounding leaves chords that lead back to it
    while True:
        apart = [_apart(curve, left, right, near, unit) for left, right in pairwise(stops)]
        places = [
            place
            for place in _too_far(apart, near, len(stops), max_vertices)
            if chord(stops[place].point, stops[place + 1].point) not in solved
        ]
        moved = False
        for place, point in reversed(_solved(curve, stops, places, solved_to)):
            solved.add(point.trade_off)
            moved |= _split(stops, place, point, near, unit)
        if not moved:  # near enough, or no further point would tell more
            return _frontier(curve, stops, max(_apart(curve, *pair, near, unit) for pair in pairwise(stops)))


def _solved(curve: Curve, stops: list[_Vertex], places: list[int], tolerance: float) -> list[tuple[int, Point]]:
    """The optimum at the chord of each of these stretches, as far as the effort goes that is left."""
    points = []
    for place in places:
        if curve.solves >= MOST_SOLVES or curve.operations >= MOST_OPERATIONS:
            break
        left, right = stops[place], stops[place + 1]
        at = chord(left.point, right.point)
        points.append((place, curve.at(at, tolerance, _prices_between(left, right, at))))
    return points


def chord(left: Point, right: Point) -> float:
    """The λ at which two points are worth the same; the left one is the more relevant."""
    relevance, cost = max(left.relevance - right.relevance, 0.0), max(left.cost - right.cost, 0.0)
    return relevance / (relevance + cost) if relevance + cost > 0.0 else 0.5


def _unit(curve: Curve) -> float:
    """The spread of the scores: what differences in relevance are measured by."""
    spread = float(np.ptp(curve.problem.scores))
    return spread if spread >= LEAST_SPREAD else 1.0


@dataclass(slots=True)
class _Vertex:
    """An optimal point, and the smallest and the largest λ at which it is known to be optimal.

    ``slack`` is how far above it the touching lines at these λ can lie, ``apart`` how far the curve can be from the
    chord to the next stop.
    """

    point: Point
    low: float
    high: float
    slack: float
    apart: float = UNKNOWN


def _stop(point: Point, unit: float) -> _Vertex:
    return _Vertex(point, point.trade_off, point.trade_off, _distance_above(point.trade_off, point.policy.gap, unit))


def _checked(tolerance: float, max_vertices: int | None, curve: Curve) -> float:
    if not is_real(tolerance) or not 0.0 <= tolerance < np.inf:
        raise InputError(explain("tolerance", f"is {tolerance!r}", "be a finite number of at least 0"))
    if tolerance == 0.0 and curve.problem.penalty.smoothing:
        hint = "tolerance=1e-6 gives a few hundred points."
        raise InputError(explain("tolerance", "is 0", "be positive: with KL the curve is smooth, not a polyline", hint))
    if max_vertices is not None and not (is_whole(max_vertices) and max_vertices >= 2):
        raise InputError(explain("max_vertices", f"is {max_vertices!r}", "be a whole number of at least 2, or None"))
    return float(tolerance)


def _too_far(apart: list[float], near: float, count: int, max_vertices: int | None) -> list[int]:
    """The stretches to split, in order; the widest ones where only so many vertices are wanted."""
    places = [place for place, distance in enumerate(apart) if distance > near]
    if max_vertices is None:
        return places
    return sorted(sorted(places, key=lambda place: -apart[place])[: max(max_vertices - count, 0)])


def _split(stops: list[_Vertex], place: int, point: Point, near: float, unit: float) -> bool:
    """Put the optimum at a chord's λ between its ends, unless it shows that the curve is near the chord.

    False if that told nothing new.
    """
    left, right = stops[place], stops[place + 1]
    before = (left.high, right.low)
    left.apart = UNKNOWN
    gained = max(point.value(point.trade_off) - left.point.value(point.trade_off), 0.0) + point.policy.gap
    above = _distance_above(point.trade_off, gained, unit)
    if above <= near:
        left.apart = above
        return True
    if _distance(left.point, point, unit) <= EXACT:
        left.high, left.slack = max(left.high, point.trade_off), max(left.slack, above)
    elif _distance(point, right.point, unit) <= EXACT:
        right.low, right.slack = min(right.low, point.trade_off), max(right.slack, above)
    else:
        stops.insert(place + 1, _stop(point, unit))
        return True
    left.apart = min(_furthest(left, right, unit), above)
    return before != (left.high, right.low)


def _apart(curve: Curve, left: _Vertex, right: _Vertex, near: float, unit: float) -> float:
    """How far the curve can be from the chord, as the touching lines show it or, where that is not enough, a bound."""
    if left.apart == UNKNOWN:
        left.apart = _furthest(left, right, unit)
        if near < left.apart <= WORTH_A_BOUND * near:
            left.apart = min(left.apart, _bounded(curve, left, right, unit))
    return left.apart


def _bounded(curve: Curve, left: _Vertex, right: _Vertex, unit: float) -> float:
    """The same by the bound that prices between those of the two points prove at the chord's λ: one sort."""
    trade_off = chord(left.point, right.point)
    prices = _prices_between(left, right, trade_off)
    if prices is None:
        return float("inf")
    return _distance_above(trade_off, curve.gap_at(trade_off, left.point.policy, prices), unit)


def _prices_between(left: _Vertex, right: _Vertex, trade_off: float) -> Floats | None:
    """Prices between those of two points, in the proportion of the λ."""
    prices, others = left.point.policy.category_prices, right.point.policy.category_prices
    between = right.point.trade_off - left.point.trade_off
    if prices is None or others is None or between <= 0.0:
        return None
    share = (trade_off - left.point.trade_off) / between
    return np.asarray((1.0 - share) * prices + share * others)


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


def _frontier(curve: Curve, stops: list[_Vertex], error: float) -> Frontier:
    points = _envelope([stop.point for stop in stops])
    error += max(stops[0].slack, stops[-1].slack)  # the curve may go on beyond an end that was not quite reached
    error += ROUNDING * max(0.0, *(stop.point.cost for stop in stops))
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
