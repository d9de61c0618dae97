"""Traces the frontier: enough optimal points that the polyline through them is as near to the curve as was asked.

The curve lies between the chords of known points and the lines that touch it there. Where the two are too far apart the
stretch is split, into as many parts as its distance asks for, and all new points are solved in one sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import atan, ceil, hypot, sqrt, tan

import numpy as np

from excalibr.errors import InputError, explain
from excalibr.problem import is_real, is_whole
from excalibr.tradeoffs.curve import Curve, Point, chord
from excalibr.tradeoffs.frontier import Frontier

__all__ = ["trace"]

EXACT = 1e-9
"""The distance within which points are the same, and on a chord, when every vertex is asked for."""

PART_FOR_SOLVES = 0.02
"""How exactly points are solved, as a part of the tolerance."""

MOST_PARTS = 3
HOPE = 0.3
VERTICAL = 1e18


def trace(curve: Curve, tolerance: float = 1e-4, max_vertices: int | None = None) -> Frontier:
    """A polyline within ``tolerance`` of the curve; every vertex of it for 0."""
    wanted = _checked(tolerance, max_vertices, curve)
    solved_to = max(curve.limits.tolerance, PART_FOR_SOLVES * wanted)
    stops = [_Stop(curve.most_relevant, 0.0, 0.0), _Stop(curve.best_calibrated, 1.0, 1.0)]
    while True:
        apart = [_furthest(curve, left, right) for left, right in pairwise(stops)]
        parts = _parts(apart, max(wanted, EXACT), len(stops), max_vertices)
        if not parts:
            return _frontier(curve, stops, max(apart, default=0.0) + solved_to)
        asked = {place: _trade_offs(stops[place], stops[place + 1], count) for place, count in parts.items()}
        found = iter(curve.at_all([each for trade_offs in asked.values() for each in trade_offs], solved_to))
        points = {place: [next(found) for _ in trade_offs] for place, trade_offs in asked.items()}
        for place in sorted(points, reverse=True):
            stops[place + 1 : place + 1] = _between(curve, stops[place], stops[place + 1], points[place], solved_to)


@dataclass(slots=True)
class _Stop:
    """An optimal point, and the smallest and the largest λ at which it is known to be optimal."""

    point: Point
    low: float
    high: float


def _checked(tolerance: float, max_vertices: int | None, curve: Curve) -> float:
    if not is_real(tolerance) or not 0.0 <= tolerance < np.inf:
        raise InputError(explain("tolerance", f"is {tolerance!r}", "be a finite number of at least 0"))
    if tolerance == 0.0 and not curve.is_straight:
        hint = "tolerance=1e-6 gives a few hundred points."
        raise InputError(explain("tolerance", "is 0", "be positive: with KL the curve is smooth, not a polyline", hint))
    if max_vertices is not None and not (is_whole(max_vertices) and max_vertices >= 2):
        raise InputError(explain("max_vertices", f"is {max_vertices!r}", "be a whole number of at least 2, or None"))
    return float(tolerance)


def _parts(apart: list[float], wanted: float, count: int, max_vertices: int | None) -> dict[int, int]:
    """Into how many parts to split which stretches: the distance falls with the square of their number, or faster."""
    parts = {
        place: min(max(2, ceil(sqrt(HOPE * distance / wanted))), MOST_PARTS)
        for place, distance in enumerate(apart)
        if distance > wanted
    }
    if max_vertices is None:
        return parts
    widest = sorted(parts, key=lambda place: -apart[place])[: max(max_vertices - count, 0)]
    return dict.fromkeys(sorted(widest), 2)


def _trade_offs(left: _Stop, right: _Stop, parts: int) -> list[float]:
    """Where to solve, rising: the chord's own λ for two parts, lines at even angles for more."""
    if parts == 2:
        return [chord(left.point, right.point)]
    width, fall = left.point.relevance - right.point.relevance, left.point.cost - right.point.cost
    first, last = atan(_slope(left.high, width, fall)), atan(_slope(right.low, width, fall))
    slopes = [tan(first + (last - first) * part / parts) * width / fall for part in range(1, parts)]
    return [slope / (1.0 + slope) for slope in slopes]


def _between(curve: Curve, left: _Stop, right: _Stop, points: list[Point], solved_to: float) -> list[_Stop]:
    """The new stops between two; a point that is an old one, or on their chord, tells at which λ they are optimal."""
    new: list[_Stop] = []
    same = max(EXACT, solved_to)
    for point in points:
        last = new[-1] if new else left
        if _distance(curve, last.point, point) <= same:
            last.high = max(last.high, point.trade_off)
        elif _distance(curve, point, right.point) <= same:
            right.low = min(right.low, point.trade_off)
        elif len(points) == 1 and _above_chord(curve, left, point) <= same:
            left.high = right.low = point.trade_off
        else:
            new.append(_Stop(point, point.trade_off, point.trade_off))
    return new


def _furthest(curve: Curve, left: _Stop, right: _Stop) -> float:
    """How far the curve between two points can be from their chord: the corner of the lines that touch it there."""
    width, fall = left.point.relevance - right.point.relevance, left.point.cost - right.point.cost
    if width <= EXACT * curve.relevance_unit or fall <= EXACT:
        return 0.0
    # In units of (width, fall) the chord runs from (0, 1) to (1, 0), and a line at λ has the slope below.
    steep, gentle = _slope(right.low, width, fall), _slope(left.high, width, fall)
    if steep <= gentle or steep <= 1.0 or gentle >= 1.0:
        return 0.0
    corner = (1.0 - gentle) * (steep - 1.0) / (steep - gentle)
    relevance = width / curve.relevance_unit
    return min(corner, 1.0) * relevance * fall / hypot(relevance, fall)


def _slope(trade_off: float, width: float, fall: float) -> float:
    """What a touching line gives up in units of width for a unit of fall; infinite at λ = 1."""
    return VERTICAL if trade_off >= 1.0 else trade_off / (1.0 - trade_off) * fall / width


def _distance(curve: Curve, left: Point, right: Point) -> float:
    return hypot((left.relevance - right.relevance) / curve.relevance_unit, left.cost - right.cost)


def _above_chord(curve: Curve, left: _Stop, point: Point) -> float:
    """How far an optimum at the chord's λ lies above the chord, with relevance in units of the scores' spread."""
    gained = point.value(point.trade_off) - left.point.value(point.trade_off)
    return max(gained, 0.0) / hypot((1.0 - point.trade_off) * curve.relevance_unit, point.trade_off)


def _frontier(curve: Curve, stops: list[_Stop], error: float) -> Frontier:
    points = _envelope([stop.point for stop in stops])
    return Frontier(
        relevance=np.array([point.relevance for point in points]),
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
        if kept and (kept[-1].relevance <= point.relevance or kept[-1].cost <= point.cost):
            if point.trade_off < 1.0 or len(kept) == 1:
                continue
            kept.pop()  # the last end stays
        while len(kept) > 1 and chord(kept[-2], kept[-1]) >= chord(kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept
