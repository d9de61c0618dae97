"""An invented catalogue with sellers, and candidates of many users, as Arrow tables."""

from typing import Any

import numpy as np
import pyarrow as pa

GENRES = ("comedy", "drama", "horror")
SELLERS = ("big", "middle", "new", "small")


def shop(users: int = 60, n: int = 20, seed: int = 0, items: int = 80) -> Any:
    """Candidates, items with genres and sellers of very different sizes, and histories."""
    random = np.random.default_rng(seed)
    sellers = random.choice(SELLERS, items, p=[0.6, 0.25, 0.05, 0.1])
    sellers[: len(SELLERS)] = SELLERS
    catalogue = pa.table({"item_id": np.arange(items), "category": random.choice(GENRES, items), "seller": sellers})
    worth = random.random(items) + np.where(sellers == "big", 0.3, 0.0)
    chosen = np.array([random.choice(items, n, replace=False) for _ in range(users)])
    candidates = pa.table(
        {
            "user_id": [f"u{number:04d}" for number in np.repeat(np.arange(users), n)],
            "item_id": chosen.ravel(),
            "score": (worth[chosen] + 0.3 * random.random((users, n))).ravel(),
        }
    )
    history = pa.table(
        {
            "user_id": [f"u{number:04d}" for number in np.repeat(np.arange(users), 5)],
            "item_id": random.integers(0, items, 5 * users),
        }
    )
    return candidates, catalogue, history


def seller_shares(lotteries: Any, items: Any, k: Any, weights: Any) -> Any:
    """Each seller's share of everybody's exposure, from a table of lotteries, the long way round."""
    seller_of = dict(zip(items["item_id"].to_pylist(), items["seller"].to_pylist(), strict=True))
    shares = dict.fromkeys(SELLERS, 0.0)
    users = len(set(lotteries["user_id"].to_pylist()))
    for row in lotteries.to_pylist():
        shares[seller_of[row["item_id"]]] += row["probability"] * weights[row["rank"] - 1] / users
    return np.array([shares[seller] for seller in SELLERS])
