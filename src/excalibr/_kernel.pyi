# What src/kernel/bindings.cpp and bindings_solver.cpp bind. Arrays must be contiguous, of float64 or int64, and may be
# read-only.
from typing import Any

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

class Questions:
    """The questions of many users, as a tuple of arrays and numbers; `excalibr._solver.questions` makes it."""

    def __init__(self, arrays: tuple[Any, ...]) -> None: ...
    def __len__(self) -> int: ...
    def cancel(self) -> None:
        """Make the ranges that are under way end before their next user."""

def solve_range(questions: Questions, first: int, last: int) -> tuple[Any, ...]:
    """Solve the users first … last − 1: places, weights, counts, prices, gaps, and what describes each solve."""

def solve_user(questions: Questions, user: int) -> tuple[Any, ...]:
    """Solve one user: rankings, weights, prices, gap, and what describes the solve."""

def measure_range(
    questions: Questions, places: Integers, weights: Floats, counts: Integers, first: int, last: int
) -> Floats:
    """(users, 6) what the lotteries of a range of users are worth."""

class Curve:
    """One user's solves at any trade-offs, each from what the ones before found."""

    def __init__(self, questions: Questions, user: int) -> None: ...
    def solve(
        self, trade_off: float, tolerance: float, max_sorts: int, prices: Floats | None
    ) -> tuple[tuple[Any, ...], float, float]: ...
    def gap_at(self, trade_off: float, rankings: Integers, weights: Floats, prices: Floats) -> float: ...
    def relevance_floor(self, loss: float) -> float: ...
