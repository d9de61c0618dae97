"""What the master program knows of some blocks of users: a column for every pass, appended as passes come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from excalibr._population.sums import Pass
from excalibr._types import Floats


class Smoothed(NamedTuple):
    """What some blocks add to the smoothed model, and the groups' shares in its lotteries."""

    value: float
    shares: Floats


class PassColumns:
    """The columns of a range of blocks, pass after pass."""

    def __init__(self, blocks: slice, weights: Floats) -> None:
        self.blocks = blocks
        self._weights = np.maximum(weights, np.finfo(float).tiny)
        self._own = np.empty((0, len(weights)))
        self._rows: Any = None

    def add(self, found: Pass) -> None:
        """One more pass."""
        self._own = np.vstack([self._own, found.own[self.blocks]])
        new = found.shares[self.blocks]
        self._rows = _compact(new if self._rows is None else sparse.vstack([self._rows, new], format="csr"))

    def margins(self, by_group: Floats) -> Floats:
        """(passes, blocks) what each pass is worth to a block at these prices of the groups."""
        return np.asarray(self._own - (self._rows @ by_group).reshape(self._own.shape))

    def shares(self, weights: Floats) -> Floats:
        """(G,) the groups' shares where each block draws the passes by (passes, blocks) weights."""
        return np.asarray(self._rows.T @ weights.ravel())

    def lotteries(self, by_group: Floats, temperature: float) -> tuple[Floats, Floats]:
        """(passes, blocks) lotteries over the passes, and (blocks,) the soft maxima that they belong to."""
        margins = self.margins(by_group)
        margins /= self._weights
        top = margins.max(axis=0)
        margins -= top
        margins /= temperature
        heights = np.exp(margins, out=margins)
        total = heights.sum(axis=0)
        heights /= total
        return heights, top + temperature * np.log(total)

    def smoothed(self, by_group: Floats, temperature: float) -> Smoothed:
        """The part of the smoothed model and of its gradient that comes from these blocks."""
        weights, heights = self.lotteries(by_group, temperature)
        return Smoothed(float(self._weights @ heights), self.shares(weights))


def _compact(rows: Any) -> Any:
    """The same with indices of half the size, where they fit: a product takes as long as reading its numbers does."""
    if max(*rows.shape, rows.nnz) > np.iinfo(np.int32).max:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False))
    return sparse.csr_array(parts, shape=rows.shape)
