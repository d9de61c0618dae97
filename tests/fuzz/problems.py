"""Questions from a seed: every option of ``calibrate``, alone and mixed, budgets, paths, frontiers and batches.

``question("small", 7)`` is the same question in every run, until this file changes: a question that is worth keeping is
stored as arrays (``python -m tests.fuzz --keep``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from excalibr import Band, Shown
from tests import problems
from tests.fuzz import ingredients
from tests.fuzz.ingredients import Dice
from tests.fuzz.program import Program
from tests.fuzz.questions import Floats, Question

PROFILES = ("small", "scales", "large", "paper", "many")
"""Few candidates at ordinary scales; the same at all scales; many candidates; the paper's question in its corners; up
to 1,000 categories, and now and then up to 10,000 candidates."""

MIXED = "mixed"
_MIX = ("small",) * 120 + ("scales",) * 59 + ("paper",) * 10 + ("large",) * 10 + ("many",) * 1


def profile_of(profile: str, seed: int) -> str:
    """The profile of a question: "mixed" has of each, small ones most."""
    return Dice(f"mixed/{seed}").one_of(_MIX) if profile == MIXED else profile


def question(profile: str, seed: int) -> Question:
    """The question of a seed."""
    profile = profile_of(profile, seed)
    dice = Dice(f"{profile}/{seed}")
    if profile == "paper":
        return _from_the_paper(dice)
    if profile == "many":
        return _Maker(dice, *_many_sizes(dice), wild=dice.chance(0.2), many=True).question()
    n, k, r = _large_sizes(dice) if profile == "large" else _small_sizes(dice)
    return _Maker(dice, n, k, r, wild=profile == "scales" or (profile == "large" and dice.chance(0.5))).question()


def _small_sizes(dice: Dice) -> tuple[int, int, int]:
    n = dice.whole(1, dice.one_of((5, 8, 12, 20, 30)))
    k = dice.one_of((1, n, dice.whole(1, n), max(1, n // 3), min(n, 10)))
    r = dice.whole(13, 100) if dice.chance(0.04) else dice.one_of((1, 2, 3, dice.whole(2, 6), dice.whole(1, 12)))
    return n, k, r


def _large_sizes(dice: Dice) -> tuple[int, int, int]:
    n = dice.whole(40, 400)
    k = dice.one_of((1, n, dice.whole(1, n), max(1, n // 3), 10, 10))
    return n, k, dice.one_of((2, 10, 20, dice.whole(1, 25), dice.whole(1, 80), 100))


def _many_sizes(dice: Dice) -> tuple[int, int, int]:
    if dice.chance(0.05):
        n = round(10.0 ** dice.between(3, 4))
        return n, dice.one_of((10, 100, n // 3)), dice.whole(2, 60)
    n = round(10.0 ** dice.between(1.7, 3))
    k = dice.one_of((dice.whole(1, n), max(1, n // 3), 10, 20, 50))
    return n, min(k, n), round(10.0 ** dice.between(1.85, 3))


def _from_the_paper(dice: Dice) -> Question:
    size = problems.LARGE if dice.chance(0.03) else problems.SMALL
    problem = problems.mixed_problem(dice.arrays, size)
    options = {"k": problem.k, "position_weights": problem.position_weights, "trade_off": problem.trade_off}
    divergence = {"divergence": "kl"} if dice.chance(0.4) else {}
    rows = problem.memberships.sparse() if size == problems.LARGE else problem.memberships.dense()
    return Question(problem.scores, rows, problem.target, options | divergence)


class _Maker:
    """Puts a question together, option by option."""

    def __init__(self, dice: Dice, n: int, k: int, r: int, *, wild: bool, many: bool = False) -> None:
        self.dice, self.n, self.k, self.wild, self.many = dice, n, k, wild, many
        self.rich = dice.chance(0.65)
        self.one_hot = self.rich and dice.chance(0.5)
        count = dice.one_of((2, 2, 3)) if self._wanted(0.3) else 1
        self.sizes = [r] + [dice.whole(1, 8) for _ in range(count - 1)]
        self.names = tuple("abc"[:count]) if count > 1 or self._wanted(0.05) else ()
        self.rows = [self._rows(n, size, first=place == 0) for place, size in enumerate(self.sizes)]
        self.targets = [ingredients.target(dice, rows, wild, many) for rows in self.rows]
        self.options: dict[str, Any] = {"k": k}

    def question(self) -> Question:
        dice, options = self.dice, self.options
        scores = ingredients.scores(dice, self.n, self.wild)
        options["position_weights"] = ingredients.position_weights(dice, self.k, self.wild)
        if dice.chance(0.35):
            options["divergence"] = "kl"
        self._weights()
        if self._wanted(0.1):
            options["normalise"] = "range"
        free = self._shown()
        self._pinned(free)
        self._at_most()
        categories = self._named([self._maybe_sparse(rows) for rows in self.rows])
        target = self._named([self._maybe_band(target) for target in self.targets])
        asked = Question(scores, categories, target, options)
        self._limits(asked)
        with np.errstate(over="ignore"):
            return self._aim(asked, float(np.ptp(scores)))

    def _wanted(self, probability: float) -> bool:
        return self.rich and self.dice.chance(probability)

    def _named(self, parts: list[Any]) -> Any:
        return dict(zip(self.names, parts, strict=True)) if self.names else parts[0]

    def _rows(self, n: int, r: int, *, first: bool) -> Floats:
        if first and self.one_hot:
            return ingredients.one_hot(self.dice, n, r)
        return ingredients.rows(self.dice, n, r, self.wild, self.many)

    def _maybe_sparse(self, rows: Floats) -> Any:
        return sp.csr_array(rows) if self.dice.chance(0.03) else rows

    def _maybe_band(self, target: Floats) -> Any:
        if not self._wanted(0.2):
            return target
        width, random = self.dice.one_of((0.0, 0.02, 0.1, 0.5)), self.dice.arrays.random
        return Band(np.maximum(target - width * random(len(target)), 0), target + width * random(len(target)))

    def _weights(self) -> None:
        dice = self.dice
        if self._wanted(0.2):
            parts = [self._category_weights(size) for size in self.sizes]
            self.options["category_weights"] = self._named(parts)
        if self.names and dice.chance(0.4):
            values = (0.0, 0.5, 2.0, dice.between(0, 3), 10.0 ** dice.between(-6, 6) if self.wild else 5.0)
            self.options["attribute_weights"] = {name: dice.one_of(values) for name in self.names}
        smallest = min(float(target[target > 0].min()) for target in self.targets)
        if self._wanted(0.15) and (self.wild or smallest > 1e-3):
            self.options["relative"] = True

    def _category_weights(self, r: int) -> Any:
        dice = self.dice
        drawn = dice.arrays.random(r) * dice.one_of((1.0, 2.0, 10.0))
        if dice.chance(0.2):
            drawn[dice.whole(0, r - 1)] = 0.0
        if self.wild and dice.chance(0.3):
            drawn = drawn * 10.0 ** dice.arrays.uniform(-12, 12, r)
        if self.wild and dice.chance(0.03):
            drawn[0] = 1e305
        if dice.chance(0.5):
            return drawn
        return {category: float(drawn[category]) for category in dice.some(dice.whole(1, r), r)}

    def _shown(self) -> list[int]:
        """Earlier pages; returns who is left."""
        dice, spare = self.dice, self.n - self.k
        if not self._wanted(0.2):
            return list(range(self.n))
        seen = dice.some(dice.whole(0, min(spare, 8)), self.n)
        others = None
        if dice.chance(0.4) or not seen:
            count = dice.whole(1, 4)
            others = [ingredients.rows(dice, count, size, self.wild) for size in self.sizes]
        count = len(seen) + (len(others[0]) if others else 0)
        weights: Any = dice.one_of(("log", "sqrt", "reciprocal", "uniform"))
        if dice.chance(0.5):
            weights = (dice.arrays.random(count) + 0.01) * 10.0 ** dice.between(*((-3, 2) if self.wild else (-1, 0.5)))
        pages: Any = np.array(seen, dtype=np.int64)
        if len(seen) > 2 and dice.chance(0.3):
            pages = [seen[:2], seen[2:]]
        rows = None if others is None else self._named(others)
        self.options["shown"] = Shown(pages if len(seen) else None, rows, weights)
        return [candidate for candidate in range(self.n) if candidate not in set(seen)]

    def _pinned(self, free: list[int]) -> None:
        dice = self.dice
        if not self._wanted(0.25):
            return
        most = min(self.k, len(free))
        count = dice.whole(1, min(most, 4)) if dice.chance(0.9) else most
        slots, chosen = dice.some(count, self.k), dice.some(count, len(free))
        self.options["pinned"] = {slot: free[place] for slot, place in zip(slots, chosen, strict=True)}

    def _at_most(self) -> None:
        """Limits per category, wide enough most of the time."""
        dice, r = self.dice, self.sizes[0]
        if not (self.one_hot and dice.chance(0.35)):
            return
        limit: Any = dice.whole(1, 2 * self.k // r + 2)
        if dice.chance(0.4):
            limit = {category: dice.whole(0, self.k) for category in dice.some(dice.whole(1, r), r)}
        self.options["max_per_category"] = {self.names[0]: limit} if self.names else limit

    def _limits(self, asked: Question) -> None:
        """Floors and caps: just what some ranking keeps, wider than that, or anything."""
        for name in ("floors", "caps"):
            if self._wanted(0.2):
                kept = self._kept_by_some_ranking(asked) if self.dice.chance(0.7) else None
                ends = np.cumsum(self.sizes).tolist()
                parts = [None if kept is None else kept[end - r : end] for end, r in zip(ends, self.sizes, strict=True)]
                limits = [self._limit(name, part, r) for part, r in zip(parts, self.sizes, strict=True)]
                self.options[name] = self._named(limits)

    def _kept_by_some_ranking(self, asked: Question) -> Floats | None:
        program = Program.of(asked)
        if not program.has_a_ranking():
            return None
        rankings = [program.best_ranking(self.dice.arrays.random(self.n)) for _ in range(self.dice.one_of((1, 3)))]
        weights = np.full(len(rankings), 1 / len(rankings))
        return np.asarray(program.shares(program.exposure(np.array(rankings), weights)), dtype=np.float64)

    def _limit(self, name: str, kept: Floats | None, r: int) -> Any:
        dice = self.dice
        if kept is None:
            drawn = dice.arrays.random(r) * (2 / r if name == "floors" else 1.0)
        elif name == "floors":
            drawn = kept * (1.0 if self.wild and dice.chance(0.3) else dice.arrays.random(r))
        else:
            drawn = kept + (1 - kept) * (0.0 if self.wild and dice.chance(0.3) else dice.arrays.random(r))
        drawn = drawn.clip(0, 1)
        if dice.chance(0.5):
            return drawn
        return {category: float(drawn[category]) for category in dice.some(dice.whole(1, min(r, 4)), r)}

    def _aim(self, asked: Question, spread: float) -> Question:
        """What is asked of the page: a trade-off or a budget, a lottery or other draws; a path, frontier or batch."""
        dice, options = self.dice, self.options
        trade_off = ingredients.trade_off(dice, spread, self.wild)
        kind = dice.between(0, 1)
        if kind < 0.03 and not self.many:  # dozens of solves, and as many to check them
            options |= {"tolerance": dice.one_of((1e-2, 1e-3, 1e-4)), "max_vertices": 40}
            return replace(asked, call="frontier")
        if self.rich:
            draws = dice.one_of(("lottery",) * 7 + ("single", "single", "even"))
            options |= {} if draws == "lottery" else {"draws": draws}
        if kind < 0.08:
            count = dice.whole(1, 5)
            options["trade_offs"] = [ingredients.trade_off(dice, spread, self.wild) for _ in range(count)]
            return replace(asked, call="calibrate_path")
        if kind < 0.2:
            name = dice.one_of(("relevance_loss", "max_deviation"))
            amounts = (
                (0.0, 1e-6, 0.01, 0.05, 0.3, 1.0) if name == "relevance_loss" else (0.0, 1e-6, 0.01, 0.1, 0.5, 2.0)
            )
            options[name] = dice.one_of(amounts)
            return asked
        options["trade_off"] = trade_off
        fits_a_batch = not (self.names or {"shown", "pinned"} & options.keys() or isinstance(asked.target, Band))
        return replace(asked, call="calibrate_batch") if fits_a_batch and kind < 0.23 else asked
