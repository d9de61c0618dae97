"""Fixtures of the command line's tests."""

from __future__ import annotations

import pytest

from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank import sources
from tests.tables.invented import Invented, invented_tables


@pytest.fixture
def tables() -> Invented:
    return invented_tables(users=40)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small tables have several parts."""
    monkeypatch.setattr(sources, "BATCH_ROWS", 60)
    monkeypatch.setattr(jobs, "CHUNK_ROWS", 200)
