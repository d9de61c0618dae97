"""Small tables from a seed: candidates, items with genres, a history; with ties, so that an order must be chosen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from excalibr import Reranker, calibrate, targets
from excalibr.errors import BatchWarning

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


RERANKER = Reranker(k=5, trade_off=0.4, seed=3)


class Streamed:
    """A table that offers an Arrow stream and nothing else."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


KINDS: dict[str, Any] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas with Arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "stream": Streamed,
}


def as_arrow(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    return table.to_arrow() if isinstance(table, pl.DataFrame) else table.replace_schema_metadata(None)


def rerank(tables: Invented, reranker: Reranker = RERANKER, **options: Any) -> Any:
    return reranker.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS, **options)


def quietly(reranker: Reranker, *tables: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        return reranker.rerank(*tables, **options)


ITEMS = pa.table({"item_id": [1, 2, 3, 4], "category": ["a", "a", "b", "b"]})


CANDIDATES = pa.table({"user_id": ["u"] * 4, "item_id": [1, 2, 3, 4], "score": [0.9, 0.8, 0.5, 0.4]})


FOUR: dict[str, Any] = {"user_id": ["u"] * 4, "item_id": [1, 2, 3, 4], "score": [0.9, 0.8, 0.5, 0.4]}

EQUAL = {"a": 1, "b": 1}
KINDS_OF_FRAMES = ["pandas", "polars", "pyarrow"]
