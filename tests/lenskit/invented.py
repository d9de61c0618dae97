"""A small LensKit dataset: sixty items of three genres in two eras, twelve users who each like one genre most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from lenskit.data import Dataset, DatasetBuilder, ItemList
from scipy.sparse import csr_array

GENRES = ("comedy", "drama", "horror")
ITEMS = np.arange(100, 160)


def dataset() -> Dataset:
    builder = DatasetBuilder("invented")
    builder.add_entities("item", ITEMS)
    builder.add_interactions(
        "rating", interactions(), entities=["user", "item"], missing="insert", default=True, allow_repeats=False
    )
    builder.add_list_attribute("item", "genres", ITEMS[:-1], genres()[:-1])
    builder.add_scalar_attribute("item", "era", ITEMS, ["old" if item < 130 else "new" for item in ITEMS])
    builder.add_vector_attribute("item", "dense", ITEMS[:-1], shares()[:-1], dim_names=list(GENRES))
    builder.add_vector_attribute("item", "sparse", ITEMS[:-1], csr_array(shares()[:-1]), dim_names=list(GENRES))
    return builder.build()


def genres() -> list[list[str]]:
    return [[GENRES[item % 3]] if item % 7 else [GENRES[item % 3], GENRES[(item + 1) % 3]] for item in ITEMS]


def shares() -> Any:
    return np.array([[1.0 / len(own) if genre in own else 0.0 for genre in GENRES] for own in genres()])


def interactions() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for user in range(1, 13):
        liked = rng.choice(ITEMS, 15, replace=False, p=_taste(user))
        rows += [(user, int(item), float(rng.integers(1, 6)), 1000 + 50 * place) for place, item in enumerate(liked)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rating", "timestamp"])


def _taste(user: int) -> Any:
    weights = np.where(user % 3 == ITEMS % 3, 6.0, 1.0)
    return weights / weights.sum()


def items_table(column: str = "genres") -> pd.DataFrame:
    own = [*genres()[:-1], None]
    return pd.DataFrame({"item_id": ITEMS, "genres": own, "era": ["old" if each < 130 else "new" for each in ITEMS]})[
        ["item_id", column]
    ]


def scored(data: Dataset, user: int, n: int = 30, **fields: Any) -> ItemList:
    """Candidates of a user, in no order."""
    rng = np.random.default_rng(user)
    ids = rng.choice(ITEMS, n, replace=False)
    given = {name: rng.random(n) for name in fields}
    return ItemList(ids, vocabulary=data.items, scores=rng.random(n).astype(np.float32), **given)
