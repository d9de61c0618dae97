"""Descent of a smooth convex function between bounds: limited-memory BFGS steps of the free variables, projected.

A variable at a bound that the slope pushes against is held; the others take the quasi-Newton step and are clipped. With
thousands of prices, most of them at a bound, a step costs a few products of vectors, which is what scipy's L-BFGS-B
does not manage there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from excalibr._types import Booleans, Floats

MEMORY = 12
"""Steps that are remembered."""
SUFFICIENT = 1e-4
"""Which part of the decrease that the slope promises a step must bring."""
LEAST_STEP = 1e-10
LEAST_SLOPE = 1e-10


def descend(
    value: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    lowest: Floats,
    highest: Floats,
    steps: int,
    worth: float = 0.0,
) -> Floats:
    """The lowest point that so many steps find; ``value`` gives the function and its gradient.

    Two steps in turn that bring less than they are ``worth`` are the last.

    >>> target = np.array([0.5, 2.0])
    >>> descend(lambda x: (float(((x - target) ** 2).sum()), 2 * (x - target)), np.zeros(2), np.zeros(2), np.ones(2), 9)
    array([0.5, 1. ])
    """
    at = np.clip(start, lowest, highest)
    height, slope = value(at)
    known: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    gained = np.inf
    for _ in range(steps):
        free = ~((at <= lowest) & (slope > 0) | (at >= highest) & (slope < 0))
        if not np.abs(slope[free]).max(initial=0.0) > LEAST_SLOPE:
            break
        found = _searched(value, at, height, slope, _direction(slope, free, known), lowest, highest)
        if found is None:
            break
        then, lower, steeper = found
        moved, turned = then - at, steeper - slope
        if moved @ turned > 1e-12 * (turned @ turned):
            known.append((moved, turned))
        before, gained = gained, height - lower
        at, height, slope = then, lower, steeper
        if not gained > 0 or max(before, gained) < worth:
            break
    return at


def _direction(slope: Floats, free: Booleans, known: deque[tuple[Floats, Floats]]) -> Floats:
    """Minus the inverse Hessian of the free variables times their slope, by the two loops over the steps known."""
    direction = np.where(free, -slope, 0.0)
    pairs = []
    for moved, turned in known:
        moved, turned = moved * free, turned * free
        curvature, square = moved @ turned, turned @ turned
        if curvature > 1e-12 * square:
            pairs.append((moved, turned, curvature))
            scale = curvature / square
    if not pairs:
        return np.asarray(direction / np.abs(direction).sum())
    shares = []
    for moved, turned, curvature in reversed(pairs):
        shares.append((moved @ direction) / curvature)
        direction -= shares[-1] * turned
    direction *= scale
    for (moved, turned, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - (turned @ direction) / curvature) * moved
    return direction


def _searched(
    value: Callable[[Floats], tuple[float, Floats]],
    at: Floats,
    height: float,
    slope: Floats,
    direction: Floats,
    lowest: Floats,
    highest: Floats,
) -> tuple[Floats, float, Floats] | None:
    """The first point along the projected direction that is low enough, with its value and slope; None without."""
    step = 1.0
    while step > LEAST_STEP:
        then = np.clip(at + step * direction, lowest, highest)
        promised = float(slope @ (then - at))
        lower, steeper = value(then)
        if promised < 0 and lower <= height + SUFFICIENT * promised:
            return then, lower, steeper
        curved = 2.0 * (lower - height - promised)
        step *= float(np.clip(-promised / curved, 0.1, 0.5)) if curved > 0 else 0.5
    return None
