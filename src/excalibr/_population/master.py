r"""The master program: of the passes so far, what each block of users should be shown with which probability.

.. math:: \max_{w} \; \sum_{b,t} w_{bt}\, f_{bt} - \text{cost}\Bigl(\sum_{b,t} w_{bt}\, S_{bt}\Bigr), \qquad
          w_{b\cdot} \text{ a lottery over the passes}

Its value can be had, and its dual is a model of the bound from below, exact at every pass. Small ones are solved as
linear programs. Large ones are smoothed: each block's best pass becomes a soft maximum with a temperature, whose
gradient is a lottery over the passes, and quasi-Newton steps go down to low temperatures.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import optimize as scipy_optimize
from scipy import sparse

from excalibr._population.descent import descend
from excalibr._population.sums import Pass
from excalibr._population.terms import Terms
from excalibr._types import Floats

__all__ = ["Master", "Mixed"]

optimize: Any = scipy_optimize

SMALL = 6_000
"""Blocks × passes up to which the linear program is solved as one."""

STEPS = (10, 20, 30)
"""Most quasi-Newton steps at the temperatures, the last of which decides."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """A mixture of passes: (passes, blocks) probabilities, the groups' shares, and what it is worth."""

    weights: Floats
    shares: Floats
    value: float


@dataclass(eq=False)
class Master:
    """The passes so far and the terms of the groups; ``threads`` share the work on large ones, pass by pass.

    Unless it is to be ``exact``, small ones are smoothed too: good prices are found sooner than the last mixture.
    """

    terms: Terms
    threads: int = 1
    exact: bool = True
    passes: list[Pass] = field(default_factory=list)
    _by_group: list[Any] = field(default_factory=list)

    def add(self, found: Pass) -> None:
        """One more pass."""
        self.passes.append(found)
        self._by_group.append(found.shares.T)
        self._own = np.array([each.own for each in self.passes])
        self._scale = np.maximum(self.passes[0].weights, np.finfo(float).tiny)

    @property
    def small(self) -> bool:
        """Whether the linear program is solved as one."""
        return self.exact and self._own.size <= SMALL

    def model(self, prices: Floats) -> float:
        """The bound that the passes so far know of: never above the bound itself."""
        return float(self._margins(prices).max(axis=0).sum()) + self.terms.edge_value(prices)

    def mixed(self, weights: Floats) -> Mixed:
        """What a mixture is worth at least; its own value can only be higher, for deviation is convex."""
        shares = self._shares_of(weights)
        return Mixed(weights, shares, float((weights * self._own).sum()) - self.terms.cost(shares))

    def descend(
        self, prices: Floats, lowest: Floats, highest: Floats, temperatures: tuple[float, ...]
    ) -> tuple[Floats, Mixed]:
        """The prices between bounds that make the smoothed model lowest, and the best mixture on the way."""
        best: Mixed | None = None
        for steps, temperature in zip(STEPS[-len(temperatures) :], temperatures, strict=True):
            prices = descend(partial(self._model, temperature=temperature), prices, lowest, highest, steps)
            mixed = self.mixed(self._smoothed(prices, temperature)[2])
            best = mixed if best is None or mixed.value > best.value else best
        assert best is not None
        return prices, best

    def solve(self) -> tuple[Floats, Mixed]:
        """The linear program as one: prices that prove its value, and the mixture."""
        terms, (count, blocks) = self.terms, self._own.shape
        columns = count * blocks
        into_groups = sparse.hstack(self._by_group, format="csr")
        signed = sparse.diags_array(terms.signs) @ into_groups[terms.groups]
        eye = sparse.eye_array(len(terms))
        chosen = sparse.csr_array(
            (np.ones(columns), (np.tile(np.arange(blocks), count), np.arange(columns))), shape=(blocks, columns)
        )
        rows = sparse.block_array([[signed, -eye, eye], [chosen, None, None]], format="csr")
        wanted = np.concatenate([terms.signs * terms.edges, np.ones(blocks)])
        costs = np.concatenate([-self._own.ravel(), terms.highest, -terms.lowest])
        found = optimize.linprog(costs, A_eq=rows, b_eq=wanted, bounds=(0, None), method="highs", options=_EXACTLY)
        if found.x is None:
            middle = 0.5 * (terms.lowest + terms.highest)
            return middle, self.mixed(np.full(self._own.shape, 1.0 / count))
        weights = np.maximum(found.x[:columns], 0.0).reshape(count, blocks)
        prices = np.clip(-found.eqlin.marginals[: len(terms)], terms.lowest, terms.highest)
        return prices, self.mixed(weights / weights.sum(axis=0))

    def thinned(self, mixed: Mixed, least: float) -> Mixed:
        """Without the probabilities below ``least``; each block keeps its heaviest pass."""
        weights = np.where(mixed.weights >= np.minimum(least, mixed.weights.max(axis=0)), mixed.weights, 0.0)
        return self.mixed(weights / weights.sum(axis=0))

    def _margins(self, prices: Floats) -> Floats:
        by_group = self.terms.group_prices(prices)
        paid = self._each(lambda found: found.shares @ by_group, self.passes)
        return np.asarray(self._own - np.array(paid))

    def _shares_of(self, weights: Floats) -> Floats:
        """(G,) the groups' shares in a mixture, the passes added in their order."""
        return np.asarray(sum(self._each(operator.matmul, self._by_group, weights)))

    def _each(self, work: Callable[..., Floats], *by_pass: Iterable[Any]) -> list[Floats]:
        """``work`` on what there is of every pass, side by side."""
        return list((map if self.small or self.threads == 1 else self._pool.map)(work, *by_pass))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, thread_name_prefix="excalibr")

    def _model(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """The smoothed model and its gradient."""
        return self._smoothed(prices, temperature)[:2]

    def _smoothed(self, prices: Floats, temperature: float) -> tuple[float, Floats, Floats]:
        """The model with soft maxima, its gradient, and the lotteries over the passes that it is made of."""
        margins = self._margins(prices) / self._scale
        top = margins.max(axis=0)
        heights = np.exp((margins - top) / temperature)
        total = heights.sum(axis=0)
        weights = heights / total
        value = float(self._scale @ (top + temperature * np.log(total))) + self.terms.edge_value(prices)
        return value, -self.terms.misses(self._shares_of(weights)), weights


_EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
