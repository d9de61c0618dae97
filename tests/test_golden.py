"""What comes out of each way in is what came out before, by the hashes in ``golden.txt``.

Where a change is meant, ``python -m tests.golden > tests/golden.txt`` stores the new ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank.parts import Run
from excalibr.tables import _sources
from tests import golden
from tests.cli.reranking import before_call, run, write

READ = {"csv": pa.csv.read_csv, "parquet": pq.read_table}


def written(folder: Path, ending: str) -> None:
    golden.write_csv(folder) if ending == "csv" else write(folder, golden.tables())


def test_the_invented_tables_are_the_same() -> None:
    assert golden.changed(golden.of_inputs()) == []


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "stream"])
def test_tables_give_the_same(kind: str) -> None:
    assert golden.changed(golden.of_tables(kind)) == []


@pytest.mark.parametrize("name", golden.SETTINGS)
@pytest.mark.parametrize("ending", READ)
def test_the_command_gives_the_same(tmp_path: Path, ending: str, name: str) -> None:
    written(tmp_path, ending)
    assert golden.changed(golden.of_command(tmp_path, name, ending, READ[ending])) == []


@pytest.mark.parametrize("ending", READ)
def test_a_run_that_was_killed_and_resumed_gives_the_same(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill() -> None:
        raise KeyError("killed")  # which nothing in a run expects, so that nothing is tidied up

    written(tmp_path, "parquet")
    monkeypatch.setattr(_sources, "BATCH_ROWS", 30)
    monkeypatch.setattr(jobs, "CHUNK_ROWS", 60)
    given = golden.arguments(tmp_path, "plain", ending, "parquet")
    with monkeypatch.context() as killed:
        before_call(killed, Run, "keep", 3, kill)
        assert isinstance(run(given).exception, KeyError)
    assert len(list((tmp_path / f"slates.{ending}.parts").glob("part-*.json"))) == 2
    assert run([*given, "--resume"]).exit_code == 0
    assert golden.changed(golden.of_files(tmp_path, "plain", ending, READ[ending])) == []


def test_the_service_gives_the_same(tmp_path: Path) -> None:
    assert golden.changed(golden.of_service(tmp_path)) == []


def test_every_stored_hash_is_of_something() -> None:
    names = golden.stored().keys()
    tables = {f"{name}: {output}" for name in golden.SETTINGS for output in golden.OUTPUTS}
    exact = golden.SETTINGS.keys() - golden.ROUNDED.keys()
    files = {f"{name}: {what}" for name in exact for what in ("slates.csv, its bytes", "replies")}
    assert names == {*golden.of_inputs(), *tables, *files}


def test_a_change_of_the_last_bit_is_told_by_name() -> None:
    found, candidates = golden.of_inputs(), golden.tables().candidates
    scores = candidates["score"].to_pylist()
    scores[-1] = float(np.nextafter(scores[-1], 2.0))
    other = candidates.set_column(candidates.column_names.index("score"), "score", pa.array(scores))
    name = "inputs: candidates"
    assert golden.changed(found | {name: golden.of_table(other)}) == [name]
    assert golden.of_table(other, 9) == golden.of_table(candidates, 9)
