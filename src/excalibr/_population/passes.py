"""What a pass over the users gives: sums over the users of each block, of partitions of a population or of all of it.

Numbers of users who share a block are rounded so that sums are exact, and neither the partitions nor their order show.
Partitions are added as they come: memory grows with blocks and groups, and not with users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._population.score_scale import RoundingStep
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Floats, Integers

PENDING = 1_000_000
"""Shares of partitions that may wait before they are added to the sums so far, where these have no more."""


@dataclass(frozen=True, eq=False)
class Pass:
    """The solutions of all users' subproblems at some prices; users' weights sum to 1 over the population.

    Attributes
    ----------
    prices
        (G,) of the groups.
    bound
        Σ ω·(proven bound of the user's own program at the prices).
    objectives
        (blocks,) Σ ω·(objective without the prices).
    shares
        (blocks, G) sparse, Σ ω·(exposure of the groups).
    weights
        (blocks,) Σ ω.
    blocks
        (blocks,) their numbers, rising.
    surrogates
        Models of the users' values at other prices, see :mod:`excalibr._population.warm_start`, if asked.
    """

    prices: Floats
    bound: float
    objectives: Floats
    shares: SparseRows
    weights: Floats
    blocks: Integers
    surrogates: Sequence[Any] = ()

    def scaled(self, factor: float) -> Pass:
        """The same with scores and prices in another unit."""
        return replace(
            self,
            prices=factor * self.prices,
            bound=factor * self.bound,
            objectives=factor * self.objectives,
            surrogates=[each.scaled(factor) for each in self.surrogates],
        )

    @property
    def is_empty(self) -> bool:
        """Whether nobody who counts was shown anything."""
        return float(self.weights.sum()) < 0.5

    @property
    def group_shares(self) -> Floats:
        """(G,) of everybody's exposure."""
        return np.asarray(self.shares.sum(axis=0), dtype=np.float64).ravel()


@dataclass(frozen=True, eq=False)
class PassSums:
    """As :class:`Pass`, with users' weights of any sum and bounds by block: those of partitions can be added.

    Where every user is a block, nothing depends on the partitions: totals are sums without rounding.
    """

    bounds: Floats
    objectives: Floats
    shares: SparseRows
    weights: Floats
    blocks: Integers
    surrogates: list[Any] = field(default_factory=list)

    def as_pass(self, prices: Floats) -> Pass:
        """The averages over the users."""
        scale = 1.0 / max(fsum(self.weights), np.finfo(float).tiny)
        return Pass(
            prices,
            bound=scale * fsum(self.bounds),
            objectives=scale * self.objectives,
            shares=scale * self.shares,
            weights=scale * self.weights,
            blocks=self.blocks,
            surrogates=self.surrogates,
        )


def sum_by_block(
    blocks: Integers,
    weights: Floats,
    bounds: Floats,
    objectives: Floats,
    shares: SparseRows,
    rounding: RoundingStep,
    surrogates: Sequence[Any] = (),
) -> PassSums:
    """Users' numbers, rounded, summed by block."""
    numbers, place = np.unique(blocks, return_inverse=True)
    into = build_rows(np.ones(len(blocks)), place, np.arange(len(blocks) + 1), len(numbers))
    data = _rounded(shares.data * np.repeat(weights, np.diff(shares.indptr)), rounding.shares)
    weighted = build_rows(data, shares.indices, shares.indptr, shares.shape[1])
    by_block = (into.T @ weighted).tocsr()
    by_block.eliminate_zeros()
    return PassSums(
        sums_by(place, _rounded(weights * bounds, rounding.values, up=True), len(numbers)),
        sums_by(place, _rounded(weights * objectives, rounding.values), len(numbers)),
        by_block,
        sums_by(place, _rounded(weights, rounding.shares), len(numbers)),
        numbers,
        list(surrogates),
    )


def _rounded(values: Floats, step: float, *, up: bool = False) -> Floats:
    """To the nearest step, or the next above: a bound may only grow."""
    if not step:
        return values
    return np.asarray((np.ceil if up else np.rint)(values / step) * step)


def merge_sums(partitions: Iterable[PassSums]) -> PassSums | None:
    """The sums over all partitions; None where there is none."""
    unmerged: list[PassSums] = []
    pending = 0
    for partition in partitions:
        unmerged.append(partition)
        pending += partition.shares.nnz
        if pending > max(PENDING, unmerged[0].shares.nnz):
            unmerged, pending = [_merged(unmerged)], 0
    return _merged(unmerged) if unmerged else None


def empty_sums(n_groups: int) -> PassSums:
    """Of nobody."""
    nothing = np.empty(0)
    shares = build_rows(nothing, [], np.zeros(1, np.int64), n_groups)
    return PassSums(nothing, nothing, shares, nothing, np.empty(0, np.int64))


def _merged(partitions: Sequence[PassSums]) -> PassSums:
    """The sums over all partitions, added block by block in the order of the partitions."""
    from scipy.sparse import vstack

    numbers, place = np.unique(np.concatenate([each.blocks for each in partitions]), return_inverse=True)
    into = build_rows(np.ones(len(place)), place, np.arange(len(place) + 1), len(numbers))
    shares = (into.T @ vstack([each.shares for each in partitions], format="csr")).tocsr()
    bounds, objectives, weights = (
        sums_by(place, np.concatenate([getattr(each, name) for each in partitions]), len(numbers))
        for name in ("bounds", "objectives", "weights")
    )
    surrogates = [model for each in partitions for model in each.surrogates]
    return PassSums(bounds, objectives, shares, weights, numbers, surrogates)
