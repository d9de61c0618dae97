"""Small tables from a seed: candidates, items with genres, a history; with ties, so that an order must be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from excalibr import calibrate, targets

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


def one_by_one(tables: Invented, k: int, trade_off: float, seed: int) -> dict[Any, list[int]]:
    """Each user's slate by ``calibrate`` and ``sample`` alone."""
    candidates, history = tables.candidates.to_pandas(), tables.history.to_pandas()
    shares = tables.items.to_pandas()["genres"].str.get_dummies("|").to_numpy(float)
    shares = shares / shares.sum(axis=1, keepdims=True)
    slates = {}
    for user, own in candidates.sort_values("item_id").groupby("user_id"):
        wanted = targets.history(shares, np.sort(history["item_id"][history["user_id"] == user]))
        policy = calibrate(own["score"].to_numpy(), shares[own["item_id"]], wanted, k=k, trade_off=trade_off)
        slates[user] = own["item_id"].to_numpy()[policy.sample(seed=seed, key=user)].tolist()
    return slates


GENRE_COLUMNS: dict[str, Any] = {"category": "genres", "separator": "|"}
