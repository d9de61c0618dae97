"""Where parts and steps end: by rows or by time, and never seen in the outputs."""

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank import parts, user_blocks
from excalibr._cli.rerank.parts import Run
from tests.cli.reranking import arguments, expected, outputs, run, write
from tests.tables.invented import Invented

pytestmark = pytest.mark.usefixtures("small_chunks")


def kept_rows(patched: pytest.MonkeyPatch) -> list[int]:
    """The rows of each part that is kept from now on."""
    keep, rows = Run.keep, []

    def counted(run: Run, number: int, part: parts.StoredPart, tables: Any) -> None:
        rows.append(part.rows)
        keep(run, number, part, tables)

    patched.setattr(Run, "keep", counted)
    return rows


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_where_parts_end_does_not_show_in_the_outputs(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch, kind: str, seconds: float
) -> None:
    """Parts of one user each, or of as many as the rows allow; row groups of the outputs lie across them."""
    write(tmp_path, tables)
    monkeypatch.setattr(parts, "GROUP_ROWS", 35)
    more = ["--lotteries", str(tmp_path / f"lotteries.{kind}"), "--report", str(tmp_path / f"report.{kind}")]
    given = [*arguments(tmp_path, out=f"slates.{kind}"), *more]
    assert run(given).exit_code == 0
    made = {path.name: path.read_bytes() for path in tmp_path.glob(f"*s.{kind}")}
    rows = kept_rows(monkeypatch)
    monkeypatch.setattr(
        jobs, "BlockSize", lambda wanted: user_blocks.BlockSize(wanted, users=1 if seconds == 0.0 else 256)
    )
    monkeypatch.setattr(jobs, "STEP_SECONDS", seconds)
    monkeypatch.setattr(jobs, "PART_SECONDS", seconds)
    monkeypatch.setattr(jobs, "CHUNK_ROWS", 1000)
    assert run(given).exit_code == 0
    assert len(rows) == (40 if seconds == 0.0 else 1)
    assert {path.name: path.read_bytes() for path in tmp_path.glob(f"*s.{kind}")} == made


def test_ids_that_are_whole_only_in_some_parts_are_drawn_for_alike(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read by itself, a part of a column of floats may look like whole numbers."""
    halves = [
        table.set_column(0, "user_id", pc.add(pc.cast(table["user_id"], pa.float64()), last_is_half(table)))
        for table in (tables.candidates, tables.history)
    ]
    made = Invented(halves[0], tables.items, halves[1])
    monkeypatch.setattr(jobs, "BlockSize", lambda wanted: user_blocks.BlockSize(wanted, users=1))
    monkeypatch.setattr(jobs, "PART_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "STEP_SECONDS", 0.0)
    assert run(write(tmp_path, made)).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(made))


def last_is_half(table: Any) -> Any:
    """Half for the rows of the last user."""
    return pc.multiply(0.5, pc.cast(pc.equal(table["user_id"], pc.max(table["user_id"])), pa.float64()))


def test_a_part_ends_when_it_took_its_time(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock on which two users take three seconds: seven pairs a part, however many rows there may be."""
    clock, solve = [0.0], jobs._solve

    def slow(*given: Any) -> Any:
        clock[0] += 3.0
        return solve(*given)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(jobs, "_solve", slow)
    monkeypatch.setattr(jobs, "CHUNK_ROWS", 10_000)
    monkeypatch.setattr(jobs, "STEP_SECONDS", 3.0)
    monkeypatch.setattr(jobs, "BlockSize", lambda seconds: user_blocks.BlockSize(seconds, users=2))
    rows = kept_rows(monkeypatch)
    assert run(given).exit_code == 0
    assert rows == [14 * 25, 14 * 25, 12 * 25]
    assert outputs(tmp_path) == whole


@pytest.mark.parametrize(("took", "then"), [(4.0, 50), (1.0, 200), (0.001, 400), (1000.0, 1)])
def test_a_step_is_as_many_users_as_take_two_seconds(took: float, then: int) -> None:
    size = user_blocks.BlockSize(2.0, users=100)
    size.adapt(100, took)
    assert size.users == then
