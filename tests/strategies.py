"""Hypothesis strategies that draw the problems themselves, number by number, so that a failure shrinks to a small one.

Scores, shares and weights are drawn as small whole numbers first and as floats after that: what is left of a failure
can be worked through by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from excalibr import Band, Problem, Shown
from tests.fuzz.questions import Floats, Question
from tests.problems import LARGE, mixed_problem

NAMED_WEIGHTS = ("log", "sqrt", "reciprocal", "uniform")

trade_offs: SearchStrategy[float] = st.sampled_from([0.5, 0.0, 1.0, 0.1, 0.9, 1e-6, 1 - 1e-6]) | st.floats(0, 1)


def scores(n: int) -> SearchStrategy[Floats]:
    """(n,) few different whole numbers, or any; sometimes much larger or smaller."""
    whole = st.integers(-3, 3).map(float)
    drawn = st.lists(whole, min_size=n, max_size=n) | st.lists(st.floats(-100, 100, width=32), min_size=n, max_size=n)
    scale = st.sampled_from([1.0, 1e3, 1e-3])
    return st.tuples(drawn, scale).map(lambda pair: np.array(pair[0]) * pair[1])


def shares(r: int) -> SearchStrategy[Floats]:
    """(r,) at least 0 with a sum of 1: parts in whole numbers, zeros among them."""
    parts = st.lists(st.integers(0, 6), min_size=r, max_size=r).filter(any)
    return parts.map(lambda drawn: np.array(drawn) / sum(drawn))


def one_hot(n: int, r: int) -> SearchStrategy[Floats]:
    """(n, r) one category each."""
    return st.lists(st.integers(0, r - 1), min_size=n, max_size=n).map(lambda chosen: np.eye(r)[chosen])


def rows(n: int, r: int) -> SearchStrategy[Floats]:
    """(n, r) one category each, or shares of several."""
    return one_hot(n, r) | st.lists(shares(r), min_size=n, max_size=n).map(np.array)


def position_weights(k: int) -> SearchStrategy[Any]:
    """A name, or numbers in any order, zeros among them."""
    numbers = st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any).map(lambda drawn: np.array(drawn, float))
    return st.sampled_from(NAMED_WEIGHTS) | numbers


@st.composite
def small_problems(draw: DrawFn) -> Problem:
    """The paper's problem with up to a dozen candidates."""
    n, r = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    k = draw(st.integers(1, n))
    return Problem.of(
        draw(scores(n)),
        draw(rows(n, r)),
        draw(shares(r)),
        k=k,
        trade_off=draw(trade_offs),
        position_weights=draw(position_weights(k)),
    )


large_problems = st.integers(0, 2**32).map(lambda seed: mixed_problem(np.random.default_rng(seed), LARGE))
"""From a seed: a problem of thousands of numbers would not shrink to one that can be read."""


@st.composite
def plain_questions(draw: DrawFn, most: int = 8, divergences: tuple[str, ...] = ("l1", "kl")) -> Question:
    """The paper's question, with either divergence."""
    n, r = draw(st.integers(1, most)), draw(st.integers(1, 4))
    k = draw(st.integers(1, n))
    options = {
        "k": k,
        "trade_off": draw(trade_offs),
        "position_weights": draw(position_weights(k)),
        "divergence": draw(st.sampled_from(divergences)),
    }
    return Question(draw(scores(n)), draw(rows(n, r)), draw(shares(r)), options)


@st.composite
def questions(draw: DrawFn, most: int = 8, divergences: tuple[str, ...] = ("l1", "kl")) -> Question:
    """A question with any options, one or two attributes, a trade-off or a budget."""
    n = draw(st.integers(1, most))
    k = draw(st.integers(1, n))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    names = "ab"[: len(sizes)] if len(sizes) > 1 else ""
    first = draw(one_hot(n, sizes[0]) | rows(n, sizes[0]))
    parts = [first, *(draw(rows(n, size)) for size in sizes[1:])]
    drawn = _Options(draw, n, k, sizes, names)
    options = drawn.options(draw(st.sampled_from(divergences)), limits_of=first)
    options |= draw(
        trade_offs.map(lambda value: {"trade_off": value})
        | st.sampled_from([0.0, 0.05, 0.5]).map(lambda value: {"relevance_loss": value})
        | st.sampled_from([0.01, 0.2, 2.0]).map(lambda value: {"max_deviation": value})
    )
    target = drawn.by_name([draw(targets(size)) for size in sizes])
    return Question(draw(scores(n)), drawn.by_name(parts), target, options)


@st.composite
def targets(draw: DrawFn, r: int) -> Any:
    """A distribution or a band around it."""
    middle = draw(shares(r))
    if not draw(st.booleans()):
        return middle
    width = draw(st.sampled_from([0.05, 0.2]))
    return Band(np.maximum(middle - width, 0), middle + width)


class _Options:
    """Draws the options of a question, each of them or not."""

    def __init__(self, draw: DrawFn, n: int, k: int, sizes: list[int], names: str) -> None:
        self.draw, self.n, self.k, self.sizes, self.names = draw, n, k, sizes, names

    def by_name(self, parts: list[Any]) -> Any:
        return dict(zip(self.names, parts, strict=True)) if self.names else parts[0]

    def options(self, divergence: str, limits_of: Floats) -> dict[str, Any]:
        draw = self.draw
        options: dict[str, Any] = {"k": self.k, "divergence": divergence}
        options["position_weights"] = draw(position_weights(self.k))
        wanted = set(draw(st.lists(st.sampled_from(_OPTIONAL), max_size=4, unique=True)))
        for name, strategy in self._strategies(limits_of).items():
            if name in wanted:
                options[name] = draw(strategy)
        self._consistent(options)
        return options

    def _strategies(self, limits_of: Floats) -> dict[str, SearchStrategy[Any]]:
        by_category = [st.lists(st.integers(0, 4), min_size=size, max_size=size) for size in self.sizes]
        limit = st.integers(0, self.k)
        strategies = {
            "category_weights": st.tuples(*by_category).map(
                lambda parts: self.by_name([np.array(part, float) for part in parts])
            ),
            "relative": st.just(True),
            "normalise": st.just("range"),
            "floors": st.tuples(*by_category).map(lambda parts: self.by_name([np.array(part) / 20 for part in parts])),
            "caps": st.tuples(*by_category).map(lambda parts: self.by_name([1 - np.array(part) / 8 for part in parts])),
            "pinned": st.dictionaries(st.integers(0, self.k - 1), st.integers(0, self.n - 1), min_size=1, max_size=2),
            "shown": st.lists(st.integers(0, self.n - 1), min_size=1, max_size=2, unique=True).map(Shown),
            "draws": st.sampled_from(["single", "even"]),
        }
        if np.isin(limits_of, (0.0, 1.0)).all():
            named = limit.map(lambda value: {self.names[0]: value} if self.names else value)
            strategies["max_per_category"] = named
        if self.names:
            strategies["attribute_weights"] = st.fixed_dictionaries({name: st.integers(0, 3) for name in self.names})
        return strategies

    def _consistent(self, options: dict[str, Any]) -> None:
        """Pins of different candidates that were not shown; what else cannot be is the library's to refuse."""
        pinned, shown = options.get("pinned", {}), options.get("shown")
        assume(len(set(pinned.values())) == len(pinned))
        assume(shown is None or not set(pinned.values()) & set(shown.candidates))


_OPTIONAL = (
    "category_weights", "attribute_weights", "relative", "normalise", "floors", "caps", "max_per_category", "pinned",
    "shown", "draws",
)  # fmt: skip
