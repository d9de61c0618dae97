"""Two runs at once, and locks that are left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from excalibr._cli import lock
from excalibr._cli.lock import Holder
from excalibr._cli.rerank import job as jobs
from excalibr.errors import InputError
from tests.cli.reranking import OLD, before_call, names, nothing_half_written, outputs, run

pytestmark = pytest.mark.usefixtures("small_chunks")


def test_two_runs_do_not_share_an_output(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run comes while the first one solves; also one that shares only its report."""
    others = [given, [*given, "--resume"], [*given, "-o", str(tmp_path / "other.parquet")]]
    results: list[Any] = []
    before_call(monkeypatch, jobs, "_solve", 2, lambda: results.extend(run(other) for other in others))
    assert run(given).exit_code == 0
    assert outputs(tmp_path) == whole
    assert [result.exit_code for result in results] == [3, 3, 3]
    for result, name in zip(results, ["slates", "slates", "report"], strict=True):
        assert result.output.startswith(
            f"excalibr: {tmp_path / name}.parquet: is being written by another run (process {os.getpid()} on "
        )
        assert result.output.endswith(f"name another output; {name}.parquet.lock is its lock.\n")
    assert [name for name in names(tmp_path) if name.endswith(".lock")] == []


PAUSED = """
import sys
from excalibr._cli import main
from excalibr._cli.rerank import job
from excalibr.tables import _sources
job.CHUNK_ROWS = _sources.BATCH_ROWS = 60
keep, kept = job.Run.keep, []
def paused(*given):
    keep(*given)
    kept.append(given)
    if len(kept) == 3:
        print("here", flush=True)
        sys.stdin.readline()
job.Run.keep = paused
sys.argv = ["excalibr", *{arguments!r}]
main()
"""


def test_a_run_in_another_process_is_named_and_its_kill_leaves_nothing_that_blocks(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes]
) -> None:
    program = [sys.executable, "-c", PAUSED.format(arguments=given)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        result = run(given)
        assert result.exit_code == 3
        assert f"is being written by another run (process {process.pid} on " in result.output
        process.send_signal(signal.SIGKILL)
    assert "slates.parquet.lock" in names(tmp_path)
    assert (tmp_path / "slates.parquet").read_bytes() == OLD
    assert run([*given, "--resume"]).exit_code == 0
    assert outputs(tmp_path) == whole
    assert "slates.parquet.lock" not in names(tmp_path)


def written_lock(folder: Path, **changed: Any) -> Path:
    said = vars(Holder.this_process()) | changed
    path = folder / "slates.parquet.lock"
    path.write_text(json.dumps(said))
    return path


def gone() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.parametrize("flock", [True, False])
def test_stale_locks_are_taken_over(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch, flock: bool
) -> None:
    """The process is gone; its number is another process's by now; it was killed before it could write its name."""
    if not flock:
        monkeypatch.setattr(lock, "_try_lock", lambda descriptor: None)
    for changed in ({"pid": gone()}, {"pid": os.getppid(), "started": "another boot:1"}):
        written_lock(tmp_path, **changed)
        assert run(given).exit_code == 0
        assert "slates.parquet.lock" not in names(tmp_path)
    (tmp_path / "slates.parquet.lock").touch()
    assert run(given).exit_code == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the start of a process is known on Linux")
def test_a_process_that_is_seen_at_work_holds_its_lock_even_without_locks_of_the_system(
    tmp_path: Path, given: list[str]
) -> None:
    path = written_lock(tmp_path, pid=os.getppid(), started=lock._start_of(os.getppid()))
    said = path.read_text()
    result = run(given)
    assert result.exit_code == 3
    assert f"process {os.getppid()} on " in result.output
    assert path.read_text() == said


def test_a_process_on_another_machine_is_believed_where_there_are_no_locks(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written_lock(tmp_path, host="elsewhere", since="noon")
    with monkeypatch.context() as without:
        without.setattr(lock, "_try_lock", lambda descriptor: None)
        assert "on elsewhere, since noon" in run(given).output
    assert run(given).exit_code == 0  # the system's lock was free: that process has ended


def test_a_file_that_is_no_lock_of_ours_is_left_alone(tmp_path: Path, given: list[str]) -> None:
    path = tmp_path / "slates.parquet.lock"
    path.write_text("[[package]]")
    result = run(given)
    assert result.exit_code == 3
    assert result.output == (
        f"excalibr: {path}: is there and is no lock of ours. Hint: move it away, or name another output.\n"
    )
    assert path.read_text() == "[[package]]"


def test_the_lock_of_a_run_that_fails_is_removed(tmp_path: Path, given: list[str]) -> None:
    assert isinstance(run([*given, "--score", "none"]).exception, InputError)
    assert nothing_half_written(tmp_path)


def test_a_lock_says_whose_it_is(tmp_path: Path) -> None:
    with lock.locked([tmp_path / "out.csv"]):
        said = Holder.parse((tmp_path / "out.csv.lock").read_text())
    assert said is not None
    assert (said.pid, said.is_alive()) == (os.getpid(), Path("/proc/self/stat").exists())
    assert names(tmp_path) == []


def test_the_second_of_several_locks_lets_the_first_go(tmp_path: Path) -> None:
    wanted = [tmp_path / "one.csv", tmp_path / "two.csv"]
    with lock.locked(wanted[1:]), pytest.raises(lock.InUseError), lock.locked(wanted):
        pass
    assert names(tmp_path) == []


def test_a_lock_that_was_removed_after_it_was_opened_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run ends between our opening its lock and our locking it."""
    path = tmp_path / "out.csv.lock"
    before_call(monkeypatch, lock, "_try_lock", 1, path.unlink)
    with lock.locked([tmp_path / "out.csv"]):
        assert Holder.parse(path.read_text()) is not None
    assert names(tmp_path) == []
