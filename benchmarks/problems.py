"""What is measured: problems as a user has them, in named sets, each made from a seed.

``uniform`` sets have uniform scores and a Dirichlet target; ``film_like`` ones a few common genres, tastes and
histories, as MovieLens has; ``adversarial`` ones are corners by name. Real ones are in :mod:`benchmarks.films`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from excalibr import Problem
from excalibr._types import Floats

__all__ = ["TRADE_OFFS", "Instance", "ProblemSet", "adversarial", "film_like", "uniform"]

TRADE_OFFS = (0.1, 0.5, 0.9)
SEED = 20
HISTORY = 60


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem, before anything is checked."""

    scores: Floats
    categories: Floats
    target: Floats
    k: int
    trade_off: float
    position_weights: str | Floats = "log"

    def copied(self) -> Instance:
        """The same in other places of memory: where arrays lie is part of the noise."""
        return replace(self, scores=self.scores.copy(), categories=self.categories.copy(), target=self.target.copy())

    def problem(self) -> Problem:
        """The checked problem, for the peers."""
        return Problem.of(
            self.scores,
            self.categories,
            self.target,
            k=self.k,
            trade_off=self.trade_off,
            position_weights=self.position_weights,
        )


@dataclass(frozen=True, eq=False)
class ProblemSet:
    """Problems that belong together, and a word on where they are from."""

    name: str
    origin: str
    instances: tuple[Instance, ...]


def uniform(n: int, k: int, r: int, per_item: int, count: int, seed: int = SEED) -> ProblemSet:
    """Uniform scores, ``per_item`` categories an item in equal shares, a Dirichlet target; the trade-offs in turn."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        categories = _shared(random, n, r, per_item)
        target = random.dirichlet(np.ones(r))
        made.append(Instance(random.random(n), categories, target, k, TRADE_OFFS[number % len(TRADE_OFFS)]))
    return ProblemSet(f"{n}, {k}, {r}", "uniform scores", tuple(made))


def film_like(name: str, n: int, k: int, r: int, most: int, users: int, seed: int = SEED) -> ProblemSet:
    """Users with tastes: one to ``most`` of r categories an item, the first ones common; users at each trade-off."""
    random = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, r + 1)
    common /= common.sum()
    made = []
    for _ in range(users):
        taste = random.dirichlet(20.0 * common) + 0.1 * common
        target = _few(random, HISTORY, taste / taste.sum(), most).mean(axis=0)
        rows = _few(random, n, common, most)
        scores = np.sort(random.gamma(1.5, 0.1, n) + rows @ taste)[::-1].copy()
        made += [Instance(scores, rows, target, k, trade_off) for trade_off in TRADE_OFFS]
    return ProblemSet(name, "film-like, generated", tuple(made))


def adversarial(count: int, *, large: bool = True, seed: int = SEED) -> list[ProblemSet]:
    """The named corners; without ``large`` those that a linear program solves in a second or so."""
    random = np.random.default_rng(seed)
    names = [name for name in CORNERS if large or name not in LARGE]
    return [
        ProblemSet(
            name,
            "adversarial",
            tuple(CORNERS[name](random, TRADE_OFFS[number % len(TRADE_OFFS)]) for number in range(count)),
        )
        for name in names
    ]


def _shared(random: np.random.Generator, n: int, r: int, per_item: int) -> Floats:
    rows = np.zeros((n, r))
    for row in rows:
        row[random.choice(r, per_item, replace=False)] = 1.0 / per_item
    return rows


def _few(random: np.random.Generator, count: int, common: Floats, most: int) -> Floats:
    rows = np.zeros((count, len(common)))
    for row in rows:
        chosen = random.choice(len(common), size=random.integers(1, most + 1), replace=False, p=common)
        row[chosen] = 1.0 / len(chosen)
    return rows


Corner = Callable[[np.random.Generator, float], Instance]


def _many_ties(random: np.random.Generator, trade_off: float) -> Instance:
    scores = random.integers(0, 3, 150).astype(np.float64)
    return Instance(scores, np.eye(10)[random.integers(0, 10, 150)], random.dirichlet(np.ones(10)), 100, trade_off)


def _equal_scores(random: np.random.Generator, trade_off: float) -> Instance:
    return Instance(np.ones(150), _shared(random, 150, 20, 2), random.dirichlet(np.ones(20)), 100, trade_off)


def _equal_rows(random: np.random.Generator, trade_off: float) -> Instance:
    rows = random.dirichlet(np.ones(20), size=3)[random.integers(0, 3, 150)]
    return Instance(random.random(150), rows, random.dirichlet(np.ones(20)), 100, trade_off)


def _dense_rows(random: np.random.Generator, trade_off: float) -> Instance:
    rows = random.dirichlet(np.ones(20), size=150)
    return Instance(random.random(150), rows, random.dirichlet(np.ones(20)), 100, trade_off)


def _steep_weights(random: np.random.Generator, trade_off: float) -> Instance:
    rows, target = _shared(random, 150, 20, 2), random.dirichlet(np.ones(20))
    return Instance(random.random(150), rows, target, 50, trade_off, np.exp2(-np.arange(50.0)))


def _huge_scores(random: np.random.Generator, trade_off: float) -> Instance:
    rows = _shared(random, 150, 20, 2)
    return Instance(1e6 * random.random(150), rows, random.dirichlet(np.ones(20)), 100, trade_off)


def _unreachable(random: np.random.Generator, trade_off: float) -> Instance:
    rows = np.hstack((_shared(random, 150, 10, 2), np.zeros((150, 10))))
    return Instance(random.random(150), rows, random.dirichlet(np.ones(20)), 100, trade_off)


def _all_shown(random: np.random.Generator, trade_off: float) -> Instance:
    return Instance(random.random(100), _shared(random, 100, 20, 2), random.dirichlet(np.ones(20)), 100, trade_off)


def _tiny_k(random: np.random.Generator, trade_off: float) -> Instance:
    return Instance(random.random(1000), _shared(random, 1000, 20, 2), random.dirichlet(np.ones(20)), 3, trade_off)


def _huge_r(random: np.random.Generator, trade_off: float) -> Instance:
    return Instance(random.random(500), _shared(random, 500, 400, 2), random.dirichlet(np.ones(400)), 100, trade_off)


CORNERS: dict[str, Corner] = {
    "many ties": _many_ties,
    "equal scores": _equal_scores,
    "equal rows": _equal_rows,
    "dense rows": _dense_rows,
    "steep weights": _steep_weights,
    "huge scores": _huge_scores,
    "unreachable target": _unreachable,
    "all candidates shown": _all_shown,
    "tiny k": _tiny_k,
    "huge r": _huge_r,
}

LARGE = frozenset({"huge r"})
