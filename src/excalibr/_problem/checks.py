"""The checks of single arguments: each takes what the caller gave and returns it as the mathematics needs it.

An error names the argument, what was found and where, what it must be, and a hint.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers
from excalibr._types import Floats
from excalibr.errors import InputError, InputTypeError, explain

__all__ = [
    "NEGLIGIBLE_SHARE",
    "SUM_TOLERANCE",
    "WIDEST_BAND",
    "WIDEST_RANGE",
    "is_real",
    "is_share",
    "is_whole",
    "read_scores",
    "read_slots",
    "read_target",
    "read_trade_off",
    "require_all",
    "without_negligible",
]

SUM_TOLERANCE = 1e-6
"""How far from 1 a row of memberships or a target may sum; within it, it is divided by its sum."""

NEGLIGIBLE_SHARE = 1e-30
"""A target's share that is smaller is taken as 0: nothing that is shown could tell the two apart."""

WIDEST_BAND = 1e30
"""An edge of a band may be no further from 0: shares are from 0 to 1."""

WIDEST_RANGE = 1e150
"""Scores may differ by no more: beyond it the squares of differences overflow."""


def read_scores(scores: ArrayLike) -> Floats:
    """(n,) finite numbers, at least one."""
    array = numbers("scores", scores)
    if array.ndim != 1:
        raise InputError(explain("scores", f"have shape {array.shape}", "have shape (n,)"))
    if not array.size:
        raise InputError(explain("scores", "are empty", "have at least one candidate"))
    lowest, highest = float(array.min()), float(array.max())
    if not (isfinite(lowest) and isfinite(highest)):  # nan is both
        require_all("scores", array, np.isfinite, "be finite", "drop the candidates without a score before re-ranking.")
    if max(highest, -lowest) > WIDEST_RANGE:
        hint = "leave candidates out instead of masking them with a huge score."
        found = f"go from {lowest:.3g} to {highest:.3g}"
        raise InputError(explain("scores", found, f"be within ±{WIDEST_RANGE:g}", hint))
    return frozen(array)


def read_target(target: ArrayLike, r: int, name: str = "target") -> Floats:
    """(r,) shares that sum to 1."""
    array = numbers(name, target)
    if array.shape != (r,):
        raise InputError(explain(name, f"has shape {array.shape}", f"have shape ({r},), one for each category"))
    total = float(np.add.reduce(array))
    if not (isfinite(total) and min(array.tolist()) >= 0.0):  # of few numbers, Python finds the least more quickly
        require_all(name, array, is_share, "be finite and at least 0")
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(explain(name, f"sums to {total:.6g}", "sum to 1", "divide it by its sum."))
    return frozen(without_negligible(array / total))


def without_negligible(target: Floats) -> Floats:
    """A target, rows of targets, or an edge of a band, with shares that are too small to matter taken as 0."""
    small = np.abs(target) < NEGLIGIBLE_SHARE
    if small.any():
        target = np.where(small, 0.0, target)
    return target


def read_slots(k: int | None, n: int) -> int:
    """The number of slots, at most n; n where none is given."""
    if k is None:
        return n
    if not is_whole(k):
        raise InputTypeError(explain("k", f"is {k!r}", "be a whole number or None"))
    if not 1 <= k <= n:
        hint = "pass more candidates, or a smaller k." if k > n else "leave k out for as many slots as candidates."
        raise InputError(explain("k", f"is {k}", f"be at least 1 and at most the number of candidates ({n})", hint))
    return int(k)


def read_trade_off(trade_off: float) -> float:
    """λ, a number from 0 to 1."""
    if not is_real(trade_off):
        raise InputTypeError(explain("trade_off", f"is {trade_off!r}", "be a number from 0 to 1"))
    value = float(trade_off)
    if not 0.0 <= value <= 1.0:
        raise InputError(explain("trade_off", f"is {value}", "be from 0 (relevance only) to 1 (calibration only)"))
    return value


def is_whole(value: object) -> bool:
    """An integer, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """A number, and not a truth value."""
    return isinstance(value, (float, Real)) and not isinstance(value, bool)  # a float is known at once


def is_share(array: Floats) -> Any:
    """Finite and at least 0, element by element."""
    return np.isfinite(array) & (array >= 0)


def require_all(argument: str, array: Floats, test: Callable[[Floats], Any], must: str, hint: str = "") -> None:
    """Raise an error that names the first element that fails the test."""
    good = test(array)
    if not good.all():
        at = int(np.argmin(good))
        raise InputError(explain(argument, f"element {at} is {array[at]}", must, hint))
