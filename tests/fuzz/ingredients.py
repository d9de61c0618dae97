"""What questions are made of: scores, rows, targets, weights, at ordinary scales or at all of them.

Each ingredient is drawn by itself, so that corners meet one another. *Wild* ones go to the ends of floats.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tests.fuzz.questions import Floats

Choice = TypeVar("Choice")


class Dice:
    """Random choices from a seed: single ones from Python's generator, which is quicker there, arrays from numpy's."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self.arrays = np.random.Generator(np.random.PCG64(self._random.getrandbits(64)))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self._random.random() * len(choices))]

    def whole(self, least: int, most: int) -> int:
        """A whole number; both ends can come."""
        return least + int(self._random.random() * (most - least + 1))

    def between(self, least: float, most: float) -> float:
        return self._random.uniform(least, most)

    def some(self, count: int, total: int) -> list[int]:
        """Different whole numbers below ``total``."""
        return self._random.sample(range(total), count)


Scores = Callable[[Dice, int], Floats]

ORDINARY_SCORES: tuple[Scores, ...] = (
    lambda dice, n: dice.arrays.random(n),
    lambda dice, n: dice.arrays.random(n),
    lambda dice, n: dice.arrays.normal(size=n),
    lambda dice, n: np.full(n, dice.between(-1, 1)),
    lambda dice, n: dice.arrays.integers(0, dice.whole(2, 5), n).astype(float),
    lambda dice, n: dice.arrays.pareto(1.5, n),
    lambda dice, n: dice.arrays.gamma(0.3, size=n),
    lambda dice, n: dice.arrays.random(n)[dice.arrays.integers(0, max(1, n // 3), n)],
    lambda dice, n: np.arange(n) / n,
    lambda dice, n: np.where(dice.arrays.random(n) < 0.1, 1e3, dice.arrays.random(n)),
)

WILD_SCORES: tuple[Scores, ...] = (
    *ORDINARY_SCORES,
    lambda dice, n: 1 + dice.arrays.random(n) * 10.0 ** -dice.whole(8, 16),
    lambda dice, n: dice.arrays.standard_cauchy(n),
    lambda dice, n: np.exp(5 * dice.arrays.normal(size=n)),
    lambda dice, n: np.cumsum(np.full(n, 2.0 ** -dice.whole(20, 60))) + 1,
)

MASKS = (float(np.finfo(np.float64).min), -1e300, -1e30, float(np.finfo(np.float32).min), -1.7e308)


def scores(dice: Dice, n: int, wild: bool) -> Floats:
    """(n,) finite: ties, near ties, all equal; wild ones of any size and offset, with masks."""
    if not wild:
        drawn = dice.one_of(ORDINARY_SCORES)(dice, n)
        drawn = drawn * 10.0 ** dice.between(-2, 2) if dice.chance(0.3) else drawn
        return drawn + dice.between(-10, 10) if dice.chance(0.2) else drawn
    drawn = dice.one_of(WILD_SCORES)(dice, n)
    if dice.chance(0.5):
        drawn = drawn * 10.0 ** dice.between(-12, 12)
    if dice.chance(0.3):
        drawn = drawn + dice.one_of((-1, 1)) * 10.0 ** dice.between(-12, 12)
    if dice.chance(0.06):
        drawn = np.where(dice.arrays.random(n) < 0.3, dice.one_of(MASKS), drawn)
    if dice.chance(0.02):
        drawn[dice.whole(0, n - 1)] = 1.7e308
    return drawn * 1e-300 if dice.chance(0.02) and np.abs(drawn).max() < 1e15 else drawn


def one_hot(dice: Dice, n: int, r: int) -> Floats:
    return np.asarray(np.eye(r)[dice.arrays.integers(0, r, n)])


def _few_shares(dice: Dice, n: int, r: int) -> Floats:
    """One to four categories an item, in equal shares."""
    most = min(r, 4)
    rows, counts = np.zeros((n, r)), dice.arrays.integers(1, most + 1, n)
    chosen = np.argpartition(dice.arrays.random((n, r)), most - 1, axis=1)[:, :most]
    rows[np.arange(n)[:, None], chosen] = np.arange(most) < counts[:, None]
    return rows / counts[:, None]


def _tags(dice: Dice, n: int, r: int) -> Floats:
    """Up to 44 categories an item, the first ones common, in shares of any size."""
    races = dice.arrays.gumbel(size=(n, r)) - np.log(np.arange(1.0, r + 1))
    most = min(r, 44)
    held = np.argpartition(-races, most - 1, axis=1)[:, :most]
    counts = dice.arrays.gamma(0.5, size=(n, most)) + 1e-3
    counts[:, 1:] *= np.arange(1, most) < dice.arrays.integers(min(most, 27), most + 1, n)[:, None]
    rows = np.zeros((n, r))
    np.put_along_axis(rows, held, counts, axis=1)
    return _with_sums(rows)


def _skewed(dice: Dice, n: int, r: int) -> Floats:
    """Some categories that nearly all have, some that nobody has."""
    popularity = np.cumsum(dice.arrays.random(r) ** 8 + 1e-12)
    return np.asarray(np.eye(r)[np.searchsorted(popularity / popularity[-1], dice.arrays.random(n)).clip(max=r - 1)])


def _dirichlet(concentration: float) -> Callable[[Dice, int, int], Floats]:
    return lambda dice, n, r: _with_sums(dice.arrays.gamma(concentration, size=(n, r)))


def _sums_off(dice: Dice, n: int, r: int) -> Floats:
    """Rows as a caller rounds them: sums of 1 to within what is accepted."""
    return _with_sums(dice.arrays.random((n, r)) + 1e-3) * (1 + 4e-7 * dice.arrays.uniform(-1, 1, (n, 1)))


def _tiny_shares(dice: Dice, n: int, r: int) -> Floats:
    """One category an item, beside shares of no size."""
    return _with_sums(one_hot(dice, n, r) + 10.0 ** -dice.arrays.uniform(6, 300, (n, r)))


Rows = Callable[[Dice, int, int], Floats]

ORDINARY_ROWS: tuple[Rows, ...] = (
    one_hot,
    one_hot,
    _few_shares,
    _skewed,
    _dirichlet(1.0),
    _dirichlet(0.1),
    lambda dice, n, r: np.tile(_dirichlet(1.0)(dice, 1, r), (n, 1)),
    lambda dice, n, r: _dirichlet(1.0)(dice, 5, r)[dice.arrays.integers(0, dice.whole(1, 5), n)],
    _sums_off,
)
WILD_ROWS: tuple[Rows, ...] = (*ORDINARY_ROWS, _tiny_shares)
MANY_ROWS: tuple[Rows, ...] = (one_hot, _few_shares, _few_shares, _tags, _tags, _dirichlet(1.0), _skewed)


def rows(dice: Dice, n: int, r: int, wild: bool, many: bool = False) -> Floats:
    """(n, r) shares; degenerate ones are all equal, or leave categories empty."""
    return dice.one_of(MANY_ROWS if many else WILD_ROWS if wild else ORDINARY_ROWS)(dice, n, r)


Targets = Callable[[Dice, Floats], Any]

ORDINARY_TARGETS: tuple[Targets, ...] = (
    lambda dice, rows: dice.arrays.exponential(size=rows.shape[1]) + 1e-3,
    lambda dice, rows: dice.arrays.gamma(0.3, size=rows.shape[1]),
    lambda dice, rows: np.eye(rows.shape[1])[dice.whole(0, rows.shape[1] - 1)],
    lambda dice, rows: rows.mean(axis=0),
    lambda dice, rows: rows[dice.whole(0, len(rows) - 1)],
    lambda dice, rows: dice.arrays.random(rows.shape[1]) * (dice.arrays.random(rows.shape[1]) < 0.5),
    lambda dice, rows: np.ones(rows.shape[1]),
    lambda dice, rows: (rows.sum(axis=0) == 0).astype(float),
)
WILD_TARGETS: tuple[Targets, ...] = (
    *ORDINARY_TARGETS,
    lambda dice, rows: 10.0 ** -dice.arrays.uniform(0, 20, rows.shape[1]),
    lambda dice, rows: 10.0 ** -dice.arrays.uniform(0, 300, rows.shape[1]),
    lambda dice, rows: np.where(np.arange(rows.shape[1]) == 0, 5e-324, 1.0),
)


def _thin(dice: Dice, rows: Floats) -> Floats:
    """Of a history of some tens of items."""
    return np.asarray(rows[dice.arrays.integers(0, len(rows), dice.whole(10, 60))].mean(axis=0))


MANY_TARGETS: tuple[Targets, ...] = (
    _thin,
    lambda dice, rows: 0.9 * _thin(dice, rows) + 0.1 / rows.shape[1],
    lambda dice, rows: 0.9 * dice.arrays.dirichlet(np.full(rows.shape[1], 0.3)) + 0.1 / rows.shape[1],
    lambda dice, rows: dice.arrays.exponential(size=rows.shape[1]) * np.exp(-dice.arrays.uniform(0, 35, rows.shape[1])),
    lambda dice, rows: dice.arrays.permutation(np.exp2(-np.linspace(0, dice.between(20, 60), rows.shape[1]))),
)


def target(dice: Dice, rows: Floats, wild: bool, many: bool = False) -> Floats:
    """(r,) shares with a sum of 1; ordinary ones are 0 or no smaller than 1e-4, but for some of those of many."""
    if many and dice.chance(0.7):
        drawn = dice.one_of(MANY_TARGETS)(dice, rows)
        return np.asarray(drawn / drawn.sum())
    drawn = dice.one_of(WILD_TARGETS if wild else ORDINARY_TARGETS)(dice, rows)
    total = drawn.sum()
    if not wild and total > 0:
        drawn = np.where(drawn < 1e-4 * total, 0.0, drawn)
        total = drawn.sum()
    if not total > 0:
        return np.asarray(np.eye(len(drawn))[dice.whole(0, len(drawn) - 1)])
    return np.asarray(drawn / total)


Weights = Callable[[Dice, int], Any]


def _some_zeros(dice: Dice, k: int) -> Floats:
    drawn = dice.arrays.random(k) * (dice.arrays.random(k) < 0.5)
    return drawn if drawn.any() else np.ones(k)


ORDINARY_WEIGHTS: tuple[Weights, ...] = (
    lambda dice, k: "log",
    lambda dice, k: "log",
    lambda dice, k: "sqrt",
    lambda dice, k: "reciprocal",
    lambda dice, k: "uniform",
    lambda dice, k: np.arange(1.0, k + 1),
    lambda dice, k: dice.arrays.random(k) + 0.01,
    lambda dice, k: dice.arrays.integers(0, 3, k) + float(dice.one_of((1.0, 0.01))),
    _some_zeros,
    lambda dice, k: np.eye(k)[dice.whole(0, k - 1)],
)
WILD_WEIGHTS: tuple[Weights, ...] = (
    *ORDINARY_WEIGHTS,
    lambda dice, k: dice.arrays.random(k) + 1e-12,
    lambda dice, k: dice.arrays.permutation(0.5 ** np.arange(k)),
    lambda dice, k: dice.arrays.random(k) * 10.0 ** dice.arrays.uniform(-250, 250) + 1e-300,
)


def position_weights(dice: Dice, k: int, wild: bool) -> Any:
    """A name, or k numbers that fall, rise, have zeros or are for one slot only."""
    return dice.one_of(WILD_WEIGHTS if wild else ORDINARY_WEIGHTS)(dice, k)


TRADE_OFFS = (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
WILD_TRADE_OFFS = (0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-6, 1.0)


def trade_off(dice: Dice, spread: float, wild: bool) -> float:
    """From 0 to 1, with the ends; often near where the scores and the shares weigh the same."""
    if dice.chance(0.15) and np.isfinite(spread):
        return float(1 - 1 / (1 + spread * dice.between(0, 2))) if spread > 1e-9 else float(spread)
    if dice.chance(0.15):
        return dice.between(0, 1)
    return dice.one_of(WILD_TRADE_OFFS if wild else TRADE_OFFS)


def _with_sums(rows: Floats) -> Floats:
    """Rows divided by their sums; the first category for those without any."""
    rows = np.nan_to_num(rows)
    sums = rows.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, rows, np.eye(1, rows.shape[1]))
    return np.asarray(rows / np.where(sums > 0, sums, 1))
