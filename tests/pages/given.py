"""What a page's examples take as given: tables under their usual names, and the same as files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import excalibr
from tests.pages.blocks import text_of

GENRES = {"art": "Art", "buddy": "Comedy", "crime": "Crime", "drama": "Drama", "epic": "Epic"}
SELLERS = {"big": 0.6, "middle": 0.3, "small": 0.1}


def given(page: str, folder: Path) -> dict[str, Any]:
    """The names that a page's first block finds, after its files were written into a folder."""
    names: dict[str, Any] = {"excalibr": excalibr, "__name__": "__page__"}
    return names | GIVEN[page](folder) if page in GIVEN else names


def _tables(folder: Path) -> dict[str, Any]:
    """Candidates of thirty users today and tomorrow, films with genres and sellers, histories, what is liked next."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.tables.invented import invented_tables

    made = invented_tables()
    genres = [re.sub(r"\w+", lambda word: GENRES[word[0]], each) for each in made.items["genres"].to_pylist()]
    sellers = [list(SELLERS)[number % 5 // 2] for number in range(len(genres))]
    items = pa.table({"item_id": made.items["item_id"], "genres": genres, "seller": sellers})
    names = {
        "candidates": made.candidates,
        "tomorrow": invented_tables(seed=2).candidates,
        "items": items,
        "history": made.history,
        "held_out": made.history.slice(0, 60),
    }
    for name, table in names.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return names


def _readme(folder: Path) -> dict[str, Any]:
    """Tables, and the three files that stand side by side in the text."""
    _tables(folder)
    section = text_of("README.md").partition("### A CSV of your own")[2]
    lines = section.partition("```text\n")[2].partition("```")[0].splitlines()
    starts = [match.start() for match in re.finditer("# ", lines[0])]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        name, *rows = (line[start:end].strip() for line in lines)
        (folder / name.removeprefix("# ")).write_text("".join(f"{row}\n" for row in rows if row), encoding="utf-8")
    return {}


def _everybody(folder: Path) -> dict[str, Any]:
    rows = "".join(f"{name},{share}\n" for name, share in SELLERS.items())
    (folder / "targets.csv").write_text(f"category,weight\n{rows}", encoding="utf-8")
    return _tables(folder)


def _service(folder: Path) -> dict[str, Any]:
    """Tables, prices of sellers, and a token."""
    import pyarrow.parquet as pq

    names = _tables(folder)
    tables = {each: names[each] for each in ("candidates", "items", "history")}
    balance = excalibr.Reranker(k=10).balance(**tables, everyone={"seller": SELLERS})
    pq.write_table(balance.table, folder / "prices.parquet")
    (folder / "token").write_text("secret\n", encoding="utf-8")
    return names


def _reference(folder: Path) -> dict[str, Any]:
    """A MovieLens of 1,200 invented users and 200 films."""
    from tests.datasets.sets import write_zip

    random = np.random.default_rng(3)
    ratings = "".join(
        f"{user}::{film}::{random.integers(3, 6)}::{10**9}\n"
        for user in range(1, 1201)
        for film in np.sort(random.choice(200, 20, replace=False)) + 1
    )
    names = list(GENRES.values())
    films = "".join(f"{film}::Film {film} ({1950 + film % 50})::{names[film % 5]}\n" for film in range(1, 201))
    write_zip(folder / "ml-1m.zip", "invented", {"ratings.dat": ratings.encode(), "movies.dat": films.encode()})
    return {}


GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "README.md": _readme,
    "docs/everybody.md": _everybody,
    "docs/explore.md": _tables,
    "docs/reference.md": _reference,
    "docs/serve.md": _service,
    "docs/tables.md": _tables,
}
"""By page; others begin with the package alone."""
