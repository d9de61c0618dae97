"""Numbers and arrays read from whatever the caller has, summed by label, and made read-only once they are ours.

An array that is not what it must be is an error that names its first wrong element, in the same words everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._native import kernel
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError

Array = TypeVar("Array", bound="NDArray[np.generic]")

Shape: TypeAlias = tuple[int | str, ...]
"""The lengths that an array must have; a text stands for any length, and is its name in messages."""

_FLOAT64 = np.dtype(np.float64)


_NOT_NUMBERS = (bool, np.timedelta64)
"""Integers to Python and numpy, which nobody means as a number: a truth value, and a time with its unit."""


def is_whole(value: object) -> TypeGuard[int]:
    """An integer, and neither a truth value nor a time."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, _NOT_NUMBERS)


def is_real(value: object) -> TypeGuard[float]:
    """A number, and neither a truth value nor a time."""
    return isinstance(value, (float, Real)) and not isinstance(value, _NOT_NUMBERS)  # a float is known at once


def numbers(
    argument: str, values: ArrayLike, shape: Shape | None = None, each: str = "", *, own: bool = True
) -> Floats:
    """A new float64 array of the values; where it need not be our own, the caller's, if that is one.

    What numpy would turn into numbers in silence is refused: text, dates, complex numbers without their imaginary part,
    and what lies under a mask. So is another shape than this one, see :func:`require_shape`.

    >>> numbers("scores", [1, 2], ("n",)).tolist()
    [1.0, 2.0]
    """
    try:
        given = _unmasked(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"they are {given.dtype}")
        if given.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in given.flat):
            raise TypeError("some are text")
        read = np.array(given, dtype=np.float64, order="C", copy=own or None)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(argument, f"cannot be read as numbers ({error})", "be an array of numbers") from error
    require_shape(argument, read.shape, shape, each)
    return read


def floats(argument: str, values: ArrayLike, shape: Shape | None = None, each: str = "") -> Floats:
    """The same numbers for somebody who copies them: the caller's own array, where it is float64 without gaps."""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.c_contiguous:
        require_shape(argument, values.shape, shape, each)
        return values
    return numbers(argument, values, shape, each, own=False)


def finite_numbers(
    argument: str, values: ArrayLike, shape: Shape | None = None, each: str = "", *, least: float | None = None
) -> Floats:
    """A new array of the numbers, which must be finite and, with ``least``, no less than it.

    >>> finite_numbers("ratings", [4, 3.5], least=0).tolist()
    [4.0, 3.5]
    """
    read = numbers(argument, values, shape, each)
    if least is None:
        require_all(argument, read, np.isfinite(read), "be finite")
    else:
        require_all(argument, read, np.isfinite(read) & (read >= least), f"be finite and at least {least:g}")
    return read


def distribution(argument: str, values: ArrayLike, shape: Shape, each: str = "") -> Floats:
    """Numbers of at least 0 that sum to 1, up to rounding.

    >>> distribution("weights", [0.75, 0.25], (2,), "one for each ranking").tolist()
    [0.75, 0.25]
    """
    read = finite_numbers(argument, values, shape, each, least=0)
    with np.errstate(over="ignore"):  # a sum that is not finite is refused
        total = float(read.sum())
    if abs(total - 1.0) > kernel.SUM_TOLERANCE:
        sums, them, their = ("sum", "them", "their") if _is_plural(argument) else ("sums", "it", "its")
        raise InputError(argument, f"{sums} to {total:.6g}", "sum to 1", f"divide {them} by {their} sum.")
    return read


def whole_numbers(
    argument: str, values: ArrayLike, shape: Shape, each: str = "", *, below: int | None = None
) -> Integers:
    """A new int64 array of this shape; with ``below``, of numbers from 0 to the one before it.

    >>> whole_numbers("ranking", [2, 0], ("k",), below=3).tolist()
    [2, 0]
    """
    bounds = "" if below is None else f" from 0 to {below - 1}"
    return _whole_numbers(argument, values, shape, f"be whole numbers{bounds} of shape {_text_of(shape, each)}", below)


def indices(argument: str, places: ArrayLike, count: int) -> Integers:
    """Some of the places 0 to ``count`` − 1, in the order given, or those where a mask of so many is true.

    >>> indices("rows", [2, 0], 3).tolist(), indices("rows", [False, False, True], 3).tolist()
    ([2, 0], [2])
    """
    must = f"be indices from 0 to {count - 1}, or {count} booleans"
    given = _read_whole(argument, places, must)
    if given.dtype == np.bool_ and given.shape == (count,):
        return np.flatnonzero(given)
    return _whole_numbers(argument, given, ("m",), must, count)


def list_of(argument: str, given: Any, count: int, each: str) -> list[Any]:
    """So many values in a list, from anything that has them in an order; ``each`` says what they are, and for what.

    >>> list_of("keys", ("ada", 7), 2, "a key for each user")
    ['ada', 7]
    """
    must = f"be a list of length {count}, {each}"
    if isinstance(given, (str, bytes, Mapping, set, frozenset)) or not np.iterable(given):
        raise InputTypeError(argument, f"is {given!r}", must)
    listed = list(given)
    if len(listed) != count:
        raise InputError(argument, f"{_has(argument)} length {len(listed)}", must)
    return listed


def require_shape(argument: str, found: tuple[int, ...], wanted: Shape | None, each: str = "") -> None:
    """Raise an error unless an array has the shape that is wanted; ``each`` says what there is one of, and for what.

    None is any shape.

    >>> require_shape("weights", (3,), (2,), "one for each ranking")
    Traceback (most recent call last):
    excalibr.errors.InputError: weights: have shape (3,), must have shape (2,), one for each ranking.
    """
    if wanted is not None and not _fits(found, wanted):
        raise InputError(argument, f"{_has(argument)} shape {found}", f"have shape {_text_of(wanted, each)}")


def require_all(argument: str, values: NDArray[Any], good: Booleans, must: str) -> None:
    """Raise an error that names the first element that is not good, of an array of one or two dimensions.

    >>> require_all("prices", np.array([1.0, np.inf]), np.array([True, False]), "be finite")
    Traceback (most recent call last):
    excalibr.errors.InputError: prices: element 1 is inf, must be finite.
    """
    at = first_true(~good)
    if at is not None:
        where = f"row {at // values.shape[1]}, column {at % values.shape[1]}" if values.ndim == 2 else f"element {at}"
        raise InputError(argument, f"{where} is {values.flat[at]}", must)


def first_true(flags: Booleans) -> int | None:
    """Where the first of the flags is true, counted row by row; None where none is.

    >>> first_true(np.array([False, True, True])), first_true(np.array([False]))
    (1, None)
    """
    at = int(flags.argmax()) if flags.size else 0
    return at if flags.size and flags.flat[at] else None


def _whole_numbers(argument: str, values: ArrayLike, shape: Shape, must: str, below: int | None) -> Integers:
    given = _read_whole(argument, values, must)
    if not _fits(given.shape, shape) or (given.size and given.dtype.kind not in "iu"):
        raise InputError(argument, f"{_has(argument)} shape {given.shape} and type {given.dtype}", must)
    if below is not None and given.size:  # an empty array may be of a type that is not compared with numbers
        require_all(argument, given, (given >= 0) & (given < below), must)
    return given.astype(np.int64)


def _read_whole(argument: str, values: ArrayLike, must: str) -> NDArray[Any]:
    try:
        return _unmasked(values)
    except (TypeError, ValueError) as error:
        raise InputTypeError(argument, f"cannot be read as whole numbers ({error})", must) from error


def _fits(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        isinstance(length, str) or length == own for own, length in zip(found, wanted, strict=True)
    )


def _text_of(shape: Shape, each: str) -> str:
    """The shape as messages have it: "(users, 3), a row for each user"."""
    lengths = f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"
    return f"{lengths}, {each}" if each else lengths


def _has(argument: str) -> str:
    return "have" if _is_plural(argument) else "has"


def _is_plural(argument: str) -> bool:
    return argument.endswith("s")


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
