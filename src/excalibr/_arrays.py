"""Numbers and arrays read from whatever the caller has, summed by label, and made read-only once they are ours."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError

Array = TypeVar("Array", bound="NDArray[np.generic]")

_FLOAT64 = np.dtype(np.float64)


_NOT_NUMBERS = (bool, np.timedelta64)
"""Integers to Python and numpy, which nobody means as a number: a truth value, and a time with its unit."""


def is_whole(value: object) -> TypeGuard[int]:
    """An integer, and neither a truth value nor a time."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, _NOT_NUMBERS)


def is_real(value: object) -> TypeGuard[float]:
    """A number, and neither a truth value nor a time."""
    return isinstance(value, (float, Real)) and not isinstance(value, _NOT_NUMBERS)  # a float is known at once


def numbers(argument: str, values: ArrayLike, *, own: bool = True) -> Floats:
    """A new float64 array of the values; where it need not be our own, the caller's, if that is one.

    What numpy would turn into numbers in silence is refused: text, dates, complex numbers without their imaginary part,
    and what lies under a mask.

    >>> numbers("scores", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        given = _unmasked(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"they are {given.dtype}")
        if given.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in given.flat):
            raise TypeError("some are text")
        return np.array(given, dtype=np.float64, order="C", copy=own or None)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(argument, f"cannot be read as numbers ({error})", "be an array of numbers") from error


def floats(argument: str, values: ArrayLike) -> Floats:
    """The same numbers for somebody who copies them: the caller's own array, where it is float64 without gaps."""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.c_contiguous:
        return values
    return numbers(argument, values, own=False)


def whole_numbers(argument: str, values: ArrayLike, must: str, *shape: int) -> Integers:
    """A new int64 array, of this shape; ``must`` tells what it is to be. A length of −1 is any.

    >>> whole_numbers("ranking", [2, 0], "be candidates", -1).tolist()
    [2, 0]
    """
    given = _read(argument, values, must)
    fits = given.ndim == len(shape) and all(own in (size, -1) for size, own in zip(given.shape, shape, strict=True))
    if not fits or (given.size and given.dtype.kind not in "iu"):
        has = "have" if argument.endswith("s") else "has"
        raise InputError(argument, f"{has} shape {given.shape} and type {given.dtype}", must)
    return given.astype(np.int64)


def indices(argument: str, places: ArrayLike, count: int) -> Integers:
    """Some of the places 0 to ``count`` − 1, in the order given, or those where a mask of so many is true.

    >>> indices("rows", [2, 0], 3).tolist(), indices("rows", [False, False, True], 3).tolist()
    ([2, 0], [2])
    """
    must = f"be indices from 0 to {count - 1}, or {count} booleans"
    given = _read(argument, places, must)
    if given.dtype == np.bool_ and given.shape == (count,):
        return np.flatnonzero(given)
    chosen = whole_numbers(argument, given, must, -1)
    outside = (chosen < 0) | (chosen >= count)
    if outside.any():
        raise InputError(argument, f"contain {chosen[outside][0]}", must)
    return chosen


def _read(argument: str, values: ArrayLike, must: str) -> NDArray[Any]:
    try:
        return _unmasked(values)
    except (TypeError, ValueError) as error:
        raise InputTypeError(argument, f"cannot be read as whole numbers ({error})", must) from error


def _unmasked(values: ArrayLike) -> NDArray[Any]:
    """The values as an array, which would forget a mask over some of them."""
    if isinstance(values, np.ndarray) and hasattr(values, "mask") and np.ma.is_masked(values):
        raise TypeError("some are masked")
    return np.asarray(values)


def starts_of(sizes: NDArray[Any]) -> Integers:
    """Where parts of these sizes begin, one after another, and where the last one ends.

    >>> starts_of(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


def spans(begins: Integers, lengths: Integers) -> Integers:
    """begin, begin + 1, … for each begin, one after another.

    >>> spans(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends = np.cumsum(lengths)
    return np.repeat(begins - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


def run_starts(*columns: NDArray[Any]) -> Booleans:
    """(n,) which rows differ from the one before them in any of the columns; the first one does.

    >>> run_starts(np.array([7, 7, 7, 9]), np.array([1, 1, 2, 2])).tolist()
    [True, False, True, True]
    """
    starts = np.ones(len(columns[0]), dtype=np.bool_)
    starts[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return starts


def sums_by(labels: Integers, values: Floats, size: int) -> Floats:
    """The sum of the values with each label 0, 1, … size − 1, added in the order they come.

    >>> sums_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 4).tolist()
    [4.0, 0.0, 2.0, 0.0]
    """
    return np.asarray(np.bincount(labels, weights=values, minlength=size), dtype=np.float64)


def frozen(array: Array) -> Array:
    """The same array, read-only."""
    array.setflags(write=False)
    return array
