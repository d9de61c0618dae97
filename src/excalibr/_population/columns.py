"""The columns of the restricted master for some blocks of users: one for every pass, appended as passes come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from excalibr._population.passes import Pass
from excalibr._types import Floats


class Smoothed(NamedTuple):
    """What some blocks add to the smoothed dual model, and the groups' shares at its softmax weights."""

    value: float
    shares: Floats


class BlockColumns:
    """The columns of a range of blocks, pass after pass: objectives, and shares of the groups."""

    def __init__(self, blocks: slice, weights: Floats) -> None:
        self.blocks = blocks
        self._weights = np.maximum(weights, np.finfo(float).tiny)
        self._objectives = np.empty((0, len(weights)))
        self._shares: Any = None

    def add(self, found: Pass) -> None:
        """One more pass."""
        self._objectives = np.vstack([self._objectives, found.objectives[self.blocks]])
        new = found.shares[self.blocks]
        self._shares = _compact(new if self._shares is None else sparse.vstack([self._shares, new], format="csr"))

    def priced_values(self, group_prices: Floats) -> Floats:
        """(passes, blocks) the value of each column at these prices of the groups."""
        return np.asarray(self._objectives - (self._shares @ group_prices).reshape(self._objectives.shape))

    def shares(self, weights: Floats) -> Floats:
        """(G,) the groups' shares where each block draws the passes by (passes, blocks) weights."""
        return np.asarray(self._shares.T @ weights.ravel())

    def softmax(self, group_prices: Floats, temperature: float) -> tuple[Floats, Floats]:
        """(passes, blocks) softmax weights of the passes, and (blocks,) the smoothed maxima that they belong to."""
        values = self.priced_values(group_prices)
        values /= self._weights
        largest = values.max(axis=0)
        values -= largest
        values /= temperature
        weights = np.exp(values, out=values)
        total = weights.sum(axis=0)
        weights /= total
        return weights, largest + temperature * np.log(total)

    def smoothed(self, group_prices: Floats, temperature: float) -> Smoothed:
        """The part of the smoothed dual model and of its gradient that comes from these blocks."""
        weights, maxima = self.softmax(group_prices, temperature)
        return Smoothed(float(self._weights @ maxima), self.shares(weights))


def _compact(rows: Any) -> Any:
    """The same with indices of half the size, where they fit: a product takes as long as reading its numbers does."""
    if max(*rows.shape, rows.nnz) > np.iinfo(np.int32).max:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False))
    return sparse.csr_array(parts, shape=rows.shape)
