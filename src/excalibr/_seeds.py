"""Random numbers by (seed, key): the same pair gives the same numbers in any process, order, thread and machine.

A key names who draws (a user, or a user and a day). The pair is hashed, so neighbouring keys are independent, and only
the raw stream of the generator is used, which numpy keeps stable between its versions.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Hashable
from itertools import accumulate

import numpy as np

from excalibr._arrays import is_whole
from excalibr._native import kernel
from excalibr._types import Floats, Integers
from excalibr.errors import InputTypeError

_TO_UNIT = 2.0**-53


def uniforms(seed: int | None, key: Hashable, size: int) -> Floats:
    """``size`` numbers in [0, 1) that depend on nothing but ``(seed, key)``; without either they are new each time."""
    raw = np.random.PCG64(int.from_bytes(_digest(seed, key), "little")).random_raw(size)
    return np.asarray((raw >> np.uint64(11)) * _TO_UNIT)


def uniform(seed: int | None, key: Hashable) -> float:
    """The first of these numbers, in a tenth of the time.

    >>> bool(uniform(7, "ada") == uniforms(7, "ada", 3)[0])
    True
    """
    return (kernel.first_of_stream(_digest(seed, key)) >> 11) * _TO_UNIT


def _digest(seed: int | None, key: Hashable) -> bytes:
    """What the generator is seeded with."""
    if seed is None and key is None:
        return os.urandom(16)
    import hashlib  # with the first draw

    text = encode(checked_seed(seed)) + b"|" + encode(key)
    return hashlib.blake2b(text, digest_size=16).digest()


def choose(weights: Floats, draws: Floats) -> Integers:
    """For each draw in [0, 1), the number of the weight whose slice of their sum it falls in.

    >>> choose(np.array([0.75, 0.25]), np.array([0.5, 0.8])).tolist()
    [0, 1]
    """
    edges = np.cumsum(weights)
    rows = np.searchsorted(edges, draws * edges[-1], side="right")
    return np.asarray(np.minimum(rows, len(edges) - 1), dtype=np.int64)


def choose_one(weights: list[float], draw: float) -> int:
    """The same for one draw and a few weights, to the bit.

    >>> choose_one([0.75, 0.25], 0.8)
    1
    """
    edges = list(accumulate(weights))
    return min(bisect_right(edges, draw * edges[-1]), len(edges) - 1)


def checked_seed(seed: object) -> int | None:
    """A whole number, or None."""
    if seed is None:
        return None
    if not is_whole(seed):
        raise InputTypeError("seed", f"is {seed!r}", "be a whole number or None")
    return int(seed)


def encode(key: Hashable) -> bytes:
    """Bytes that tell any two keys apart: a tag for the type, the length, the value."""
    if type(key) is int:  # most keys are; looking at every other type first takes as long as the rest of a draw
        return b"i%d" % key
    match key:
        case None:
            return b"n"
        case bool() | np.bool_():
            return b"b1" if key else b"b0"
        case int() | np.integer() if not isinstance(key, np.timedelta64):
            return b"i%d" % int(key)
        case float() | np.floating():
            return b"f" + float(key).hex().encode()
        case str():
            text = key.encode("utf-8", "surrogatepass")
            return b"s%d:" % len(text) + text
        case bytes():
            return b"y%d:" % len(key) + key
        case tuple():
            return b"t%d(" % len(key) + b",".join(encode(part) for part in key) + b")"
        case np.datetime64():
            return b"d" + encode(str(key))
    if hasattr(key, "isoformat"):  # dates and times: a user and a day
        return b"d" + encode(key.isoformat())
    must = "be a string, number, date, bytes, None or a tuple of these"
    raise InputTypeError("key", f"is a {type(key).__name__}", must, "pass str(key), if that names it for good.")
