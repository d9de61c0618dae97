# What src/kernel/bindings.cpp binds. Arrays must be contiguous, of float64 or int64, and may be read-only.
from excalibr._types import Floats, Integers

SOURCE_DIGEST: str

def pack_rows(array: Floats) -> tuple[Integers, Integers, Floats, bool, float]:
    """The non-zeros of an (n, r) array by rows (indptr, indices, values), and what `look_over` says of them."""

def look_over(indptr: Integers, values: Floats) -> tuple[bool, float]:
    """Whether all values are finite and at least 0, and how far from 1 a row's sum is at most."""

def with_sums_of_one(indptr: Integers, values: Floats) -> Floats:
    """The values with every row divided by its sum."""

def exposure_of(rankings: Integers, weights: Floats, position_weights: Floats, n: int) -> Floats:
    """(n,) the expected position weight of each candidate under a lottery."""

def shares_of(indptr: Integers, indices: Integers, values: Floats, n_categories: int, exposure: Floats) -> Floats:
    """(r,) p = Aᵀx."""

def calibrated_order(
    candidates: Integers,
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    target: Floats,
    weights: Floats,
    trade_off: float,
    smoothing: float,
    projected: bool,
) -> Integers:
    """Select, by gain and smoothed KL, one of the ``candidates`` for each of the slot ``weights`` in turn."""

def marginal_order(
    gains: Floats, indptr: Integers, indices: Integers, values: Floats, n_categories: int, slots: int, trade_off: float
) -> Integers:
    """Select ``slots`` candidates in turn, by gain − λ·(largest overlap with one chosen before)."""
