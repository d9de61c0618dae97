"""Fixtures of the command line's tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from excalibr._cli.rerank import job as jobs
from excalibr.tables import _sources
from tests.cli.reranking import OLD, run, write
from tests.tables.invented import Invented, invented_tables


@pytest.fixture
def tables() -> Invented:
    return invented_tables(users=40)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small tables have several parts."""
    monkeypatch.setattr(_sources, "BATCH_ROWS", 60)
    monkeypatch.setattr(jobs, "CHUNK_ROWS", 200)


@pytest.fixture
def given(tmp_path: Path, tables: Invented) -> list[str]:
    (tmp_path / "slates.parquet").write_bytes(OLD)
    return [*write(tmp_path, tables), "--report", str(tmp_path / "report.parquet"), "--threads", "1"]


@pytest.fixture
def whole(tmp_path: Path, given: list[str]) -> tuple[bytes, bytes]:
    """What both outputs must be in the end."""
    assert run(given).exit_code == 0
    made = tuple((tmp_path / f"{name}.parquet").read_bytes() for name in ("slates", "report"))
    (tmp_path / "slates.parquet").write_bytes(OLD)
    (tmp_path / "report.parquet").unlink()
    return made[0], made[1]


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which has them ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
