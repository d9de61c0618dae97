"""Problems of every kind for the baselines: mixed sizes, ties in scores and rows, odd weights and targets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from excalibr import Problem
from excalibr._types import Floats

WEIGHTINGS = ("log", "sqrt", "reciprocal", "uniform", "any")
TRADE_OFFS = (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


def mixed_problems(count: int, *, seed: int, largest: int = 40, spare: int = 0) -> Iterator[Problem]:
    """``count`` problems of at most ``largest`` candidates, with at least ``spare`` more candidates than slots."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield one_problem(generator, largest, spare)


def one_problem(generator: np.random.Generator, largest: int, spare: int) -> Problem:
    n = int(generator.integers(1 + spare, largest + 1))
    k = int(generator.integers(1, n - spare + 1))
    r = int(generator.integers(1, 9))
    weighting = generator.choice(WEIGHTINGS)
    return Problem.of(
        scores(generator, n),
        categories(generator, n, r),
        target(generator, r),
        k=k,
        trade_off=float(generator.choice(TRADE_OFFS)),
        position_weights=any_weights(generator, k) if weighting == "any" else str(weighting),
    )


def scores(generator: np.random.Generator, n: int) -> Floats:
    """Distinct, few distinct values, all equal, large or small and with an offset."""
    kind = generator.integers(5)
    if kind == 0:
        return generator.normal(size=n)
    if kind == 1:
        return np.asarray(0.5 * generator.integers(0, 3, size=n))
    if kind == 2:
        return np.full(n, 0.3)
    if kind == 3:
        return np.asarray(1e6 * generator.integers(-2, 3, size=n))
    return np.asarray(1000.0 + 1e-3 * generator.integers(0, 4, size=n))


def categories(generator: np.random.Generator, n: int, r: int) -> Floats:
    """Rows with one to three equal categories, or with arbitrary shares; many rows are the same."""
    if generator.random() < 0.2:
        return generator.dirichlet(np.ones(r), size=n)
    rows = np.zeros((n, r))
    for row in rows:
        row[generator.choice(r, size=generator.integers(1, min(r, 3) + 1), replace=False)] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def target(generator: np.random.Generator, r: int) -> Floats:
    """Even, concentrated on a few categories, or arbitrary."""
    kind = generator.integers(3)
    if kind == 0:
        return np.full(r, 1 / r)
    if kind == 1:
        wanted = generator.integers(0, 3, size=r).astype(float)
        wanted[generator.integers(r)] += 1
        return np.asarray(wanted / wanted.sum())
    return generator.dirichlet(np.ones(r))


def any_weights(generator: np.random.Generator, k: int) -> Floats:
    """Weights that rise and fall, with ties and zeros."""
    weights = generator.integers(0, 4, size=k).astype(float)
    weights[generator.integers(k)] += 1
    return weights
