"""Data sets that an experiment was not made with, invented: play counts, many categories, scores that hardly differ.

``python -m benchmarks.strange_sets FOLDER`` writes them and prints the commands that run an experiment on each; with
``--large`` also one of MovieLens 20M's size, as a MovieLens folder of Parquet files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr._types import Floats, Integers

LARGE_USERS, LARGE_ITEMS, LARGE_RATINGS = 138_493, 26_744, 20_000_263
"""MovieLens 20M's."""


def likes(seed: int, users: int, items: int, mean: int) -> tuple[Integers, Integers]:
    """(user, item) of every like: items have a taste each, users one or two, and popular items are liked more."""
    rng = np.random.default_rng(seed)
    tastes = 40
    taste_of = rng.integers(tastes, size=items)
    drawn = rng.permutation(items)
    weight = 1.0 / (10.0 + np.argsort(drawn)) ** 0.8
    within = [np.flatnonzero(taste_of == taste) for taste in range(tastes)]
    edges = [np.cumsum(weight[own]) / weight[own].sum() for own in within]
    every = np.cumsum(weight) / weight.sum()
    found = []
    for user in range(users):
        size = 1 + int(rng.gamma(1.5, mean / 1.5)) + 10
        own = rng.integers(tastes, size=2)
        parts = [within[taste][_drawn(rng, edges[taste], size // 3)] for taste in own]
        chosen = np.unique(np.concatenate([*parts, _drawn(rng, every, size - 2 * (size // 3))]))
        found.append(np.stack([np.full(len(chosen), user), chosen]))
    owner, item = np.concatenate(found, axis=1)
    return owner, item


def write_sets(folder: Path) -> Iterator[str]:
    """Write the small ones; yields a command for each."""
    folder.mkdir(parents=True, exist_ok=True)
    yield _plays(folder)
    yield _categories(folder)
    yield _narrow(folder)


def write_large(folder: Path) -> Path:
    """A MovieLens folder of Parquet files with as many users, items and ratings as MovieLens 20M has."""
    rng, place = np.random.default_rng(20), folder / "like-ml-20m"
    place.mkdir(parents=True, exist_ok=True)
    users, items = likes(20, LARGE_USERS, LARGE_ITEMS, 190)
    kept = np.sort(rng.permutation(len(users))[:LARGE_RATINGS])
    stars = rng.choice([2.0, 3.0, 3.5, 4.0, 4.5, 5.0], len(kept), p=[0.1, 0.2, 0.2, 0.25, 0.15, 0.1])
    table = {"user_id": users[kept] + 1, "item_id": items[kept] + 1, "rating": stars}
    pq.write_table(
        pa.table(table | {"timestamp": rng.integers(10**9, 2 * 10**9, len(kept))}), place / "ratings.parquet"
    )
    genres = np.array([f"genre {number:02d}" for number in range(20)])
    labels = ["|".join(sorted(rng.choice(genres, rng.integers(1, 4), replace=False))) for _ in range(LARGE_ITEMS)]
    titles = [f"Film {item} ({year})" for item, year in enumerate(rng.integers(1920, 2016, LARGE_ITEMS), 1)]
    columns = {"item_id": np.arange(1, LARGE_ITEMS + 1), "title": titles, "genres": labels}
    pq.write_table(pa.table(columns), place / "items.parquet")
    return place


def _plays(folder: Path) -> str:
    """Play counts of 20,000 tracks, with names of columns that players use."""
    rng = np.random.default_rng(1)
    users, items = likes(1, 6000, 20_000, 50)
    plays = rng.geometric(0.2, len(users))
    pq.write_table(pa.table({"user": users, "track_id": items, "plays": plays}), folder / "plays.parquet")
    moods = np.array(["calm", "loud", "sad", "quick", "old", "odd", "warm", "cold"])
    labels = [";".join(rng.choice(moods, rng.integers(1, 3), replace=False)) for _ in range(20_000)]
    pq.write_table(pa.table({"track_id": np.arange(20_000), "moods": labels}), folder / "tracks.parquet")
    return "--ratings plays.parquet --items tracks.parquet --category-column moods --separator ';'"


def _categories(folder: Path) -> str:
    """Clothes with 70 categories, one to three each; rows that are broken, doubled or of unknown items among them."""
    rng = np.random.default_rng(2)
    users, items = likes(2, 4000, 3000, 40)
    stars = rng.integers(1, 6, len(users)).astype(float)
    more = rng.integers(len(users), size=50)
    users, items, stars = (np.concatenate([column, column[more]]) for column in (users, items, stars))
    broken = rng.random(len(users)) < 0.001
    table = {"customerId": users, "productId": np.where(rng.random(len(users)) < 0.002, 10**6, items)}
    rated = pa.array(stars, mask=broken)
    pq.write_table(pa.table(table | {"rating": rated}), folder / "bought.parquet")
    kinds = np.array([f"kind {number:02d}" for number in range(70)])
    shares = 1.0 / np.arange(1.0, 71.0)
    labels = [list(rng.choice(kinds, rng.integers(1, 4), replace=False, p=shares / shares.sum())) for _ in range(3000)]
    pq.write_table(pa.table({"productId": np.arange(3000), "kinds": labels}), folder / "clothes.parquet")
    return "--ratings bought.parquet --items clothes.parquet --category-column kinds"


def _narrow(folder: Path) -> str:
    """Candidates of a model whose scores lie within 0.001 of one another."""
    rng = np.random.default_rng(3)
    users, items = likes(3, 1500, 2000, 40)
    hidden = rng.random(len(users)) < 0.2
    known = {"user_id": users[~hidden], "item_id": items[~hidden]}
    pq.write_table(pa.table(known), folder / "known.parquet")
    pq.write_table(pa.table({"user_id": users[hidden], "item_id": items[hidden]}), folder / "hidden.parquet")
    seen = set(zip(known["user_id"].tolist(), known["item_id"].tolist(), strict=True))
    wanted = set(zip(users[hidden].tolist(), items[hidden].tolist(), strict=True))
    rows: list[tuple[int, int, float]] = []
    for user in range(1500):
        new = [int(item) for item in rng.permutation(2000)[:400] if (user, int(item)) not in seen]
        new += [item for item in items[hidden & (users == user)].tolist() if item not in new]
        value = rng.random(len(new)) + [0.6 * ((user, item) in wanted) for item in new]
        rows += [(user, item, 0.5 + 0.001 * score / 1.6) for item, score in zip(new, value, strict=True)]
    columns = dict(zip(("user_id", "item_id", "score"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "scores.parquet")
    topics = [f"topic {number}" for number in rng.integers(12, size=2000)]
    pq.write_table(pa.table({"item_id": np.arange(2000), "topic": topics}), folder / "articles.parquet")
    return (
        "--ratings known.parquet --items articles.parquet --category-column topic --rating-column '' "
        "--scores scores.parquet --held-out hidden.parquet"
    )


def _drawn(rng: np.random.Generator, edges: Floats, size: int) -> Integers:
    return np.minimum(np.searchsorted(edges, rng.random(size)), len(edges) - 1)


def main() -> None:
    """Write the sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args()
    for command in write_sets(asked.folder):
        print(f"excalibr experiment {command} --time 5m --out results")
    if asked.large:
        print(write_large(asked.folder))


if __name__ == "__main__":
    main()
