"""Small tables to explore, as files and as what the page makes of them; some of their names are hostile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr import Reranker
from excalibr.service import Application
from excalibr.service._page import Page, PageSource
from tests.service.client import Client
from tests.tables.invented import GENRE_COLUMNS, Invented, invented_tables

HOSTILE = {
    0: "<script>window.hit = 1</script>",
    1: "\"quoted\" & 'single' </script><img src=x onerror='window.hit=2'>",
    2: "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    3: "a very long name " * 20,
}


def tables_with_titles(users: int = 24) -> Invented:
    made = invented_tables(users=users, n=30)
    titles = [HOSTILE.get(item, f"Film {item}") for item in made.items["item_id"].to_pylist()]
    decades = [f"{1950 + 10 * (item % 4)}s" for item in made.items["item_id"].to_pylist()]
    items = made.items.append_column("title", pa.array(titles)).append_column("decade", pa.array(decades))
    return Invented(made.candidates, items, made.history)


def truth_of(tables: Invented, seed: int = 5) -> Any:
    """Some candidates of each user, and some items that are no candidates."""
    random = np.random.default_rng(seed)
    users = np.array(sorted(set(tables.candidates["user_id"].to_pylist())))[:-1]  # one has nothing held out
    return pa.table({"user_id": np.repeat(users, 8), "item_id": random.integers(0, 90, 8 * len(users))})


def write_tables(folder: Path, users: int = 24) -> dict[str, Path]:
    tables = tables_with_titles(users)
    named = {"candidates": tables.candidates, "items": tables.items, "history": tables.history}
    named["truth"] = truth_of(tables)
    paths = {}
    for name, table in named.items():
        paths[name] = folder / f"{name}.parquet"
        pq.write_table(table, paths[name])
    return paths


def source_of(folder: Path, *, users: int = 24, sample: int = 500, **options: Any) -> PageSource:
    columns = {**GENRE_COLUMNS, **options.pop("columns", {})}
    return PageSource(Reranker(**{"k": 6, **options}), columns, write_tables(folder, users), sample=sample)


class PageClient(Client):
    """Asks an application what its page would ask."""

    def __init__(self, source: PageSource | Callable[[], PageSource]) -> None:
        super().__init__(Application(None, page=Page(source)))
        self.service.load()
        self.about = self.explore("about").json
        self.choices, self.aim = self.about["choices"], self.about["aim"]

    def explore(self, question: str, body: Any = None, **environ: Any) -> Any:
        given = {"CONTENT_TYPE": "application/json", "HTTP_HOST": "localhost:8000", **environ}
        return self.post(f"/explore/{question}", {} if body is None else body, **given)

    def sample(self, **changes: Any) -> Any:
        asked = {"choices": self.choices, "aim": self.aim, "first": 0, "last": len(self.about["sample"])}
        return self.explore("sample", asked | changes)

    def person(self, user: int, **changes: Any) -> Any:
        return self.explore("person", {"choices": self.choices, "aim": self.aim, "user": user} | changes)
