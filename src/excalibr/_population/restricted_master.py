r"""The restricted master program: of the passes so far, with which probability each block of users draws which.

.. math:: \max_{w} \; \sum_{b,t} w_{bt}\, f_{bt} - \text{penalty}\Bigl(\sum_{b,t} w_{bt}\, S_{bt}\Bigr), \qquad
          w_{b\cdot} \text{ a lottery over the passes}

Its value is reached by a mixture of passes, and its dual is a cutting-plane model of the bound from below, exact at
every pass. Small masters are solved as linear programs. Large ones are smoothed: each block's best pass becomes a soft
maximum with a temperature, whose gradient is a lottery over the passes, and quasi-Newton steps go down to low
temperatures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize as scipy_optimize
from scipy import sparse

from excalibr._population.columns import BlockColumns
from excalibr._population.coupling import CouplingTerms
from excalibr._population.passes import Pass
from excalibr._population.quasi_newton import minimise
from excalibr._population.thread_pool import ThreadPool, chunks_of
from excalibr._types import Floats

optimize: Any = scipy_optimize

SMALL = 6_000
"""Blocks × passes up to which the linear program is solved as one."""

CHUNK = 2_000
"""Blocks that are worked on together, whatever the threads: sums are those of the chunks, in their order."""

MAX_STEPS = (10, 20, 30)
"""Of quasi-Newton, at each of the temperatures, the last of which decides."""


@dataclass(frozen=True, eq=False)
class PrimalSolution:
    """A mixture of passes: (passes, blocks) probabilities, the groups' shares, and its objective, at least."""

    weights: Floats
    shares: Floats
    value: float


@dataclass(eq=False)
class RestrictedMaster:
    """The passes so far and the coupling terms of the groups; ``threads`` share the blocks, chunk by chunk.

    Unless it is to be ``exact``, small ones are smoothed too: good prices are found sooner than the last mixture.
    """

    terms: CouplingTerms
    threads: int = 1
    exact: bool = True
    passes: list[Pass] = field(default_factory=list)
    _chunks: list[BlockColumns] = field(default_factory=list)

    def add(self, found: Pass) -> None:
        """One more pass."""
        self.passes.append(found)
        self._objectives = np.array([each.objectives for each in self.passes])
        if not self._chunks:
            slices = chunks_of(len(found.objectives), CHUNK)
            self._chunks = [BlockColumns(blocks, found.weights[blocks]) for blocks in slices]
            self._pool = ThreadPool(self.threads)
        for chunk in self._chunks:
            chunk.add(found)

    @property
    def is_small(self) -> bool:
        """Whether the linear program is solved as one."""
        return self.exact and self._objectives.size <= SMALL

    def dual_model(self, prices: Floats) -> float:
        """The cutting-plane model of the bound: never above the bound itself."""
        group_prices = self.terms.group_prices(prices)
        maxima = self._pool.map(lambda chunk: chunk.priced_values(group_prices).max(axis=0).sum(), self._chunks)
        return float(sum(maxima)) + self.terms.threshold_value(prices)

    def primal(self, weights: Floats) -> PrimalSolution:
        """A mixture with the objective that it has at least: deviation is convex, so that its own may be higher."""
        shares = self._shares_of(weights)
        value = float((weights * self._objectives).sum()) - self.terms.penalty(shares)
        return PrimalSolution(weights, shares, value)

    def solve_smoothed(
        self, prices: Floats, lowest: Floats, highest: Floats, temperatures: tuple[float, ...], min_decrease: float
    ) -> tuple[Floats, PrimalSolution]:
        """The prices between bounds that minimise the smoothed dual model, and the best mixture on the way.

        Steps that decrease it by less than ``min_decrease`` end the descent at a temperature.
        """
        best: PrimalSolution | None = None
        for max_steps, temperature in zip(MAX_STEPS[-len(temperatures) :], temperatures, strict=True):
            model = partial(self._smoothed_model, temperature=temperature)
            prices = minimise(model, prices, lowest, highest, max_steps, min_decrease)
            primal = self.primal(self._softmax(prices, temperature))
            best = primal if best is None or primal.value > best.value else best
        assert best is not None
        return prices, best

    def solve_exactly(self) -> tuple[Floats, PrimalSolution]:
        """The linear program as one: optimal prices, and the mixture."""
        terms, (count, blocks) = self.terms, self._objectives.shape
        columns = count * blocks
        into_groups = sparse.hstack([each.shares.T for each in self.passes], format="csr")
        signed = sparse.diags_array(terms.signs) @ into_groups[terms.groups]
        eye = sparse.eye_array(len(terms))
        chosen = sparse.csr_array(
            (np.ones(columns), (np.tile(np.arange(blocks), count), np.arange(columns))), shape=(blocks, columns)
        )
        rows = sparse.block_array([[signed, -eye, eye], [chosen, None, None]], format="csr")
        wanted = np.concatenate([terms.signs * terms.thresholds, np.ones(blocks)])
        costs = np.concatenate([-self._objectives.ravel(), terms.highest, -terms.lowest])
        found = optimize.linprog(costs, A_eq=rows, b_eq=wanted, bounds=(0, None), method="highs", options=_TOLERANCES)
        if found.x is None:
            middle = 0.5 * (terms.lowest + terms.highest)
            return middle, self.primal(np.full(self._objectives.shape, 1.0 / count))
        weights = np.maximum(found.x[:columns], 0.0).reshape(count, blocks)
        prices = np.clip(-found.eqlin.marginals[: len(terms)], terms.lowest, terms.highest)
        return prices, self.primal(weights / weights.sum(axis=0))

    def pruned(self, primal: PrimalSolution, least: float) -> PrimalSolution:
        """Without the probabilities below ``least``; each block keeps its most probable pass."""
        weights = np.where(primal.weights >= np.minimum(least, primal.weights.max(axis=0)), primal.weights, 0.0)
        return self.primal(weights / weights.sum(axis=0))

    def _shares_of(self, weights: Floats) -> Floats:
        """(G,) the groups' shares in a mixture, the chunks added in their order."""
        return np.asarray(sum(self._pool.map(lambda chunk: chunk.shares(weights[:, chunk.blocks]), self._chunks)))

    def _smoothed_model(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """The smoothed dual model and its gradient."""
        group_prices = self.terms.group_prices(prices)
        found = self._pool.map(lambda chunk: chunk.smoothed(group_prices, temperature), self._chunks)
        value = sum(each.value for each in found) + self.terms.threshold_value(prices)
        return value, -self.terms.residuals(np.asarray(sum(each.shares for each in found)))

    def _softmax(self, prices: Floats, temperature: float) -> Floats:
        """(passes, blocks) the lotteries over the passes that are the gradient of the smoothed model."""
        group_prices = self.terms.group_prices(prices)
        found = self._pool.map(lambda chunk: chunk.softmax(group_prices, temperature)[0], self._chunks)
        return np.concatenate(found, axis=1)


_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
