"""Mixed problems from a seed: the everyday ones and every corner that has tripped a solver.

Each ingredient (scores, rows, target, weights, trade-off) is drawn by itself, so that corners meet one another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from excalibr import Problem

Generator = np.random.Generator
Floats = np.ndarray

SMALL = "small"
LARGE = "large"


def mixed_problem(rng: Generator, size: str = SMALL) -> Problem:
    """A problem whose every ingredient is chosen at random; small ones fit a literal linear program."""
    n, k, r = _small_sizes(rng) if size == SMALL else _large_sizes(rng)
    categories = _choose(rng, ROWS)(rng, n, r)
    return Problem.of(
        _choose(rng, SCORES)(rng, n),
        categories,
        _choose(rng, TARGETS)(rng, categories),
        k=k,
        trade_off=float(rng.choice([0.0, 1.0, 0.5, 1e-6, 1 - 1e-6, *rng.random(8)])),
        position_weights=_choose(rng, WEIGHTS)(rng, k),
    )


def with_scores(problem: Problem, scores: Floats, trade_off: float | None = None) -> Problem:
    """The same problem with other scores."""
    return Problem.of(
        scores,
        problem.memberships.dense(),
        problem.target,
        k=problem.k,
        trade_off=problem.trade_off if trade_off is None else trade_off,
        position_weights=problem.position_weights,
    )


def movie_like_problem(rng: Generator, n: int, k: int, r: int, per_item: int, trade_off: float) -> Problem:
    """The everyday case: uniform scores, ``per_item`` equal categories an item, a Dirichlet target, log weights."""
    categories = np.zeros((n, r))
    for row in categories:
        row[rng.choice(r, per_item, replace=False)] = 1.0 / per_item
    return Problem.of(rng.random(n), categories, rng.dirichlet(np.ones(r)), k=k, trade_off=trade_off)


def _small_sizes(rng: Generator) -> tuple[int, int, int]:
    n = int(rng.integers(1, 26))
    k = int(rng.choice([1, n, int(rng.integers(1, n + 1))]))
    return n, k, int(rng.choice([1, 2, 3, int(rng.integers(1, 13))]))


def _large_sizes(rng: Generator) -> tuple[int, int, int]:
    n = int(rng.choice([50, 150, 500, 1000, 2000, 5000]))
    k = int(min(n, rng.choice([1, 5, 10, 50, 100, 200, n if n <= 500 else 100])))
    return n, k, int(rng.choice([1, 2, 5, 10, 20, 20, 50, 100 if n <= 1000 else 20, 200 if n <= 500 else 20]))


def _choose(rng: Generator, makers: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    return makers[int(rng.integers(len(makers)))]


SCORES: tuple[Callable[[Generator, int], Floats], ...] = (
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: np.ones(n),
    lambda rng, n: rng.integers(0, 3, n).astype(float),
    lambda rng, n: np.sort(rng.pareto(1.5, n))[::-1],
    lambda rng, n: rng.random(n) * 10.0 ** rng.integers(-8, 9),
    lambda rng, n: -rng.random(n) * 10.0 ** rng.integers(-3, 4),
    lambda rng, n: 1e6 + rng.random(n),
    lambda rng, n: np.where(rng.random(n) < 0.1, 1e3, rng.random(n)),
)


def _one_hot(rng: Generator, n: int, r: int) -> Floats:
    return np.eye(r)[rng.integers(0, r, n)]


def _few_shares(rng: Generator, n: int, r: int) -> Floats:
    rows = np.zeros((n, r))
    for row in rows:
        chosen = rng.choice(r, size=int(rng.integers(1, min(3, r) + 1)), replace=False)
        row[chosen] = 1.0 / len(chosen)
    return rows


def _skewed(rng: Generator, n: int, r: int) -> Floats:
    popularity = rng.dirichlet(np.full(r, 0.3)) + 1e-12
    return np.eye(r)[rng.choice(r, size=n, p=popularity / popularity.sum())]


ROWS: tuple[Callable[[Generator, int, int], Floats], ...] = (
    _one_hot,
    _few_shares,
    _few_shares,
    _skewed,
    lambda rng, n, r: rng.dirichlet(np.ones(r), size=n),
    lambda rng, n, r: np.tile(rng.dirichlet(np.ones(r)), (n, 1)),
    lambda rng, n, r: rng.dirichlet(np.ones(r), size=3)[rng.integers(0, 3, n)],
)


def _one_category(rng: Generator, categories: Floats) -> Floats:
    return np.asarray(np.eye(categories.shape[1])[int(rng.integers(categories.shape[1]))])


def _with_zeros(rng: Generator, categories: Floats) -> Floats:
    target = rng.dirichlet(np.ones(categories.shape[1])) * (rng.random(categories.shape[1]) < 0.5)
    return np.asarray(target / target.sum()) if target.sum() else _one_category(rng, categories)


def _absent_only(rng: Generator, categories: Floats) -> Floats:
    absent = categories.sum(axis=0) == 0
    return absent / absent.sum() if absent.any() else _one_category(rng, categories)


TARGETS: tuple[Callable[[Generator, Floats], Floats], ...] = (
    lambda rng, categories: rng.dirichlet(np.ones(categories.shape[1])),
    lambda rng, categories: np.full(categories.shape[1], 1.0 / categories.shape[1]),
    lambda rng, categories: categories.mean(axis=0),
    lambda rng, categories: categories[int(rng.integers(len(categories)))],
    _one_category,
    _with_zeros,
    _absent_only,
)


def _zeros_in_between(rng: Generator, k: int) -> Floats:
    weights = rng.random(k) * (rng.random(k) < 0.6)
    return weights if weights.any() else np.ones(k)


WEIGHTS: tuple[Callable[[Generator, int], str | Floats], ...] = (
    lambda rng, k: "log",
    lambda rng, k: "sqrt",
    lambda rng, k: "reciprocal",
    lambda rng, k: "uniform",
    lambda rng, k: rng.random(k) + 1e-9,
    lambda rng, k: np.arange(1.0, k + 1),
    lambda rng, k: 0.5 ** np.arange(min(k, 60)).repeat(-(-k // 60))[:k],
    _zeros_in_between,
)
