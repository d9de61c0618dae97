import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank import parts, user_blocks
from excalibr._cli.rerank.parts import Run
from excalibr.errors import InputError
from tests.cli.reranking import arguments, before_call, expected, run, write
from tests.tables.invented import Invented, invented_tables

pytestmark = pytest.mark.usefixtures("small_chunks")

PROGRAM = """
import os, signal, sys
from pathlib import Path
from excalibr._cli import main
from excalibr._cli.rerank import job
from excalibr.tables import _sources
job.CHUNK_ROWS = _sources.BATCH_ROWS = 60
sys.argv = ["excalibr", *{arguments!r}]
replace = Path.replace
def killed(path, target):
    done = replace(path, target)
    if Path(target).name == {last!r}:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
Path.replace = killed
main()
"""
"""A run that is killed as soon as the part ``last`` is done."""


class Stop(Exception):
    """What a kill looks like from inside; files are then not tidied up either."""


def run_until_the_end(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped when all of its parts are kept, and no output is in place."""
    with monkeypatch.context() as killed:
        killed.setattr(Run, "finish", stop)
        assert isinstance(run(given).exception, Stop)


def stop(*_: object) -> None:
    raise Stop


def test_a_run_that_was_stopped_anywhere_ends_with_the_same_bytes(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rename is a moment at which what is on disk changes; the run is stopped before and after each of them."""
    given = [*write(tmp_path, tables), "--report", str(tmp_path / "report.parquet")]
    assert run(given).exit_code == 0
    whole = (tmp_path / "slates.parquet").read_bytes(), (tmp_path / "report.parquet").read_bytes()
    rename, moments = Path.replace, 0
    while True:
        for name in ("slates.parquet", "report.parquet"):
            (tmp_path / name).unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "slates.parquet.parts", ignore_errors=True)
        left = [moments]

        def stopped(path: Path, target: Path, left: list[int] = left) -> Path:
            if left[0] == 0:
                raise Stop
            left[0] -= 1
            done = rename(path, target)
            if left[0] == 0:
                raise Stop
            left[0] -= 1
            return done

        with monkeypatch.context() as killed:
            killed.setattr(Path, "replace", stopped)
            killed.setattr(Path, "unlink", lambda *_, **__: None)
            ended = run(given)
        if ended.exit_code == 0:
            break
        assert isinstance(ended.exception, Stop)
        assert run([*given, "--resume"]).exit_code == 0
        assert ((tmp_path / "slates.parquet").read_bytes(), (tmp_path / "report.parquet").read_bytes()) == whole
        moments += 1
    assert moments > 20


def test_a_killed_process_goes_on_with_resume(tmp_path: Path) -> None:
    tables = invented_tables(users=600)
    given = write(tmp_path, tables)
    program = PROGRAM.format(arguments=given, last="part-000005.json")
    killed = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=False)
    assert killed.returncode == -signal.SIGKILL
    parts = tmp_path / "slates.parquet.parts"
    assert not (tmp_path / "slates.parquet").exists()
    done = len(list(parts.glob("*.json")))
    resumed = PROGRAM.format(arguments=[*given, "--resume"], last="nothing")
    subprocess.run([sys.executable, "-c", resumed], check=True, capture_output=True)
    assert done > 5
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_a_run_that_was_stopped_after_sorting_goes_on(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_blocks, "BUCKET_ROWS", 100)
    monkeypatch.setattr(user_blocks, "SAMPLED", 5)
    given = write(tmp_path, tables.shuffled(2))
    make, made = jobs._make_part, []

    def made_twice(*arguments: Any) -> Any:
        made.append(make(*arguments))
        return made[-1] if len(made) < 3 else stop()

    with monkeypatch.context() as killed:
        killed.setattr(jobs, "_make_part", made_twice)
        assert isinstance(run(given).exception, Stop)
    monkeypatch.setattr(user_blocks, "_write_ranges", lambda *_: pytest.fail("sorted again"))
    assert run([*given, "--resume"]).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


@pytest.mark.parametrize("removed", [0, 3, 6])
def test_a_run_that_was_stopped_while_it_tidied_up_ends_with_the_same_content(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    write(tmp_path, tables)
    given = arguments(tmp_path, out="slates.csv")
    with monkeypatch.context() as killed:
        before_call(killed, parts, "_remove", removed + 1, stop)
        assert isinstance(run(given).exception, Stop)
    assert run([*given, "--resume"]).exit_code == 0
    assert pa.csv.read_csv(tmp_path / "slates.csv").equals(expected(tables))
    assert not (tmp_path / "slates.csv.parts").exists()


def test_parts_that_are_done_are_not_solved_again(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    run_until_the_end(given, monkeypatch)
    monkeypatch.setattr(jobs, "_solve", lambda *_: pytest.fail("solved again"))
    assert run([*given, "--resume"]).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_a_finished_run_has_nothing_to_resume(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    assert run(given).exit_code == 0
    before = (tmp_path / "slates.parquet").stat().st_mtime_ns
    result = run([*given, "--resume"])
    assert (result.exit_code, result.output) == (0, "The outputs are complete: nothing is left to do.\n")
    assert (tmp_path / "slates.parquet").stat().st_mtime_ns == before


def test_a_run_with_other_options_is_not_resumed(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    parts = tmp_path / "slates.parquet.parts"
    parts.mkdir()
    (parts / "run.json").write_text(json.dumps({"made_by": "excalibr rerank", "stamp": "another"}))
    result = run([*given, "--resume"])
    assert isinstance(result.exception, InputError)
    assert "is of a run with other inputs or options" in str(result.exception)
    assert run(given).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_what_changed_since_is_named_as_it_is_typed(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    run_until_the_end(given, monkeypatch)
    others = {
        ("--trade-off", "0.9", "--day", "2"): "--trade-off and --day",
        ("--report", str(tmp_path / "report.csv")): "outputs",
        ("--prior", str(tmp_path / "prior.csv")): "prior",
    }
    (tmp_path / "prior.csv").write_text("genres,weight\ndrama,1\n")
    for more, changed in others.items():
        refused = str(run([*given, *more, "--resume"]).exception)
        assert f"with other inputs or options ({changed} changed since), must be of the same. Hint: leave" in refused
    assert run([*given, "--resume", "--threads", "2"]).exit_code == 0


def test_an_interrupt_leaves_no_output_and_says_how_to_go_on(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "_make_part", interrupted)
    result = run(write(tmp_path, tables))
    assert result.exit_code == 130
    assert result.output.splitlines()[-1] == "excalibr: interrupted. Go on with --resume."
    assert not (tmp_path / "slates.parquet").exists()


def test_a_part_of_which_a_table_is_lost_is_made_again(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*write(tmp_path, tables), "--report", str(tmp_path / "report.parquet")]
    assert run(given).exit_code == 0
    whole = (tmp_path / "slates.parquet").read_bytes(), (tmp_path / "report.parquet").read_bytes()
    for lost in ("slates", "report"):
        (tmp_path / f"{lost}.parquet").unlink()
        run_until_the_end(given, monkeypatch)
        (tmp_path / "slates.parquet.parts" / f"part-000001.{lost}.arrow").unlink()
        assert run([*given, "--resume"]).exit_code == 0
        assert ((tmp_path / "slates.parquet").read_bytes(), (tmp_path / "report.parquet").read_bytes()) == whole


@pytest.mark.parametrize("sizes", [(100,), (1, 99), (35, 35, 30), (34, 2, 64), (0, 50, 0, 50)])
def test_rows_are_written_in_groups_of_one_size_wherever_parts_end(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "GROUP_ROWS", 35)
    whole = pa.table({"rank": list(range(100))})
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    groups = list(parts._regrouped(whole.slice(*each) for each in zip(starts, sizes, strict=True)))
    assert [len(group) for group in groups] == [35, 35, 30]
    assert pa.concat_tables(groups).equals(whole)
