"""``excalibr experiment`` killed at random moments and started again: the same results as a run that nobody stopped.

Run by hand, it takes minutes: ``python -m tests.kills_experiment --moments 10``. Each moment has a folder of its own;
the signal is SIGKILL, which nothing can handle, and reaches the command alone: its worker processes have to notice.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.experiments.invented import movielens_folder

SMALL = [
    *("--users", "12", "--sample", "4", "--mip-users", "4", "--timed-users", "0", "--points", "6", "--threads", "2"),
    *("--settings", "20/10", "--settings", "10/10", "--weightings", "log", "--weightings", "sqrt"),
]


def main() -> None:
    """Try so many moments and print what came of them; the exit code says whether all was well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    draw, faults = random.Random(asked.seed), list[str]()
    with tempfile.TemporaryDirectory() as place:
        data, folder = movielens_folder(Path(place)), Path(place, "out")
        started = time.monotonic()
        _end(_start(data, folder))
        seconds, whole = time.monotonic() - started, _files(folder)
        print(f"a run that nobody stops takes {seconds:.1f} s and leaves {len(whole)} files")
        for number in range(asked.moments):
            shutil.rmtree(folder)
            after = draw.uniform(0.0, 1.05) * seconds
            kept, left = _kill(data, folder, after)
            _end(_start(data, folder))
            faults += [f"killed after {after:.1f} s: {fault}" for fault in (*left, *_differences(folder, whole))]
            print(f"{number + 1:3d} killed after {after:5.1f} s with {kept:2d} parts: {len(faults)} faults", flush=True)
    print("\n".join(faults) or "the same results every time")
    raise SystemExit(bool(faults))


def _start(data: Path, folder: Path) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from excalibr._cli import main; main()"]
    command = [*program, "experiment", "--data", str(data), "--out", str(folder), *SMALL]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _end(process: subprocess.Popen[str]) -> None:
    _, printed = process.communicate()
    assert process.returncode == 0, printed


def _kill(data: Path, folder: Path, after: float) -> tuple[int, list[str]]:
    """How many parts were finished, and workers that did not notice."""
    process = _start(data, folder)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = len(list((folder / "parts").glob("[!.]*.parquet")))
    return kept, ["workers live on"] if _lives(process.pid) else []


def _lives(group: int) -> bool:
    """Whether a process of the group, which is the command's own, is still there ten seconds later."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def _files(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves, but the prepared data, whose zip has the time in it."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "prepared.npz"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _differences(folder: Path, whole: dict[str, bytes]) -> list[str]:
    found = _files(folder)
    names = sorted(found.keys() ^ whole.keys())
    differ = sorted(name for name in found.keys() & whole.keys() if found[name] != whole[name])
    return [*(f"{name} is in one only" for name in names), *(f"{name} differs" for name in differ)]


if __name__ == "__main__":
    main()
