"""Invented tables with two attributes, and the same as arrays, read without the code under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from excalibr import Policy
from tests.tables.invented import RERANKER, Invented

ATTRIBUTES: dict[str, Any] = {"category": ["genres", "decade"], "separator": "|"}
GENRES: dict[str, Any] = {"category": "genres", "separator": "|"}
DECADES = ("1980s", "1990s", "2000s")


class Rows:
    """The tables as arrays, read without the code under test."""

    def __init__(self, tables: Invented) -> None:
        items = tables.items.to_pandas()
        dummies = items["genres"].str.get_dummies("|")
        self.genre_names = list(dummies.columns)
        self.genres = dummies.to_numpy(float) / dummies.to_numpy(float).sum(axis=1, keepdims=True)
        self.decades = items["decade"].str.get_dummies().to_numpy(float)
        self.candidates = tables.candidates.to_pandas().sort_values(["user_id", "item_id"])
        self.history = tables.history.to_pandas()

    def each(self, solve: Callable[[int, Any, Any], Policy]) -> list[int]:
        """The items of all users' slates, by user and rank; ``solve`` gets the user, the candidates, the history."""
        slates: list[int] = []
        for user, own in self.candidates.groupby("user_id"):
            seen = self.history.loc[self.history["user_id"] == user, "item_id"].sort_values()
            policy = solve(user, own, seen.to_numpy())
            slates += own["item_id"].to_numpy()[policy.sample(seed=3, key=user)].tolist()
        return slates


def items_of(slates: Any) -> list[int]:
    found: list[int] = slates["item_id"].to_pylist()
    return found


def seen_before(tables: Invented) -> Any:
    """The first page that everyone got, and for each an item that is not among the candidates."""
    page = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, **GENRES).to_pandas()
    own = tables.candidates.to_pandas().groupby("user_id")["item_id"]
    others = own.agg(lambda items: int(np.setdiff1d(np.arange(80), items)[0])).reset_index().assign(rank=1)
    columns = ["user_id", "item_id", "rank"]
    return pd.concat([page[columns], others[columns]]).sort_values(["user_id", "item_id"])


def pages(tables: Invented) -> tuple[Any, Any]:
    """What was shown to everyone, and an item for each that is pinned to the first rank."""
    first = tables.candidates.take(np.arange(0, 300, 25)).select(["user_id", "item_id"])
    second = tables.candidates.take(np.arange(1, 300, 25)).select(["user_id", "item_id"])
    return first, second.append_column("rank", pa.array([1] * 12))
