"""Traces the frontier: enough optimal points that the polyline through them is as near to the curve as was asked.

The curve lies between the chords of known points and the lines that touch it there. Where the two are too far apart, a
sort at prices between those of the two points may still show that the curve is near the chord; otherwise the stretch is
split at the chord's own λ. All new points of a round are solved in one sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np

from excalibr._types import Floats
from excalibr.errors import InputError, explain
from excalibr.problem import is_real, is_whole
from excalibr.tradeoffs.curve import Curve, Point, chord
from excalibr.tradeoffs.frontier import Frontier

__all__ = ["trace"]

EXACT = 1e-9
"""The distance within which points are the same, and on a chord, when every vertex is asked for."""

PART_FOR_SOLVES = 0.4
"""How exactly points are solved, as a part of the tolerance."""

VERTICAL = 1e18
UNKNOWN = -1.0
WORTH_A_BOUND = 4.0
"""Where touching lines are further apart than so many times what is wanted, no bound would save the stretch."""


def trace(curve: Curve, tolerance: float = 1e-4, max_vertices: int | None = None) -> Frontier:
    """A polyline within ``tolerance`` of the curve; every vertex of it for 0."""
    wanted = _checked(tolerance, max_vertices, curve)
    solved_to = max(curve.limits.tolerance, PART_FOR_SOLVES * wanted)
    near = max(wanted, EXACT + solved_to)
    stops = [_Stop(curve.most_relevant, 0.0, 0.0), _Stop(curve.best_calibrated, 1.0, 1.0)]
    while True:
        apart = [_apart(curve, left, right, near, solved_to) for left, right in pairwise(stops)]
        places = _too_far(apart, near, len(stops), max_vertices)
        if not places:
            return _frontier(curve, stops, max(apart, default=0.0))
        chords = [chord(stops[place].point, stops[place + 1].point) for place in places]
        points = curve.at_all(chords, solved_to, _starts(stops, places, chords))
        for place, point in zip(reversed(places), reversed(points), strict=True):
            _split(curve, stops, place, point, near)


@dataclass(slots=True)
class _Stop:
    """An optimal point, and the smallest and the largest λ at which it is known to be optimal.

    ``apart`` is how far the curve can be from the chord to the next stop.
    """

    point: Point
    low: float
    high: float
    apart: float = UNKNOWN


def _checked(tolerance: float, max_vertices: int | None, curve: Curve) -> float:
    if not is_real(tolerance) or not 0.0 <= tolerance < np.inf:
        raise InputError(explain("tolerance", f"is {tolerance!r}", "be a finite number of at least 0"))
    if tolerance == 0.0 and not curve.is_straight:
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


def _split(curve: Curve, stops: list[_Stop], place: int, point: Point, near: float) -> None:
    """Put the optimum at a chord's λ between its ends, unless it shows that the curve is near the chord."""
    left, right = stops[place], stops[place + 1]
    left.apart = UNKNOWN
    gained = max(point.value(point.trade_off) - left.point.value(point.trade_off), 0.0) + point.policy.gap
    above = _distance_above(curve, point.trade_off, gained)
    if above <= near:
        left.apart = above
    elif _distance(curve, left.point, point) <= EXACT:
        left.high = max(left.high, point.trade_off)
    elif _distance(curve, point, right.point) <= EXACT:
        right.low = min(right.low, point.trade_off)
    else:
        stops.insert(place + 1, _Stop(point, point.trade_off, point.trade_off))


def _apart(curve: Curve, left: _Stop, right: _Stop, near: float, solved_to: float) -> float:
    """How far the curve can be from the chord, as the touching lines show it or, where that is not enough, a bound."""
    if left.apart == UNKNOWN:
        left.apart = _furthest(curve, left, right) + solved_to
        if near < left.apart <= WORTH_A_BOUND * near:
            left.apart = min(left.apart, _bounded(curve, left, right))
    return left.apart


def _bounded(curve: Curve, left: _Stop, right: _Stop) -> float:
    """The distance between the chord and the parallel to it that prices between those of the two points prove."""
    trade_off = chord(left.point, right.point)
    prices = _prices_between(left, right, trade_off)
    if prices is None:
        return float("inf")
    return _distance_above(curve, trade_off, curve.gap_at(trade_off, left.point, prices))


def _starts(stops: list[_Stop], places: list[int], trade_offs: list[float]) -> Floats | None:
    """(T, r) prices between those of each stretch's ends, near those of the optimum that is looked for."""
    pairs = zip(places, trade_offs, strict=True)
    found = [_prices_between(stops[place], stops[place + 1], trade_off) for place, trade_off in pairs]
    return None if any(prices is None for prices in found) else np.array(found)


def _prices_between(left: _Stop, right: _Stop, trade_off: float) -> Floats | None:
    """Prices between those of two points, in the proportion of the λ."""
    prices, others = left.point.policy.category_prices, right.point.policy.category_prices
    between = right.point.trade_off - left.point.trade_off
    if prices is None or others is None or between <= 0.0:
        return None
    share = (trade_off - left.point.trade_off) / between
    return np.asarray((1.0 - share) * prices + share * others)


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


def _distance_above(curve: Curve, trade_off: float, gained: float) -> float:
    """How far apart two lines at this λ are whose objectives differ by so much."""
    return gained / hypot((1.0 - trade_off) * curve.relevance_unit, trade_off)


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
