"""What a pass adds up to: sums over the users of each block, of parts of a crowd or of all of it.

Numbers of users who share a block are rounded to a step that makes sums exact, so that neither the parts nor their
order show. Parts are added up as they come: memory grows with blocks and groups, and not with users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._population.scale import Step
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Floats, Integers

WAITING = 1_000_000
"""Shares of parts that wait before they are added to the rest, where the rest has no more."""


@dataclass(frozen=True, eq=False)
class Pass:
    """What a crowd shows at some prices; users' weights sum to 1 over the crowd.

    Attributes
    ----------
    prices
        (G,) of the groups.
    value
        Σ ω·(proven bound of the user's own program at the prices).
    own
        (blocks,) Σ ω·(objective without the prices).
    shares
        (blocks, G) sparse, Σ ω·(exposure of the groups).
    weights
        (blocks,) Σ ω.
    blocks
        (blocks,) their numbers, rising.
    responses
        What a start needs to foresee other prices, see :class:`excalibr._population.start.Responses`, if asked.
    """

    prices: Floats
    value: float
    own: Floats
    shares: SparseRows
    weights: Floats
    blocks: Integers
    responses: Sequence[Any] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nobody who counts was shown anything."""
        return float(self.weights.sum()) < 0.5

    @property
    def group_shares(self) -> Floats:
        """(G,) of everybody's exposure."""
        return np.asarray(self.shares.sum(axis=0), dtype=np.float64).ravel()


@dataclass(frozen=True, eq=False)
class Sums:
    """As :class:`Pass`, with users' weights of any sum and values by block: passes over parts of a crowd can be added.

    Where every user is a block, nothing depends on how a crowd is cut into parts: totals are sums without rounding.
    """

    values: Floats
    own: Floats
    shares: SparseRows
    weights: Floats
    blocks: Integers
    responses: list[Any] = field(default_factory=list)

    def as_pass(self, prices: Floats) -> Pass:
        """The averages over the users."""
        scale = 1.0 / max(fsum(self.weights), np.finfo(float).tiny)
        parts = (scale * fsum(self.values), scale * self.own, scale * self.shares, scale * self.weights, self.blocks)
        return Pass(prices, *parts, self.responses)


def sum_by_block(
    blocks: Integers,
    weights: Floats,
    bounds: Floats,
    own: Floats,
    shares: SparseRows,
    step: Step,
    responses: Sequence[Any] = (),
) -> Sums:
    """Users' numbers, rounded to the step, summed by block."""
    numbers, place = np.unique(blocks, return_inverse=True)
    into = build_rows(np.ones(len(blocks)), place, np.arange(len(blocks) + 1), len(numbers))
    data = _rounded(shares.data * np.repeat(weights, np.diff(shares.indptr)), step.shares)
    weighted = build_rows(data, shares.indices, shares.indptr, shares.shape[1])
    by_block = (into.T @ weighted).tocsr()
    by_block.eliminate_zeros()
    return Sums(
        sums_by(place, _rounded(weights * bounds, step.values, up=True), len(numbers)),
        sums_by(place, _rounded(weights * own, step.values), len(numbers)),
        by_block,
        sums_by(place, _rounded(weights, step.shares), len(numbers)),
        numbers,
        list(responses),
    )


def _rounded(values: Floats, step: float, *, up: bool = False) -> Floats:
    """To the nearest step, or the next above: a bound may only grow."""
    if not step:
        return values
    return np.asarray((np.ceil if up else np.rint)(values / step) * step)


def add_up(parts: Iterable[Sums]) -> Sums | None:
    """The sums over all parts; None where there is none."""
    held: list[Sums] = []
    waiting = 0
    for part in parts:
        held.append(part)
        waiting += part.shares.nnz
        if waiting > max(WAITING, held[0].shares.nnz):
            held, waiting = [_joined(held)], 0
    return _joined(held) if held else None


def no_sums(n_groups: int) -> Sums:
    """Of nobody."""
    nothing = np.empty(0)
    return Sums(
        nothing, nothing, build_rows(nothing, [], np.zeros(1, np.int64), n_groups), nothing, np.empty(0, np.int64)
    )


def _joined(parts: Sequence[Sums]) -> Sums:
    """The sums over all parts, added block by block in the order of the parts."""
    from scipy.sparse import vstack

    numbers, place = np.unique(np.concatenate([part.blocks for part in parts]), return_inverse=True)
    into = build_rows(np.ones(len(place)), place, np.arange(len(place) + 1), len(numbers))
    shares = (into.T @ vstack([part.shares for part in parts], format="csr")).tocsr()
    own = sums_by(place, np.concatenate([part.own for part in parts]), len(numbers))
    total = sums_by(place, np.concatenate([part.weights for part in parts]), len(numbers))
    responses = [each for part in parts for each in part.responses]
    values = sums_by(place, np.concatenate([part.values for part in parts]), len(numbers))
    return Sums(values, own, shares, total, numbers, responses)
