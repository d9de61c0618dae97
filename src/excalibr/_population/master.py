r"""The master program: of the passes so far, what each block of users should be shown with which probability.

.. math:: \max_{w} \; \sum_{b,t} w_{bt}\, f_{bt} - \text{cost}\Bigl(\sum_{b,t} w_{bt}\, S_{bt}\Bigr), \qquad
          w_{b\cdot} \text{ a lottery over the passes}

Its value can be had, and its dual is a model of the bound from below, exact at every pass. Small ones are solved as
linear programs. Large ones are smoothed: each block's best pass becomes a soft maximum with a temperature, whose
gradient is a lottery over the passes, and quasi-Newton steps go down to low temperatures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize as scipy_optimize
from scipy import sparse

from excalibr._population.columns import PassColumns
from excalibr._population.descent import descend
from excalibr._population.side_by_side import SideBySide, cut
from excalibr._population.sums import Pass
from excalibr._population.terms import Terms
from excalibr._types import Floats

optimize: Any = scipy_optimize

SMALL = 6_000
"""Blocks × passes up to which the linear program is solved as one."""

PART = 2_000
"""Blocks that are worked on together, whatever the threads: sums are those of the parts, in their order."""

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
    """The passes so far and the terms of the groups; ``threads`` share the blocks, part by part.

    Unless it is to be ``exact``, small ones are smoothed too: good prices are found sooner than the last mixture.
    """

    terms: Terms
    threads: int = 1
    exact: bool = True
    passes: list[Pass] = field(default_factory=list)
    _parts: list[PassColumns] = field(default_factory=list)

    def add(self, found: Pass) -> None:
        """One more pass."""
        self.passes.append(found)
        self._own = np.array([each.own for each in self.passes])
        if not self._parts:
            self._parts = [PassColumns(part, found.weights[part]) for part in cut(len(found.own), PART)]
            self._side_by_side = SideBySide(self.threads)
        for part in self._parts:
            part.add(found)

    @property
    def small(self) -> bool:
        """Whether the linear program is solved as one."""
        return self.exact and self._own.size <= SMALL

    def model(self, prices: Floats) -> float:
        """The bound that the passes so far know of: never above the bound itself."""
        by_group = self.terms.group_prices(prices)
        heights = self._side_by_side(lambda part: part.margins(by_group).max(axis=0).sum(), self._parts)
        return float(sum(heights)) + self.terms.edge_value(prices)

    def mixed(self, weights: Floats) -> Mixed:
        """What a mixture is worth at least; its own value can only be higher, for deviation is convex."""
        shares = self._shares_of(weights)
        return Mixed(weights, shares, float((weights * self._own).sum()) - self.terms.cost(shares))

    def descend(
        self, prices: Floats, lowest: Floats, highest: Floats, temperatures: tuple[float, ...], worth: float
    ) -> tuple[Floats, Mixed]:
        """The prices between bounds that make the smoothed model lowest, and the best mixture on the way.

        Steps that lower it by less than they are ``worth`` are not gone on with.
        """
        best: Mixed | None = None
        for steps, temperature in zip(STEPS[-len(temperatures) :], temperatures, strict=True):
            prices = descend(partial(self._model, temperature=temperature), prices, lowest, highest, steps, worth)
            mixed = self.mixed(self._lotteries(prices, temperature))
            best = mixed if best is None or mixed.value > best.value else best
        assert best is not None
        return prices, best

    def solve(self) -> tuple[Floats, Mixed]:
        """The linear program as one: prices that prove its value, and the mixture."""
        terms, (count, blocks) = self.terms, self._own.shape
        columns = count * blocks
        into_groups = sparse.hstack([each.shares.T for each in self.passes], format="csr")
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

    def _shares_of(self, weights: Floats) -> Floats:
        """(G,) the groups' shares in a mixture, the parts added in their order."""
        return np.asarray(sum(self._side_by_side(lambda part: part.shares(weights[:, part.blocks]), self._parts)))

    def _model(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """The smoothed model and its gradient."""
        by_group = self.terms.group_prices(prices)
        found = self._side_by_side(lambda part: part.smoothed(by_group, temperature), self._parts)
        value = sum(each.value for each in found) + self.terms.edge_value(prices)
        return value, -self.terms.misses(np.asarray(sum(each.shares for each in found)))

    def _lotteries(self, prices: Floats, temperature: float) -> Floats:
        """(passes, blocks) the lotteries over the passes that the smoothed model is made of."""
        by_group = self.terms.group_prices(prices)
        found = self._side_by_side(lambda part: part.lotteries(by_group, temperature)[0], self._parts)
        return np.concatenate(found, axis=1)


_EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
