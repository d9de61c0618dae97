"""Full disks, folders that cannot be written, other errors: told in a line, nothing lost or half-written."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr._cli import lock
from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank import parts
from tests.cli.reranking import (
    OLD,
    before_call,
    expected,
    last_line,
    nothing_half_written,
    outputs,
    run,
    write,
)
from tests.tables.invented import Invented

pytestmark = pytest.mark.usefixtures("small_chunks")


def broken(number: int) -> Callable[[], None]:
    def raised() -> None:
        raise OSError(number, os.strerror(number))

    return raised


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [(lock, "_release", 0), (pa.ipc, "new_file", 3), (parts, "_regrouped", 2), (parts, "sync_file", 1)],
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


def test_errors_that_are_not_of_files_keep_their_own_way(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def failed() -> None:
        raise RuntimeError("a fault of ours")

    before_call(monkeypatch, jobs, "_solve", 1, failed)
    assert isinstance(run(given).exception, RuntimeError)
