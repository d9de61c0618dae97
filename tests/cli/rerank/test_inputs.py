"""Inputs that change during a run or before it goes on, or that are damaged: noticed and named."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr._cli.rerank.parts import Run
from excalibr.errors import InputError, InputTypeError
from tests.cli.reranking import arguments, before_call, names, nothing_half_written, outputs, run, write
from tests.cli.test_signals import STEPS
from tests.tables.invented import Invented

pytestmark = pytest.mark.usefixtures("small_chunks")


def rewritten(path: Path) -> None:
    """The same bytes at another time."""
    os.utime(path, ns=(1, 1))


def other_contents(path: Path) -> None:
    """Other bytes of the same size and time."""
    stat, content = path.stat(), bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


CHANGES: dict[str, Callable[[Path], None]] = {
    "was written again": rewritten,
    "has other contents now": other_contents,
    "bytes now and had": truncated,
    "is gone": Path.unlink,
}


@pytest.mark.parametrize("words", CHANGES)
@pytest.mark.parametrize("name", ["candidates", "items", "history"])
@pytest.mark.parametrize("step", ["keeping a part", "writing the outputs"])
def test_an_input_that_changes_during_the_run_ends_it(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch, words: str, name: str, step: str
) -> None:
    path = tmp_path / f"{name}.parquet"
    content = path.read_bytes()
    before_call(monkeypatch, *STEPS[step], lambda: CHANGES[words](path))
    result = run(given)
    assert isinstance(result.exception, InputError)
    told = str(result.exception)
    table = name if name == "candidates" else f"--{name}"
    assert told.startswith(f"{table}: {path} changed during the run (")
    assert words in told
    assert told.endswith("Hint: nothing was put in place; run again without --resume.")
    path.write_bytes(content)
    assert nothing_half_written(tmp_path)


def test_a_file_that_is_added_to_a_folder_of_inputs_ends_the_run(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, tables)
    (tmp_path / "many").mkdir()
    shutil.copy(tmp_path / "candidates.parquet", tmp_path / "many" / "1.parquet")
    added = tmp_path / "many" / "2.parquet"
    before_call(monkeypatch, Run, "keep", 1, lambda: shutil.copy(tmp_path / "candidates.parquet", added))
    result = run(arguments(tmp_path, "many"))
    assert "many changed during the run (has other files in it now)" in str(result.exception)
    assert "slates.parquet" not in names(tmp_path)


def test_a_new_link_to_an_input_is_no_change(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_call(monkeypatch, Run, "keep", 2, lambda: os.link(tmp_path / "items.parquet", tmp_path / "backup"))
    assert run(given).exit_code == 0
    assert outputs(tmp_path) == whole


@pytest.mark.parametrize("change", [rewritten, other_contents])
@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_an_input_that_changed_before_resume_is_noticed(
    tmp_path: Path,
    tables: Invented,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    kind: str,
) -> None:
    write(tmp_path, tables)
    path = tmp_path / f"candidates.{kind}"
    if kind == "csv":
        pa.csv.write_csv(tables.candidates, path)
    if kind == "arrow":
        pa.feather.write_feather(tables.candidates, path)
    given = arguments(tmp_path, path.name)
    with monkeypatch.context() as stopped:
        before_call(stopped, Run, "keep", 1, lambda: signal.raise_signal(signal.SIGTERM))
        assert run(given).exit_code == 143
    change(path)
    result = run([*given, "--resume"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"{tmp_path / 'slates.parquet.parts'}: is of a run with other inputs or options (candidates changed since), "
        "must be of the same. Hint: leave --resume out to start again."
    )
    assert "slates.parquet" not in names(tmp_path)


@pytest.mark.parametrize("name", ["candidates", "items", "history"])
def test_a_truncated_input_is_named(tmp_path: Path, given: list[str], name: str) -> None:
    path = tmp_path / f"{name}.parquet"
    truncated(path)
    result = run(given)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{path}: cannot be read")
    assert nothing_half_written(tmp_path)


def test_a_text_among_numbers_is_told_with_its_file_and_the_row_in_it(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in (1, 2):
        rows = [
            f"{user},{item},{'high' if (user, item) == (280, 3) else 0.5}\n"
            for user in range(150 * number)
            for item in range(4)
        ]
        (many / f"{number}.csv").write_text("user_id,item_id,score\n" + "".join(rows[600 * (number - 1) :]))
    (tmp_path / "items.csv").write_text("item_id,category\n0,a\n1,b\n")
    given = ["rerank", str(many), "--items", str(tmp_path / "items.csv"), "--targets", str(tmp_path / "items.csv")]
    result = run([*given, "-k", "2", "-o", str(tmp_path / "out.csv")])
    assert isinstance(result.exception, InputTypeError)
    assert str(result.exception) == (
        f"column 'score' of candidates: row 523 of {many / '2.csv'} is 'high', must have numbers."
    )


def test_ids_that_are_text_in_one_csv_file_of_a_folder_are_text_in_all(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    (many / "1.csv").write_text("user_id,item_id,score\n007,1,0.5\n007,2,0.4\n")
    (many / "2.csv").write_text("user_id,item_id,score\nada,1,0.5\nada,2,0.4\n")
    (tmp_path / "items.csv").write_text("item_id,category\n1,a\n2,b\n")
    (tmp_path / "wanted.csv").write_text("category,weight\na,1\nb,1\n")
    given = ["rerank", str(many), "--items", str(tmp_path / "items.csv"), "--targets", str(tmp_path / "wanted.csv")]
    assert run([*given, "-k", "1", "-o", str(tmp_path / "out.parquet")]).exit_code == 0
    assert pq.read_table(tmp_path / "out.parquet")["user_id"].to_pylist() == ["007", "ada"]


def test_pages_that_are_not_what_they_were_are_named(tmp_path: Path, given: list[str]) -> None:
    """A byte of a compressed page, which no footer tells of."""
    path = tmp_path / "candidates.parquet"
    content = bytearray(path.read_bytes())
    content[10:60] = bytes(50)
    path.write_bytes(content)
    result = run(given)
    assert result.exit_code != 0
    told = result.output + str(result.exception)
    assert str(path) in told
    assert nothing_half_written(tmp_path)
