"""A small RecTools dataset: sixty items of three genres, twelve users who like one genre more than others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from rectools.dataset import Dataset

GENRES = ("comedy", "drama", "horror")
ITEMS = np.arange(100, 160)


def dataset(past: pd.DataFrame | None = None, **more: Any) -> Dataset:
    features = [(item, "genre", genre) for item, own in zip(ITEMS, genres(), strict=True) for genre in own]
    eras = [(item, "era", "old" if item < 130 else "new") for item in ITEMS]
    lengths = [(item, "length", 90 + item % 5) for item in ITEMS]
    table = pd.DataFrame(features + eras + lengths, columns=["id", "feature", "value"])
    how: dict[str, Any] = {"item_features_df": table, "cat_item_features": ["genre", "era"]}
    return Dataset.construct(interactions() if past is None else past, **(how | more))


def genres() -> list[list[str]]:
    """The last item has none."""
    own = [[GENRES[item % 3]] if item % 7 else [GENRES[item % 3], GENRES[(item + 1) % 3]] for item in ITEMS]
    return [*own[:-1], []]


def items_table() -> pd.DataFrame:
    return pd.DataFrame(
        {"item_id": ITEMS, "genre": genres(), "era": ["old" if item < 130 else "new" for item in ITEMS]}
    )


def interactions() -> pd.DataFrame:
    """Every item is somebody's, so that the dataset has them all."""
    rng = np.random.default_rng(3)
    rows = [(0, int(item), 1.0, 0) for item in ITEMS]
    for user in range(1, 13):
        liked = rng.choice(ITEMS, 15, replace=False, p=_taste(user))
        rows += [(user, int(item), float(rng.integers(1, 6)), place) for place, item in enumerate(liked)]
    table = pd.DataFrame(rows, columns=["user_id", "item_id", "weight", "day"])
    return table.assign(datetime=pd.Timestamp("2030-01-01") + pd.to_timedelta(table["day"], unit="D")).drop(
        columns="day"
    )


def _taste(user: int) -> Any:
    weights = np.where(user % 3 == ITEMS % 3, 6.0, 1.0)
    return weights / weights.sum()
