"""What is measured: problems as a user has them, in named sets, each made from a seed.

``uniform`` sets have uniform scores and a Dirichlet target, ``skewed`` ones gamma scores and targets with tiny shares,
``film_like`` ones a few common genres, tastes and histories, as MovieLens has; ``adversarial`` ones are named corners.
No two problems of a set are the same, and the trade-offs come in turn. Real ones are in :mod:`benchmarks.films`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from excalibr import Problem
from excalibr._types import Floats, Integers

__all__ = [
    "TRADE_OFFS",
    "TUNED",
    "UNSEEN",
    "Instance",
    "ProblemSet",
    "adversarial",
    "few_of",
    "film_like",
    "generated_films",
    "skewed",
    "uniform",
    "zipf",
]

TRADE_OFFS = (0.1, 0.3, 0.5, 0.7, 0.9)
TUNED, UNSEEN = 20, 41
"""Seeds. The kernel's constants were chosen on problems of the first; versions are compared on those of the second."""

SEED = TUNED
HISTORY = 60
SHAPE, SCALE, MOST = 1.5, 0.1, 3
NARROW, BROAD = 0.05, 0.5
"""Of skewed problems: the gamma distribution of scores, the most categories of an item, and between what the Dirichlet
distributions of targets lie: at the first most of 20 shares are below 1e-4, at the second one or none is."""


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem, before anything is checked; ``categories`` are an array, or sparse rows as scipy has them."""

    scores: Floats
    categories: Any
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
        made.append(Instance(random.random(n), categories, target, k, _in_turn(number)))
    return ProblemSet(f"{n}, {k}, {r}", "uniform scores", tuple(made))


def skewed(n: int, k: int, r: int, count: int, seed: int = SEED) -> ProblemSet:
    """Gamma scores; one to three categories an item, some common; narrow and broad tastes, with tiny shares."""
    random = np.random.default_rng(seed)
    common = zipf(r)
    made = []
    for number in range(count):
        rows = few_of(random, n, common, min(MOST, r))
        target = random.dirichlet(np.full(r, NARROW * (BROAD / NARROW) ** random.random()))
        made.append(Instance(random.gamma(SHAPE, SCALE, n), rows, target, k, _in_turn(number)))
    return ProblemSet(f"{n}, {k}, {r}", "gamma scores", tuple(made))


def film_like(name: str, n: int, k: int, r: int, most: int, users: int, seed: int = SEED) -> ProblemSet:
    """Users with tastes: one to ``most`` of r categories an item, the first ones common."""
    random = np.random.default_rng(seed)
    common = zipf(r)
    made = []
    for number in range(users):
        taste = random.dirichlet(20.0 * common) + 0.1 * common
        target = few_of(random, HISTORY, taste / taste.sum(), most).mean(axis=0)
        rows = few_of(random, n, common, most)
        scores = np.sort(random.gamma(1.5, 0.1, n) + rows @ taste)[::-1].copy()
        made.append(Instance(scores, rows, target, k, _in_turn(number)))
    return ProblemSet(name, "film-like, generated", tuple(made))


def generated_films(users: int, seed: int = SEED) -> list[ProblemSet]:
    """In place of real ones: the same attributes, sizes and names."""
    return [
        film_like("genre, n=150", 150, 100, 18, 3, users, seed),
        film_like("genre, n=1000", 1000, 100, 18, 3, users, seed),
        film_like("decade, n=150", 150, 100, 9, 1, users, seed),
        film_like("popularity, n=150", 150, 100, 2, 1, users, seed),
    ]


def adversarial(count: int, names: Sequence[str] = (), seed: int = SEED) -> list[ProblemSet]:
    """The named corners, or all."""
    made = []
    for name in names or CORNERS:
        random = np.random.default_rng((seed, *name.encode()))  # the same problems, whichever others are made
        made.append(
            ProblemSet(name, "adversarial", tuple(CORNERS[name](random, _in_turn(number)) for number in range(count)))
        )
    return made


def _in_turn(number: int) -> float:
    return TRADE_OFFS[number % len(TRADE_OFFS)]


def zipf(r: int) -> Floats:
    """How common each of r categories is: the first twice as common as the second, thrice as the third."""
    weights = 1.0 / np.arange(1, r + 1)
    return np.asarray(weights / weights.sum())


def _shared(random: np.random.Generator, n: int, r: int, per_item: int) -> Floats:
    """Rows of ``per_item`` categories, all equally likely."""
    return _rows(random.random((n, r)), np.full(n, per_item))


def few_of(random: np.random.Generator, count: int, common: Floats, most: int) -> Floats:
    """Rows of one to ``most`` categories, drawn without replacement by how common they are (Gumbel's race)."""
    with np.errstate(divide="ignore"):
        races = np.log(common) + random.gumbel(size=(count, len(common)))
    return _rows(races, random.integers(1, most + 1, count))


def _rows(races: Floats, sizes: Integers) -> Floats:
    """Equal shares of as many categories as each row has, those that win its race."""
    places = np.argsort(np.argsort(-races, axis=1), axis=1)
    return np.asarray((places < sizes[:, None]) / sizes[:, None])


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
