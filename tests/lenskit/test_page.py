"""The examples of docs/lenskit.md, on an invented MovieLens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lenskit")

from lenskit.data import ItemList

from tests.pages.running import run_page

GENRES = ("Comedy", "Drama", "Horror")


def write_movielens(folder: Path) -> None:
    """As ml-latest-small is: 120 users, 250 films."""
    random, folder = np.random.default_rng(1), folder / "ml-latest-small"
    folder.mkdir()
    films = [f"{film},Film {film} ({1950 + film % 60}),{GENRES[film % 3]}" for film in range(1, 251)]
    ratings = [
        f"{user},{film},{random.integers(2, 11) / 2},{10**9 + place}"
        for user in range(1, 121)
        for place, film in enumerate(random.choice(250, 25, replace=False) + 1)
    ]
    for name, head, rows in (
        ("movies.csv", "movieId,title,genres", films),
        ("ratings.csv", "userId,movieId,rating,timestamp", ratings),
        ("tags.csv", "userId,movieId,tag,timestamp", ["1,1,good,1000000000"]),
        ("links.csv", "movieId,imdbId,tmdbId", [f"{film},{film},{film}" for film in range(1, 251)]),
    ):
        (folder / name).write_text("\n".join([head, *rows, ""]), encoding="utf-8")


@pytest.mark.filterwarnings("ignore")  # of LensKit and of what it uses
def test_every_example_of_the_page_runs(tmp_path: Path) -> None:
    write_movielens(tmp_path)
    names = run_page("docs/lenskit.md", tmp_path).names
    assert all(isinstance(each, ItemList) and len(each) == 10 for each in names["lists"].lists())
    assert names["builder"].build().node("reranker") is not None
