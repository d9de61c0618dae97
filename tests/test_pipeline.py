"""The whole way that docs/reference.md shows, from an archive to a slate, on an invented MovieLens."""

from pathlib import Path

import numpy as np

from excalibr import calibrate, datasets, models, targets
from tests.datasets.sets import write_zip


def archive(folder: Path, users: int = 80, items: int = 60) -> Path:
    random = np.random.default_rng(5)
    ratings = [
        f"{user},{item},{random.choice([2.0, 4.0, 4.5, 5.0])},{random.integers(10**9, 2 * 10**9)}"
        for user in range(1, users + 1)
        for item in sorted(random.choice(items, 25, replace=False) + 1)
    ]
    genres = ["Comedy", "Drama", "Comedy|Drama", "Action", "(no genres listed)"]
    movies = [f"{item},Film {item} ({1900 + item}),{genres[item % 5]}" for item in range(1, items + 1)]
    files = {
        "ratings.csv": "\n".join(["userId,movieId,rating,timestamp", *ratings, ""]).encode(),
        "movies.csv": "\n".join(["movieId,title,genres", *movies, ""]).encode(),
    }
    return write_zip(folder / "invented.zip", "invented", files)


def test_an_archive_becomes_a_calibrated_slate(tmp_path: Path) -> None:
    movielens = datasets.load_movielens(archive(tmp_path))
    liked = movielens.positives()
    split = datasets.split_users(liked, validation=10, test=10, seed=1)
    items = movielens.items.of(liked.item_ids)
    genres = datasets.genre(items.genres)
    model = models.EASE.fit(split.train.matrix, regularisation=50)
    users = split.test.history
    top = model.top(users.matrix, 30)
    recent = targets.recency_weights(users.values("timestamps"), half_life=365 * 86400)
    wanted = targets.histories(genres.matrix, recent)
    policy = calibrate(top.scores[0], genres.matrix[top.items[0]], wanted[0], k=10, trade_off=0.9)
    assert policy.deviation < 0.2
    assert len(items.titles[top.items[0]][policy.sample(seed=1, key=int(users.user_ids[0]))]) == 10
