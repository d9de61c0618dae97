"""A million users on the command line: memory, a pass beside ``rerank``, and a run that is killed and resumed.

``python -m benchmarks.everybody_in_files FOLDER [USERS]`` makes the files in FOLDER once (1.3 GB for a million users
with 100 candidates each), then runs ``excalibr balance`` of two passes, again with SIGKILL in its second pass and
``--resume``, and ``excalibr rerank`` of the same file, each on one thread. Times are processor time, so that it may run
beside other work. It fails unless the prices are the same, bit for bit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.everybody_shop import Shop

SHOP = Shop(n_items=20_011, categories=20, sellers=100, n=100)
TOGETHER = 20_000
"""Users that are invented at a time."""
PASSES = 2
TICKS = os.sysconf("SC_CLK_TCK")


def make_files(folder: Path, users: int) -> None:
    """The tables of so many users, unless they are there."""
    if (folder / "targets.csv").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(SHOP.items, folder / "items.parquet")
    tables = [*SHOP.users(0, 1)]
    names = ("candidates", "history")
    writers = [
        pq.ParquetWriter(folder / f"{name}.parquet", own.schema) for name, own in zip(names, tables, strict=True)
    ]
    for first in range(0, users, TOGETHER):
        for writer, table in zip(writers, SHOP.users(first, min(first + TOGETHER, users)), strict=True):
            writer.write_table(table)
    for writer in writers:
        writer.close()
    shares = pa.table({"category": list(SHOP.wanted), "weight": list(SHOP.wanted.values())})
    pa.csv.write_csv(shares, folder / "targets.csv")


@dataclass
class Run:
    """What a command took: processor seconds, those at the end of each pass, and its largest memory."""

    seconds: float = 0.0
    at_passes: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    code: int = 0

    def passes(self) -> list[float]:
        """Processor seconds of each pass but the first, which has the reading and the sample before it."""
        return [later - earlier for earlier, later in zip(self.at_passes, self.at_passes[1:], strict=False)]


def run(folder: Path, command: str, *options: str, kill_in_second_pass: bool = False) -> Run:
    """A command of ours on the files, followed pass by pass, killed some way into the second if asked."""
    tables = ["--items", str(folder / "items.parquet"), "--history", str(folder / "history.parquet")]
    ranking = ["-k", "10", "--trade-off", "0.3", "--threads", "1"]
    words = [command, str(folder / "candidates.parquet"), *tables, *ranking, *options]
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "excalibr"), *words], stderr=subprocess.PIPE, text=True
    )
    taken = Run()
    for line in _lines(process):
        print(f"  {line}", flush=True)
        if ": pass " in line:
            taken.at_passes.append(_processor_seconds(process.pid))
            if kill_in_second_pass:
                _wait_for(process.pid, 1.05 * taken.at_passes[0])
                process.send_signal(signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = taken.code = os.waitstatus_to_exitcode(status)
    taken.seconds, taken.megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return taken


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stderr is not None
    return (line.rstrip() for line in process.stderr)


def _processor_seconds(pid: int) -> float:
    """Of a process under way, all its threads; of one that has ended, without an end."""
    state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return float("inf") if state == "Z" else (int(fields[10]) + int(fields[11])) / TICKS


def _wait_for(pid: int, seconds: float) -> None:
    """Until the process has had so much processor time."""
    while _processor_seconds(pid) < seconds:
        time.sleep(0.05)


def balance(folder: Path, out: Path, *options: str, kill_in_second_pass: bool = False) -> Run:
    """A balance of so few passes that it can be waited for."""
    asked = ("--everyone", f"seller={folder / 'targets.csv'}", "--everyone-weights", "seller=0.3")
    limits = ("--max-passes", str(PASSES), "--everyone-tolerance", "1e-9", "-o", str(out))
    return run(folder, "balance", *asked, *limits, *options, kill_in_second_pass=kill_in_second_pass)


def main(folder: str, users: int = 1_000_000) -> None:
    """Everything; an error unless the killed run ends as the other."""
    where = Path(folder)
    make_files(where, users)
    whole = balance(where, where / "whole.parquet")
    killed = balance(where, where / "killed.parquet", kill_in_second_pass=True)
    resumed = balance(where, where / "killed.parquet", "--resume")
    plain = run(where, "rerank", "-o", str(where / "slates.parquet"))
    same = pq.read_table(where / "whole.parquet").equals(pq.read_table(where / "killed.parquet"))
    one = sum(whole.passes()) / len(whole.passes())
    print(f"{users:,} users: a pass {one:.1f} s, rerank {plain.seconds:.1f} s, {one / plain.seconds:.2f} of it")
    print(f"memory: balance {whole.megabytes:.0f} MB, rerank {plain.megabytes:.0f} MB")
    print(
        f"killed with {killed.code} after pass {len(killed.at_passes)}, resumed with {resumed.code} "
        f"in {resumed.seconds:.0f} s; same prices: {same}"
    )
    in_second_pass = killed.code == -signal.SIGKILL and len(killed.at_passes) == 1
    if not (same and in_second_pass and resumed.code == 0):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
