"""An invented MovieLens small enough to experiment on, and plans to go with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from excalibr._experiments import Plan, Setting
from tests.datasets.sets import write_folder

GENRES = ["Comedy", "Drama", "Comedy|Drama", "Action", "(no genres listed)", "Action|Comedy"]
USERS, ITEMS = 150, 60


def rows(seed: int = 5) -> list[tuple[int, int, float, int]]:
    """Users who like the items of a corner of the catalogue, and popular ones more."""
    random = np.random.default_rng(seed)
    made = []
    for user in range(1, USERS + 1):
        taste = 1.0 / (5.0 + np.abs(np.arange(ITEMS) - random.integers(ITEMS))) + 0.5 / np.arange(3, ITEMS + 3)
        chosen = random.choice(ITEMS, 22, replace=False, p=taste / taste.sum())
        made += [(user, int(item) + 1, float(random.choice([2.0, 4.0, 4.5, 5.0])), 10**9) for item in sorted(chosen)]
    return made


def movielens_files() -> dict[str, bytes]:
    ratings = [",".join(map(str, row)) for row in rows()]
    movies = [f"{item},Film {item} ({1940 + item}),{GENRES[item % len(GENRES)]}" for item in range(1, ITEMS + 1)]
    return {
        "ratings.csv": "\n".join(["userId,movieId,rating,timestamp", *ratings, ""]).encode(),
        "movies.csv": "\n".join(["movieId,title,genres", *movies, ""]).encode(),
    }


def movielens_folder(folder: Path) -> Path:
    return write_folder(folder / "invented", movielens_files())


def own_tables(folder: Path) -> tuple[Path, Path]:
    """Plays of tracks, with names of their own for everything, users and items as texts."""
    plays = ["listener,track,stars", *(f"l{user},t{item},{rating}" for user, item, rating, _ in rows())]
    tracks = [
        "track,mood,era",
        *(f"t{item},{['calm;sad', 'loud'][item % 2]},{item // 20}" for item in range(1, ITEMS + 1)),
    ]
    for name, lines in (("plays.csv", plays), ("tracks.csv", tracks)):
        (folder / name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "plays.csv", folder / "tracks.csv"


def small_plan(**changes: Any) -> Plan:
    settings: dict[str, Any] = {
        "users": 6,
        "sample": 2,
        "mip_users": 2,
        "timed_users": 0,
        "trade_offs": (0.1, 0.5, 0.9),
        "weightings": ("log", "sqrt"),
        "settings": (Setting(20, 10), Setting(10, 10)),
        "regularisations": (10.0, 50.0),
    }
    return Plan(**(settings | changes))
