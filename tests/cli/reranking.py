"""The command ``excalibr rerank`` on small tables: files to read, arguments, and what must come out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from excalibr import Reranker
from excalibr._cli.application import application
from tests.tables.invented import GENRE_COLUMNS, Invented

GENRES = ["--category", "genres", "--separator", "|"]
OLD = b"the output of the day before"
ASKED = ["-k", "5", "--trade-off", "0.4", "--seed", "3", *GENRES]


def write(folder: Path, tables: Invented, rows: int = 60) -> list[str]:
    """Parquet files with small row groups, in which most users straddle two; and the arguments that read them."""
    for name in ("candidates", "items", "history"):
        pq.write_table(getattr(tables, name), folder / f"{name}.parquet", row_group_size=rows)
    return arguments(folder)


def arguments(folder: Path, candidates: str = "candidates.parquet", out: str = "slates.parquet") -> list[str]:
    beside = ["--items", str(folder / "items.parquet"), "--history", str(folder / "history.parquet")]
    return ["rerank", str(folder / candidates), *beside, *ASKED, "-o", str(folder / out)]


def run(given: list[str], **options: Any) -> Result:
    return CliRunner().invoke(application, given, **options)


def expected(tables: Invented, reranker: Reranker | None = None, **options: Any) -> Any:
    reranker = reranker or Reranker(k=5, trade_off=0.4, seed=3)
    return reranker.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS, **options)


def before_call(patched: pytest.MonkeyPatch, owner: Any, name: str, number: int, action: Callable[[], object]) -> None:
    """Do something right before the so manyth call of a function: a named moment of a run, without waiting for it."""
    original, calls = getattr(owner, name), [0]

    def called(*given: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            action()
        return original(*given, **options)

    patched.setattr(owner, name, called)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def outputs(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "slates.parquet").read_bytes(), (folder / "report.parquet").read_bytes()


def last_line(result: Any) -> str:
    """What is said last; a line on what was understood of the tables may come first."""
    told: str = result.output.splitlines()[-1]
    return told


def nothing_half_written(folder: Path) -> bool:
    """The old output is as it was, and beside it are the inputs and at most the finished parts."""
    left = set(names(folder)) - {"slates.parquet.parts"}
    return (folder / "slates.parquet").read_bytes() == OLD and left == {
        *(f"{name}.parquet" for name in ("candidates", "items", "history", "slates")),
    }
