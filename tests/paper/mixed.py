"""Small problems of every kind, for comparing methods with one another and with the definition."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.optimize import linprog

from excalibr import Problem
from excalibr._problem import Penalty
from excalibr._types import Floats

TRADE_OFFS = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0.01, 0.99)


@st.composite
def problems(draw: st.DrawFn, most_candidates: int = 8, most_categories: int = 5) -> Problem:
    """Ties, equal rows, one-hot and shared categories, r = 1, k = 1, n = k, empty targets, weights in any order."""
    n = draw(st.integers(1, most_candidates))
    k = draw(st.sampled_from([1, n]) | st.integers(1, n))
    r = draw(st.integers(1, most_categories))
    return Problem.of(
        draw(_scores(n)),
        draw(_categories(n, r)),
        draw(_shares(r)),
        k=k,
        trade_off=draw(TRADE_OFFS),
        position_weights=draw(_position_weights(k)),
    )


def _scores(n: int) -> st.SearchStrategy[list[float]]:
    tied = st.integers(0, 3).map(float)
    spread = st.integers(-5 * 10**6, 5 * 10**6).map(lambda millionths: millionths / 1e6)  # GLOP cannot take 1e-249
    large = spread.map(lambda score: 200 * score)
    return st.one_of(*(st.lists(kind, min_size=n, max_size=n) for kind in (tied, spread, large)))


def _shares(r: int) -> st.SearchStrategy[Floats]:
    whole = st.lists(st.integers(0, 4), min_size=r, max_size=r).filter(any)
    return whole.map(lambda parts: np.array(parts) / sum(parts))


def _categories(n: int, r: int) -> st.SearchStrategy[Floats]:
    one_hot = st.lists(st.integers(0, r - 1), min_size=n, max_size=n).map(lambda of: np.eye(r)[of])
    shared = st.lists(_shares(r), min_size=n, max_size=n).map(np.array)
    alike = st.lists(_shares(r), min_size=1, max_size=2).map(lambda rows: np.resize(rows, (n, r)))
    return one_hot | shared | alike


def _position_weights(k: int) -> st.SearchStrategy[str | list[int]]:
    named = st.sampled_from(["log", "sqrt", "reciprocal", "uniform"])
    any_order = st.lists(st.integers(0, 5), min_size=k, max_size=k).filter(any)
    return named | any_order


def unit(problem: Problem) -> float:
    """What a difference of objectives is measured in."""
    return max(1.0, float(np.ptp(problem.gains)))


class Banded(Problem):
    """A problem with a penalty of its own."""

    band: Penalty

    @property
    def penalty(self) -> Penalty:
        return self.band


def banded(problem: Problem, band: Penalty) -> Banded:
    made = Banded(problem.batch, problem.user, problem.trade_off)
    vars(made)["band"] = band
    return made


def optimum_by_enumeration(problem: Problem) -> float:
    """The best lottery over *all* rankings, straight from the definition."""
    rankings = np.array(list(permutations(range(problem.n), problem.k)))
    exposures = np.zeros((len(rankings), problem.n))
    np.put_along_axis(exposures, rankings, np.tile(problem.position_weights, (len(rankings), 1)), axis=1)
    shares = np.array([problem.memberships.shares(exposure) for exposure in exposures]).T
    penalty, slack = problem.penalty, np.eye(problem.r)
    solve: Any = linprog
    result = solve(
        np.concatenate((-exposures @ problem.gains, penalty.above, penalty.below)),
        A_ub=np.block([[shares, -slack, 0 * slack], [-shares, 0 * slack, -slack]]),
        b_ub=np.concatenate((penalty.high, -penalty.low)),
        A_eq=np.concatenate((np.ones(len(rankings)), np.zeros(2 * problem.r)))[None],
        b_eq=[1.0],
    )
    return -float(result.fun)


def random_stochastic(seed: int, size: int, terms: int, noise: float) -> Floats:
    """A convex combination of permutations, whose entries are then a little off."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(terms))
    matrix = np.zeros((size, size))
    for weight in weights:
        matrix[np.arange(size), random.permutation(size)] += weight
    off = noise * random.uniform(-1.0, 1.0, (size, size)) * (matrix > 0)
    return np.maximum(matrix + off, 0.0)


def permutation_matrix(columns: object) -> sp.csr_array:
    order = np.asarray(columns)
    return sp.csr_array((np.ones(len(order)), (np.arange(len(order)), order)))
