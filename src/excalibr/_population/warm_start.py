r"""A warm start: first prices, from a surrogate in which each user's category prices y stay as they are.

With y fixed a user's program is one sort, and its value bounds the true one from above:

.. math:: V_u(\mu) \le \text{constant} + \sigma\bigl((1-\lambda) s - A y_u - B \mu\bigr)

So the prices that minimise the sum of these bounds lower the true bound too, a long way for the cost of a pass or two.
Near the optimum, where users' candidates are tied, they no longer do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from excalibr._arrays import spans, sums_by
from excalibr._population.coupling import CouplingTerms
from excalibr._population.quasi_newton import minimise
from excalibr._population.thread_pool import ThreadPool, chunks_of
from excalibr._problem import Batch
from excalibr._sparse import SparseRows
from excalibr._types import Floats, Integers

MAX_STEPS = 60
CHUNK = 1_000
"""Users that are worked on together, whatever the threads."""


@dataclass(frozen=True, eq=False)
class SurrogateModel:
    """Upper bounds of users' values as functions of the group prices alone: adjusted scores, padded to a table.

    Attributes
    ----------
    adjusted
        (users, n) (1 − λ)·s − A·y, −inf where a user has no candidate.
    items
        (users, n) rows of ``groups``.
    slots
        (users, k) position weights, heaviest first, times the user's weight.
    groups
        (rows, G) sparse.
    """

    adjusted: Floats
    items: Integers
    slots: Floats
    groups: SparseRows

    @classmethod
    def of(
        cls, batch: Batch, groups: SparseRows, prices: tuple[Integers, Integers, Floats], weights: Floats
    ) -> SurrogateModel:
        """For the users of a batch, at the category prices that a pass found: counts by user, categories and values."""
        users = np.flatnonzero(batch.good & (weights > 0))
        sizes = np.diff(batch.starts)[users]
        width, most = int(sizes.max(initial=1)), int(batch.slots[users].max(initial=1))
        adjusted, items = np.full((len(users), width), -np.inf), np.zeros((len(users), width), dtype=np.int64)
        slots = np.zeros((len(users), most))
        there = np.arange(width) < sizes[:, None]
        places = (batch.starts[users][:, None] + np.arange(width))[there]
        owners = np.repeat(np.arange(len(users)), sizes)
        rows, chosen = batch.memberships, places if batch.items is None else batch.items[places]
        starts, counts = rows.indptr[chosen], np.diff(rows.indptr)[chosen]
        entries = spans(starts, counts)
        paid = rows.values[entries] * _found(prices, users[np.repeat(owners, counts)], rows.indices[entries], batch.r)
        costs = np.bincount(np.repeat(np.arange(len(places)), counts), paid, minlength=len(places))
        adjusted[there] = (1.0 - batch.trade_offs[users][owners]) * batch.scores[places] - costs
        items[there] = chosen
        for k in np.unique(batch.slots[users]).tolist():
            own = batch.slots[users] == k
            slots[own, :k] = np.sort(batch.options.weights_of(k))[::-1] * weights[users][own][:, None]
        return cls(adjusted, items, slots, groups)

    def value(self, item_prices: Floats) -> tuple[float, Floats]:
        """The bound of all users at these prices of the rows, up to a constant, and (rows,) the exposure in it."""
        costs = item_prices[self.items]
        costs -= self.adjusted
        most, each = self.slots.shape[1], np.arange(len(costs))[:, None]
        top = np.argpartition(costs, most - 1, axis=1)[:, :most] if most < costs.shape[1] else None
        top = np.broadcast_to(np.arange(most), (len(costs), most)) if top is None else top
        best = np.take_along_axis(top, np.argsort(costs[each, top], axis=1, kind="stable"), axis=1)
        values = np.where(self.slots > 0, -costs[each, best], 0.0)
        exposure = sums_by(self.items[each, best].ravel(), self.slots.ravel(), self.groups.shape[0])
        return float((values * self.slots).sum()), exposure

    def scaled(self, factor: float) -> SurrogateModel:
        """The same with scores and prices in another unit."""
        return replace(self, adjusted=factor * self.adjusted)

    def chunks(self) -> list[SurrogateModel]:
        """The same users in chunks that do not depend on the number of threads."""
        return [
            SurrogateModel(self.adjusted[own], self.items[own], self.slots[own], self.groups)
            for own in chunks_of(len(self.adjusted), CHUNK)
        ]


def warm_start_prices(
    surrogates: Sequence[SurrogateModel], terms: CouplingTerms, prices: Floats, threads: int = 1
) -> Floats:
    """The prices of the terms that minimise the users' surrogate bounds, as far as a few quasi-Newton steps go."""

    def bound(at: Floats) -> tuple[float, Floats]:
        item_prices = groups @ terms.group_prices(at)
        values, exposures = zip(*pool.map(lambda chunk: chunk.value(item_prices), chunks), strict=True)
        shares = np.asarray(groups.T @ sum(exposures))
        return sum(values) / total + terms.threshold_value(at), -terms.residuals(shares / total)

    joined = _joined(surrogates)
    groups, chunks, pool = joined.groups, joined.chunks(), ThreadPool(threads)
    total = max(float(joined.slots.sum()), np.finfo(float).tiny)

    return minimise(bound, prices, terms.lowest, terms.highest, MAX_STEPS)


def _found(prices: tuple[Integers, Integers, Floats], users: Integers, categories: Integers, r: int) -> Floats:
    """The price that each user has of a category, 0 where there is none."""
    counts, priced, values = prices
    known = np.append(np.repeat(np.arange(len(counts)), counts) * r + priced, len(counts) * r)  # rising
    wanted = users * r + categories
    at = np.searchsorted(known, wanted)
    return np.where(known[at] == wanted, np.append(values, 0.0)[at], 0.0)


def _joined(surrogates: Sequence[SurrogateModel]) -> SurrogateModel:
    """The users of all in one table, so that sums do not depend on how they were partitioned."""
    if len(surrogates) == 1:
        return surrogates[0]
    width, most = (max(getattr(each, name).shape[1] for each in surrogates) for name in ("adjusted", "slots"))
    return SurrogateModel(
        np.concatenate([_padded(each.adjusted, width, -np.inf) for each in surrogates]),
        np.concatenate([_padded(each.items, width, 0) for each in surrogates]),
        np.concatenate([_padded(each.slots, most, 0.0) for each in surrogates]),
        surrogates[0].groups,
    )


def _padded(table: Any, width: int, value: float) -> Any:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=value)
