"""Signals, full disks, read-only folders, two runs at once, inputs that change: nothing lost or half-written."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr._cli import signals
from excalibr._cli.rerank import feed, inputs, lock, parts
from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank.lock import Holder
from excalibr._cli.rerank.parts import Run
from excalibr.errors import InputError
from tests.cli.reranking import arguments, before_call, expected, names, run, write
from tests.tables.invented import Invented

pytestmark = pytest.mark.usefixtures("small_chunks")

OLD = b"the output of the day before"

STEPS: dict[str, tuple[Any, str, int]] = {
    "looking at the inputs": (inputs, "_digest", 2),
    "counting users": (jobs, "_scan", 1),
    "solving": (jobs, "_solve", 3),
    "keeping a part": (Run, "keep", 2),
    "putting a part in place": (parts, "beside", 4),
    "writing the outputs": (Run, "_assemble", 1),
    "writing the second output": (Run, "_assemble", 2),
}
"""Moments of a run at which a signal may come: before the so manyth call of a function."""


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


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
)
def test_a_signal_ends_the_run_with_its_code_and_nothing_is_lost(
    tmp_path: Path,
    given: list[str],
    whole: tuple[bytes, bytes],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    code: int,
    words: str,
) -> None:
    with monkeypatch.context() as stopped:
        before_call(stopped, *STEPS[step], lambda: signal.raise_signal(number))
        result = run(given)
    assert (result.exit_code, last_line(result)) == (code, f"excalibr: {words}. Go on with --resume.")
    assert nothing_half_written(tmp_path)
    assert run([*given, "--resume"]).exit_code == 0
    assert outputs(tmp_path) == whole


def test_a_signal_while_outputs_are_put_in_place_comes_too_late(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_call(monkeypatch, parts, "put_in_place", 2, lambda: signal.raise_signal(signal.SIGTERM))
    assert run(given).exit_code == 0
    assert outputs(tmp_path) == whole
    assert "slates.parquet.parts" not in names(tmp_path)


def test_a_system_error_of_an_interrupt_is_an_interrupt(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What compiled code makes of an exception that a signal raised in its midst."""

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        raise SystemError("returned a result with an exception set")

    before_call(monkeypatch, jobs, "_solve", 2, interrupted)
    result = run(given)
    assert (result.exit_code, last_line(result)) == (130, "excalibr: interrupted. Go on with --resume.")
    assert nothing_half_written(tmp_path)


def test_a_second_signal_does_not_wait() -> None:
    with signals.stoppable() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.code == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.code == 130


def test_signals_that_were_ignored_stay_ignored_and_handlers_come_back() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.stoppable() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert stop.signal is None
            assert signal.getsignal(signal.SIGINT) == stop.note
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGHUP, before)


def broken(number: int) -> Callable[[], None]:
    def raised() -> None:
        raise OSError(number, os.strerror(number))

    return raised


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [(lock, "_let_go", 0), (pa.ipc, "new_file", 3), (parts, "_writer", 2), (parts, "sync_file", 1)],
    ids=["the lock", "a part", "an output", "waiting for the disk"],
)
def test_a_full_disk_says_what_to_do_and_loses_nothing(
    tmp_path: Path,
    given: list[str],
    whole: tuple[bytes, bytes],
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    call: int,
) -> None:
    with monkeypatch.context() as full:
        if call:
            before_call(full, owner, name, call, broken(errno.ENOSPC))
        else:
            full.setattr(os, "ftruncate", lambda *_: broken(errno.ENOSPC)())
        result = run(given)
    assert result.exit_code == 3
    assert "No space left on device" in last_line(result)
    assert str(tmp_path) in last_line(result)
    assert last_line(result).endswith("Finished parts are kept: make room, and go on with --resume.")
    assert all(line.startswith("excalibr: ") for line in result.output.splitlines())
    assert nothing_half_written(tmp_path)
    assert run([*given, "--resume"]).exit_code == 0
    assert outputs(tmp_path) == whole


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of files as Linux does")
@pytest.mark.parametrize("shuffled", [False, True])
def test_files_that_may_not_grow_are_told_like_a_full_disk(tmp_path: Path, tables: Invented, shuffled: bool) -> None:
    (tmp_path / "slates.parquet").write_bytes(OLD)
    given = [*write(tmp_path, tables.shuffled(1) if shuffled else tables), "--threads", "1"]
    program = (
        "import resource, sys; from excalibr._cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY));"
        f"sys.argv = ['excalibr', *{given!r}]; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert "File too large" in last
    assert str(tmp_path) in last
    assert last.endswith("make room, and go on with --resume.")
    assert nothing_half_written(tmp_path)
    assert run([*given, "--resume"]).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = os.open

    def refused(path: Any, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", refused)
    result = run(given)
    assert result.exit_code == 3
    expected_line = f"excalibr: [Errno {number}] {os.strerror(number)}: '{tmp_path / 'slates.parquet.lock'}'\n"
    assert result.output == expected_line
    assert nothing_half_written(tmp_path)


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
from excalibr._cli.rerank import job, sources
job.CHUNK_ROWS = sources.BATCH_ROWS = 60
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
    monkeypatch.setattr(jobs, "Pace", lambda wanted: feed.Pace(wanted, users=1 if seconds == 0.0 else 256))
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
    monkeypatch.setattr(jobs, "Pace", lambda wanted: feed.Pace(wanted, users=1))
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
    monkeypatch.setattr(jobs, "Pace", lambda seconds: feed.Pace(seconds, users=2))
    rows = kept_rows(monkeypatch)
    assert run(given).exit_code == 0
    assert rows == [14 * 25, 14 * 25, 12 * 25]
    assert outputs(tmp_path) == whole


@pytest.mark.parametrize(("took", "then"), [(4.0, 50), (1.0, 200), (0.001, 400), (1000.0, 1)])
def test_a_step_is_as_many_users_as_take_two_seconds(took: float, then: int) -> None:
    pace = feed.Pace(2.0, users=100)
    pace.learn(100, took)
    assert pace.users == then


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


def test_errors_that_are_not_of_files_keep_their_own_way(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def failed() -> None:
        raise RuntimeError("a fault of ours")

    before_call(monkeypatch, jobs, "_solve", 1, failed)
    assert isinstance(run(given).exception, RuntimeError)
