"""Minimises a smooth convex function between bounds by projected L-BFGS: limited-memory steps of the free variables.

A variable at a bound that the gradient pushes against is held; the others take the quasi-Newton step and are clipped.
With thousands of prices, most of them at a bound, a step costs a few products of vectors, which scipy's L-BFGS-B does
not manage there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from excalibr._types import Booleans, Floats

Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]

MEMORY = 12
"""Correction pairs that are kept."""
ARMIJO = 1e-4
"""Which part of the decrease that the gradient promises a step must bring."""
SMALLEST_STEP = 1e-10
SMALLEST_GRADIENT = 1e-10
LEAST_CURVATURE = 1e-12
"""Of a correction pair, relative to the change of its gradient."""


class _Iterate(NamedTuple):
    point: Floats
    value: float
    gradient: Floats


def minimise(
    objective: Objective, start: Floats, lowest: Floats, highest: Floats, max_steps: int, min_decrease: float = 0.0
) -> Floats:
    """The lowest point that is found between the bounds in so many steps.

    Parameters
    ----------
    objective
        Gives the function and its gradient.
    start
        Where to begin; clipped to the bounds.
    lowest, highest
        The bounds of the variables.
    max_steps
        How many steps there are at most.
    min_decrease
        Two steps in a row that bring less are the last.

    Examples
    --------
    >>> target = np.array([0.5, 2.0])
    >>> def square(x):
    ...     return float(((x - target) ** 2).sum()), 2 * (x - target)
    >>> minimise(square, np.zeros(2), np.zeros(2), np.ones(2), max_steps=9)
    array([0.5, 1. ])
    """
    first = np.clip(start, lowest, highest)
    current = _Iterate(first, *objective(first))
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    decrease = np.inf
    for _ in range(max_steps):
        point, value, gradient = current
        free = ~((point <= lowest) & (gradient > 0) | (point >= highest) & (gradient < 0))
        if not np.abs(gradient[free]).max(initial=0.0) > SMALLEST_GRADIENT:
            break
        following = _line_search(objective, current, _direction(gradient, free, pairs), lowest, highest)
        if following is None:
            break
        step, change = following.point - point, following.gradient - gradient
        if step @ change > LEAST_CURVATURE * (change @ change):
            pairs.append((step, change))
        decrease_before, decrease = decrease, value - following.value
        current = following
        if not decrease > 0 or max(decrease_before, decrease) < min_decrease:
            break
    return current.point


def _direction(gradient: Floats, free: Booleans, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Minus the inverse Hessian of the free variables times their gradient, by the two-loop recursion."""
    direction = np.where(free, -gradient, 0.0)
    usable = []
    for step, change in pairs:
        step, change = step * free, change * free
        curvature, square = step @ change, change @ change
        if curvature > LEAST_CURVATURE * square:
            usable.append((step, change, curvature))
            scale = curvature / square
    if not usable:
        return np.asarray(direction / np.abs(direction).sum())
    coefficients = []
    for step, change, curvature in reversed(usable):
        coefficients.append((step @ direction) / curvature)
        direction -= coefficients[-1] * change
    direction *= scale
    for (step, change, curvature), coefficient in zip(usable, reversed(coefficients), strict=True):
        direction += (coefficient - (change @ direction) / curvature) * step
    return direction


def _line_search(
    objective: Objective, current: _Iterate, direction: Floats, lowest: Floats, highest: Floats
) -> _Iterate | None:
    """The first point along the projected direction that decreases enough (Armijo), by backtracking; None without."""
    length = 1.0
    while length > SMALLEST_STEP:
        point = np.clip(current.point + length * direction, lowest, highest)
        promised = float(current.gradient @ (point - current.point))
        value, gradient = objective(point)
        if promised < 0 and value <= current.value + ARMIJO * promised:
            return _Iterate(point, value, gradient)
        curvature = 2.0 * (value - current.value - promised)
        length *= float(np.clip(-promised / curvature, 0.1, 0.5)) if curvature > 0 else 0.5
    return None
