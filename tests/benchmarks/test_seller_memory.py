from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import seller_memory
from tests.cli.reranking import run

WARNED = pytest.mark.filterwarnings("ignore::excalibr.errors.BatchWarning", "ignore::excalibr.errors.TableWarning")


@WARNED
def test_tables_of_sellers_can_be_reranked(tmp_path: Path) -> None:
    seller_memory.make_tables(tmp_path, users=3, sellers=40)
    tables = [pq.read_table(tmp_path / f"{name}.parquet") for name in seller_memory.TABLES]
    assert [len(table) for table in tables] == [3 * 150, 40 + 40 * 100, 3 * 50]
    for category in ("genre", "seller"):
        seller_memory.RUNS["reranker"](tmp_path, category)
    given = [str(tmp_path / f"{name}.parquet") for name in ("candidates", "items", "history")]
    words = ["rerank", given[0], "--items", given[1], "--history", given[2], "--category", "seller", "-k", "5"]
    assert run([*words, "-o", str(tmp_path / "out.parquet")]).exit_code == 0
