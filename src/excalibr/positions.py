"""Position weights: how much of a person's attention each slot gets, by name or as an array.

Every weighting is normalised to sum to 1. An array need not fall with the position (a carousel's second row may be seen
first), so methods that fill slots by weight use :func:`slots_by_weight`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import finite_numbers, frozen, is_whole
from excalibr._types import Floats, Integers
from excalibr.errors import InputError, unknown_name

__all__ = ["NAMES", "position_weights", "raw_weights", "slots_by_weight"]

_WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "log": lambda slots: 1.0 / np.log(slots + 1.0),
    "sqrt": lambda slots: 1.0 / np.sqrt(slots),
    "reciprocal": lambda slots: 1.0 / slots,
    "uniform": lambda slots: np.ones(len(slots)),
}
NAMES = tuple(_WEIGHTS)


def position_weights(weights: str | ArrayLike, k: int) -> Floats:
    """The weights of ``k`` slots, summing to 1.

    Parameters
    ----------
    weights
        ``"log"`` (1 / log(i + 1)), ``"sqrt"`` (1 / √i), ``"reciprocal"`` (1 / i) or ``"uniform"`` for slots
        i = 1 … k, or ``k`` non-negative numbers in any order, not all zero.
    k
        Number of slots.

    Raises
    ------
    InputError, InputTypeError
        For an unknown name, numbers of another shape, negative, not finite or all 0, or k that is no whole number of at
        least 1.

    Examples
    --------
    >>> position_weights("reciprocal", 2).round(3).tolist()
    [0.667, 0.333]
    >>> position_weights([1, 3], 2).tolist()
    [0.25, 0.75]
    """
    _check_slots(k, 1)
    return _named(weights, k) if isinstance(weights, str) else _normalised(_checked(weights, k))


def slots_by_weight(weights: Floats) -> Integers:
    """Slot numbers, heaviest first, ties by the lower slot.

    >>> slots_by_weight(np.array([0.2, 0.5, 0.3])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-weights, kind="stable").astype(np.int64)


@lru_cache(maxsize=256)
def _named(name: str, k: int) -> Floats:
    return _normalised(raw_weights(name, k))


def raw_weights(name: str, k: int, argument: str = "position_weights") -> Floats:
    """(k,) the weights of a name before they are normalised, so that pages of different length can be compared.

    The logarithm of "log" is natural; k may be 0. ``argument`` is what errors call the name.

    >>> raw_weights("reciprocal", 2).tolist()
    [1.0, 0.5]
    """
    if not isinstance(name, str) or name not in NAMES:
        raise unknown_name(argument, name, NAMES)
    _check_slots(k, 0)
    return weights_at(name, np.arange(1, k + 1, dtype=np.float64))


def weights_at(name: str, slots: Floats) -> Floats:
    """The same weights of some slots, counted from 1, however far down they are."""
    return _WEIGHTS[name](slots)


def _check_slots(k: object, least: int) -> None:
    if not (is_whole(k) and k >= least):
        raise InputError("k", f"is {k!r}", f"be a whole number of at least {least}")


def _checked(weights: ArrayLike, k: int) -> Floats:
    array = finite_numbers("position_weights", weights, (k,), "one for each slot", least=0)
    if not array.any():
        raise InputError("position_weights", "are all 0", "have at least one positive value")
    return array


def _normalised(weights: Floats) -> Floats:
    scaled = weights / weights.max()  # first, so that the sum cannot overflow
    scaled /= scaled.sum()
    return frozen(scaled)
