"""Small tables from a seed: candidates, items with genres, a history; with ties, so that an order must be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

GENRES = ("art", "buddy", "crime", "drama", "epic")


@dataclass(frozen=True)
class Invented:
    candidates: Any
    items: Any
    history: Any

    def shuffled(self, seed: int) -> Invented:
        random = np.random.default_rng(seed)
        tables = (self.candidates, self.items, self.history)
        return Invented(*(table.take(random.permutation(len(table))) for table in tables))


def invented_tables(
    users: int = 30, n: int = 25, items: int = 80, seed: int = 1, *, text_ids: bool = False
) -> Invented:
    random = np.random.default_rng(seed)
    names = [f"user {user:03d}" for user in range(users)] if text_ids else list(range(100, 100 + users))
    scores = random.random(users * n).round(1)
    candidates = {
        "user_id": np.repeat(names, n),
        "item_id": np.concatenate([random.choice(items, n, replace=False) for _ in range(users)]),
        "score": scores,
        "source": np.arange(users * n) % 3,
    }
    genres = ["|".join(random.choice(GENRES, random.integers(1, 4), replace=False)) for _ in range(items)]
    history = {"user_id": np.repeat(names, 6), "item_id": random.integers(0, items, 6 * users)}
    return Invented(pa.table(candidates), pa.table({"item_id": np.arange(items), "genres": genres}), pa.table(history))


GENRE_COLUMNS: dict[str, Any] = {"category": "genres", "separator": "|"}
