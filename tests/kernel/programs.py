"""Programs that hypothesis draws, and their objective, bound and optimum in a few lines of numpy and scipy.

Numbers are drawn as they are used, never from a seed, so that what fails shrinks to a small problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog

from excalibr._native import kernel
from excalibr._types import Floats, Integers

Draw: TypeAlias = Callable[[Any], Any]

LOW, HIGH, BELOW, ABOVE, SMOOTHING, BASE = range(6)
"""The columns of a table of penalties."""

NOBODY = np.empty(0, dtype=np.int64)
EIGHTHS = st.integers(-16, 16).map(lambda eighths: eighths / 8)
SHARES = st.sampled_from([0.0, 0.0, 0.125, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0, allow_subnormal=False)
SCALES = st.sampled_from([1.0, 1e-6, 1e-3, 1e3, 1e6])
SLOPES = st.sampled_from([1.0, 0.0, 0.5, 1e-6, 1e-3, 1e3, 1e6])
GENTLE_SLOPES = st.sampled_from([1.0, 0.0, 0.5, 0.01, 100.0])
"""What the proximal method and the interior point solve by themselves; the simplex takes any."""
COUNTS = st.integers(1, 12)
WEIGHTS = st.sampled_from([1.0, 0.0, 0.5, 0.25]) | st.floats(0.01, 1.0)


@dataclass(frozen=True)
class Arrays:
    """A program with dense rows."""

    gains: Floats
    rows: Floats
    penalties: Floats
    position_weights: Floats
    group_of: Integers
    group_limits: Integers

    @property
    def n(self) -> int:
        return len(self.gains)

    @property
    def k(self) -> int:
        return len(self.position_weights)

    @property
    def r(self) -> int:
        return len(self.penalties)

    @property
    def unit(self) -> float:
        """What errors are relative to: the larger of the gains' spread and the steepest slope."""
        return float(max(np.ptp(self.gains), self.penalties[:, BELOW : ABOVE + 1].max(initial=0.0))) or 1.0

    def of(self, parts: Any) -> Any:
        """The same for the kernel."""
        packed = kernel.pack_rows(self.rows)
        return parts.Program(
            self.gains, *packed, self.penalties, self.position_weights, self.group_of, self.group_limits
        )

    def rankings(self) -> Integers:
        """Every ranking that the group limits allow, by slot."""
        every = np.array(list(permutations(range(self.n), self.k)), dtype=np.int64)
        if not len(self.group_limits):
            return every
        counts = (self.group_of[every][:, :, None] == np.arange(len(self.group_limits))).sum(axis=1)
        return np.ascontiguousarray(every[(counts <= self.group_limits).all(axis=1)])

    def effects(self, rankings: Integers) -> tuple[Floats, Floats]:
        """The value (L,), less the best gain, and the category shares (L, r) of rankings by slot."""
        gains = self.gains - self.gains.max()
        shares = np.einsum("lkr,k->lr", self.rows[rankings], self.position_weights)
        return gains[rankings] @ self.position_weights, shares

    def objective(self, rankings: Integers, weights: Floats) -> float:
        values, shares = self.effects(rankings)
        return float(weights @ values - cost(self.penalties, weights @ shares))

    def bound(self, prices: Floats) -> float:
        """The dual function, by trying every ranking."""
        values, shares = self.effects(self.rankings())
        return float((values - shares @ prices).max() + conjugate(self.penalties, prices))


def cost(penalties: Floats, shares: Floats) -> float:
    """Σ_j φ_j(t_j), as penalty.hpp defines it."""
    low, high, below, above, smoothing, base = penalties.T
    edge = np.clip(shares, low, high)
    weight = np.where(shares < low, below, above)
    wanted, seen = base + edge, base + (1 - smoothing) * shares + smoothing * edge
    with np.errstate(divide="ignore", invalid="ignore"):
        curved = seen - wanted - np.where(wanted > 0, wanted * np.log(seen / wanted), 0.0)
    return float(
        (weight * np.where(smoothing > 0, np.where(wanted > 0, curved, abs(seen - wanted)), abs(shares - edge))).sum()
    )


def conjugate(penalties: Floats, prices: Floats) -> float:
    """Σ_j φ*_j(y_j) of straight penalties, for prices between their slopes."""
    assert not penalties[:, SMOOTHING].any()
    return float((np.where(prices > 0, penalties[:, HIGH], penalties[:, LOW]) * prices).sum())


def best_lottery(values: Floats, shares: Floats, penalties: Floats) -> float:
    """The optimum over lotteries of columns with these values (L,) and shares (L, r), by HiGHS; straight penalties."""
    count, r = shares.shape
    low, high, below, above = penalties[:, :4].T
    unit = max(float(np.ptp(values)), float(penalties[:, BELOW : ABOVE + 1].max(initial=0.0))) or 1.0
    objective = np.concatenate([-values, below, above]) / unit
    limits = np.block([[-shares.T, -np.eye(r), np.zeros((r, r))], [shares.T, np.zeros((r, r)), -np.eye(r)]])
    solved: Any = linprog(
        objective,
        A_ub=limits,
        b_ub=np.concatenate([-low, high]),
        A_eq=np.concatenate([np.ones(count), np.zeros(2 * r)])[None],
        b_eq=[1.0],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.status == 0, solved.message
    return -float(solved.fun) * unit


def best_policy(program: Arrays) -> float:
    """The literal program over n × k matrices of probabilities, by HiGHS; straight penalties, no groups."""
    n, k, r, unit = program.n, program.k, program.r, program.unit
    low, high, below, above = program.penalties[:, :4].T
    gains = np.outer(program.gains - program.gains.max(), program.position_weights).ravel()
    shares = np.einsum("nr,k->rnk", program.rows, program.position_weights).reshape(r, n * k)
    nothing, identity = np.zeros((r, r)), np.eye(r)
    once = np.hstack([np.kron(np.eye(n), np.ones(k)), np.zeros((n, 2 * r))])
    solved: Any = linprog(
        np.concatenate([-gains, below, above]) / unit,
        A_ub=np.vstack([np.hstack([-shares, -identity, nothing]), np.hstack([shares, nothing, -identity]), once]),
        b_ub=np.concatenate([-low, high, np.ones(n)]),
        A_eq=np.hstack([np.kron(np.ones(n), np.eye(k)), np.zeros((k, 2 * r))]),
        b_eq=np.ones(k),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.status == 0, solved.message
    return -float(solved.fun) * unit


@st.composite
def straight_penalties(draw: Draw, r: int, slopes: st.SearchStrategy[float] = SLOPES) -> Floats:
    """Bands, edges that coincide, slopes of nothing to a million."""
    table = np.zeros((r, 6))
    for row in table:
        row[LOW] = draw(SHARES)
        row[HIGH] = row[LOW] + draw(st.sampled_from([0.0, 0.0, 0.125, 1.0]))
        row[BELOW], row[ABOVE] = draw(slopes), draw(slopes)
    return table


@st.composite
def curved_penalties(draw: Draw, r: int) -> Floats:
    """KL with bands, categories that nobody wants, and what earlier pages showed."""
    table = np.zeros((r, 6))
    table[:, SMOOTHING] = draw(st.sampled_from([0.01, 0.1, 0.5]))
    for row in table:
        row[LOW] = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
        row[HIGH] = min(row[LOW] + draw(st.sampled_from([0.0, 0.0, 0.125, 1.0])), 1.0)
        row[BELOW] = row[ABOVE] = draw(st.sampled_from([1.0, 0.5, 0.01, 10.0]))
        row[BASE] = draw(st.sampled_from([0.0, 0.0, 0.5]))
    return table


def gains(n: int) -> st.SearchStrategy[Floats]:
    return st.tuples(arrays.arrays(np.float64, n, elements=EIGHTHS), SCALES).map(lambda drawn: drawn[0] * drawn[1])


def rows(n: int, r: int) -> st.SearchStrategy[Floats]:
    """Rows that sum to 1, many of them alike."""

    def with_sums_of_one(table: Floats) -> Floats:
        table[:, 0] += np.where(table.sum(axis=1) > 0, 0.0, 1.0)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    return arrays.arrays(np.float64, (n, r), elements=SHARES, fill=st.just(0.0)).map(with_sums_of_one)


def slot_weights(k: int) -> st.SearchStrategy[Floats]:
    """In any order, with zeros, and a sum of 1."""

    def with_sum_of_one(weights: Floats) -> Floats:
        weights[0] += float(weights.sum() == 0)
        return np.asarray(weights / weights.sum())

    return arrays.arrays(np.float64, k, elements=WEIGHTS).map(with_sum_of_one)


@st.composite
def programs(
    draw: Draw, *, curved: bool = False, grouped: bool = False, slopes: st.SearchStrategy[float] = SLOPES
) -> Arrays:
    """Programs so small that every ranking can be tried."""
    n = draw(st.integers(1, 6))
    k, r = draw(st.integers(1, min(n, 3))), draw(st.integers(1, 4))
    penalties = draw(curved_penalties(r) if curved else straight_penalties(r, slopes))
    groups, limits = NOBODY, NOBODY
    if grouped:
        groups = draw(arrays.arrays(np.int64, n, elements=st.integers(-1, 2)))
        limits = draw(arrays.arrays(np.int64, 3, elements=st.integers(0, 2)))
        sizes = np.bincount(groups[groups >= 0], minlength=3)
        showable = int((groups < 0).sum() + np.minimum(sizes, limits).sum())
        if showable < k:
            groups[:k] = -1
    return Arrays(draw(gains(n)), draw(rows(n, r)), penalties, draw(slot_weights(k)), groups, limits)


@st.composite
def medium_programs(draw: Draw, slopes: st.SearchStrategy[float] = SLOPES) -> Arrays:
    """Programs of a few slots and up to sixteen categories, for the literal program over matrices."""
    n, r = draw(st.integers(2, 15)), draw(st.integers(1, 16))
    k = draw(st.integers(1, min(n, 8)))
    weights = draw(slot_weights(k))
    return Arrays(draw(gains(n)), draw(rows(n, r)), draw(straight_penalties(r, slopes)), weights, NOBODY, NOBODY)


@st.composite
def columns(
    draw: Draw,
    *,
    curved: bool = False,
    counts: st.SearchStrategy[int] = COUNTS,
    slopes: st.SearchStrategy[float] = SLOPES,
) -> Arrays:
    """A program of one slot, in which every candidate is a column with a value and shares of its own; many repeat."""
    count, r = draw(counts), draw(st.integers(1, 5))
    different = draw(st.integers(1, count))
    shown = draw(arrays.arrays(np.int64, count, elements=st.integers(0, different - 1)))
    penalties = draw(curved_penalties(r) if curved else straight_penalties(r, slopes))
    return Arrays(draw(gains(different))[shown], draw(rows(different, r))[shown], penalties, np.ones(1), NOBODY, NOBODY)
