"""An invented shop of any size: items of large and small sellers, and users' candidates, some users at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from excalibr._types import Floats, Integers

__all__ = ["Shop"]

HISTORY = 5
"""Items of a user's history."""


@dataclass(frozen=True)
class Shop:
    """So many items, categories and sellers, and candidates of each user; a prime number of items, see ``users``."""

    n_items: int
    categories: int
    sellers: int
    n: int
    seed: int = 0

    @property
    def items(self) -> Any:
        """A row an item: its category and its seller."""
        categories = np.random.default_rng((self.seed, 1)).integers(0, self.categories, self.n_items)
        columns = {"category": [f"c{number:02d}" for number in categories.tolist()]}
        columns["seller"] = self._labels[self._seller].tolist()
        return pa.table({"item_id": np.arange(self.n_items), **columns})

    @property
    def wanted(self) -> dict[str, float]:
        """The sellers' shares of the catalogue."""
        shares = np.bincount(self._seller, minlength=self.sellers) / self.n_items
        return dict(zip(self._labels.tolist(), shares.tolist(), strict=True))

    def users(self, first: int, last: int) -> tuple[Any, Any]:
        """Candidates and histories of some users."""
        random = np.random.default_rng((self.seed, 3, first))
        count, ids = last - first, np.arange(first, last)
        begins = random.integers(0, self.n_items, (count, 1))
        strides = random.integers(1, self.n_items, (count, 1))
        chosen = (
            begins + strides * np.arange(self.n)
        ) % self.n_items  # all different, for the number of items is prime
        scores = self._worth[chosen] + 0.1 * random.random((count, self.n))
        candidates = {"user_id": np.repeat(ids, self.n), "item_id": chosen.ravel(), "score": scores.ravel()}
        seen = random.integers(0, self.n_items, count * HISTORY)
        return pa.table(candidates), pa.table({"user_id": np.repeat(ids, HISTORY), "item_id": seen})

    @cached_property
    def _labels(self) -> Any:
        return np.array([f"s{number:03d}" for number in range(self.sellers)])

    @cached_property
    def _seller(self) -> Integers:
        random = np.random.default_rng((self.seed, 0))
        sizes = random.lognormal(0.0, 1.0, self.sellers)
        return random.choice(self.sellers, self.n_items, p=sizes / sizes.sum())

    @cached_property
    def _worth(self) -> Floats:
        return np.random.default_rng((self.seed, 2)).normal(0.5, 0.15, self.n_items)
