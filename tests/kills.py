"""Stop ``excalibr rerank`` at random moments, go on with ``--resume``, and see that nothing is lost or half-written.

    python -m tests.kills --moments 30 --seed 7

Each moment is a process of its own that gets SIGKILL, SIGTERM or SIGINT after a random time, three of four times
counted from when its work begins. After it, an output must be the old one or the new one, to the byte; what a signal
that can be handled leaves must be nothing but finished parts; and with ``--resume`` the outputs must be those of a run
that nobody stopped. Run by hand: it takes minutes.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.reranking import names, write
from tests.tables.invented import invented_tables

OLD = b"the output of the day before"
OUTPUTS = ("slates.parquet", "report.csv")
INPUTS = {"candidates.parquet", "items.parquet", "history.parquet"}

PROGRAM = """
import sys
from excalibr._cli import main
from excalibr._cli.rerank import job, parts
from excalibr.tables import _sources
job.CHUNK_ROWS = _sources.BATCH_ROWS = 500
parts.GROUP_ROWS = 1000
sys.argv = ["excalibr", *{arguments!r}]
main()
"""


@dataclass
class Found:
    """What came of all moments."""

    ends: Counter[str] = field(default_factory=Counter)
    kept: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def main() -> None:
    """Try so many moments and print what came of them; the exit code says whether all was well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    draw, found = random.Random(asked.seed), Found()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        given = [*write(folder, invented_tables(users=asked.users)), "--report", str(folder / OUTPUTS[1])]
        loading, working = _time(given, folder)
        whole = [(folder / name).read_bytes() for name in OUTPUTS]
        print(f"a run that nobody stops takes {loading:.1f} s to load and {working:.1f} s to work")
        signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
        for number in range(asked.moments):
            stop = signals[number % len(signals)]
            threads, at_work = draw.choice(["1", "2"]), draw.random() < 0.75
            seconds = draw.uniform(0.0, 1.05) * (working if at_work else loading)
            _try([*given, "--threads", threads], folder, whole, stop, seconds, at_work, found)
            print(f"{number + 1:3d} {stop.name}, {threads} threads: {len(found.faults)} faults so far", flush=True)
    print(f"ends: {dict(found.ends)}")
    print(f"finished parts when stopped: {sorted(found.kept)}")
    print("\n".join(found.faults) or "nothing lost, nothing half-written")
    raise SystemExit(bool(found.faults))


def _time(given: list[str], folder: Path) -> tuple[float, float]:
    """Seconds until a run begins to work, and from there to its end."""
    start = time.monotonic()
    process = _start(given)
    _wait_for_work(process, folder)
    begun = time.monotonic()
    _, printed = process.communicate()
    assert process.returncode == 0, printed
    return begun - start, time.monotonic() - begun


def _wait_for_work(process: subprocess.Popen[str], folder: Path) -> None:
    while process.poll() is None and not (folder / "slates.parquet.parts" / "run.json").exists():
        time.sleep(0.01)


def _run(given: list[str], *more: str) -> None:
    process = _start([*given, *more])
    _, printed = process.communicate()
    assert process.returncode == 0, printed


def _start(given: list[str]) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", PROGRAM.format(arguments=given)]
    return subprocess.Popen(program, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_interrupts)


def _heed_interrupts() -> None:
    """A shell has its background jobs ignore SIGINT, and their children inherit that: here it is to be tried."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _try(
    given: list[str],
    folder: Path,
    whole: list[bytes],
    stop: signal.Signals,
    seconds: float,
    at_work: bool,
    found: Found,
) -> None:
    for name in OUTPUTS:
        (folder / name).write_bytes(OLD)
    process = _start(given)
    if at_work:
        _wait_for_work(process, folder)
    try:
        _, printed = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(stop)
        _, printed = process.communicate()
    found.ends[f"{stop.name} {process.returncode}{' as Python started' if _is_too_early(printed) else ''}"] += 1
    found.kept.append(len(list((folder / "slates.parquet.parts").glob("part-*.json"))))
    said = f"{stop.name} after {seconds:.2f} s, exit {process.returncode}"
    found.faults += [f"{said}: {fault}" for fault in _faults(folder, whole, stop, process.returncode, printed)]
    _run(given, "--resume")
    if [(folder / name).read_bytes() for name in OUTPUTS] != whole:
        found.faults.append(f"{said}: the outputs of --resume differ")
    if set(names(folder)) != {*INPUTS, *OUTPUTS}:
        found.faults.append(f"{said}: left behind {names(folder)}")


def _faults(folder: Path, whole: list[bytes], stop: signal.Signals, code: int, printed: str) -> list[str]:
    """What must not be, right after the stop."""
    faults = []
    for name, content in zip(OUTPUTS, whole, strict=True):
        if (folder / name).read_bytes() not in (OLD, content):
            faults.append(f"{name} is neither the old nor the new one")
    if code == 0 or stop == signal.SIGKILL:
        return faults
    if code not in (128 + stop, -stop) and not _is_too_early(printed):
        faults.append(f"the exit code is neither the signal's nor 0: {printed}")
    if code == 128 + stop and not printed.strip().endswith("Go on with --resume.") and "interrupted" not in printed:
        faults.append(f"it said {printed!r}")
    if not set(names(folder)) <= {*INPUTS, *OUTPUTS, "slates.parquet.parts"}:
        faults.append(f"left behind {names(folder)}")
    return faults


def _is_too_early(printed: str) -> bool:
    """Whether Python itself was still starting, before any code of ours; it ends with a code of its own then."""
    return "Fatal Python error: init_import_site" in printed


if __name__ == "__main__":
    main()
