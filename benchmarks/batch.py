"""Measure ``excalibr rerank`` on many users: users a second, what is not the kernel, peak memory, threads.

``python -m benchmarks.batch [--users 200000] [--folder FOLDER]``. The tables are made from a seed, part by part.
Every measured run is a process of its own. Nothing from a busy machine is worth quoting.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr._many_users import solve_users
from excalibr._options import Options
from excalibr._problem import Batch

ROOT = Path(__file__).parent.parent
SEED = 2024
CANDIDATES, SLOTS, CATEGORIES, ITEMS, HISTORY = 150, 100, 20, 20_000, 60
PART = 2_000


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--users", type=int, default=200_000, help="users (200000); the memory is compared with twice them"
    )
    parser.add_argument(
        "--kernel-users", type=int, default=2_000, help="users that the kernel alone is measured on (2000)"
    )
    parser.add_argument("--folder", type=Path, help="where the tables go; a temporary folder when left out")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        (one, kernel), (two, _) = (kernel_seconds(asked.kernel_users, threads) for threads in (1, 2))
        kernel *= 1e3 / asked.kernel_users
        print(
            f"kernel: {kernel:.3f} ms a user on one thread, two threads are {one / two:.2f} times as fast", flush=True
        )
        peaks = []
        for users in (asked.users, 2 * asked.users):
            make_tables(Path(folder), users)
            used = measured_run(Path(folder))
            peaks.append(used["peak"])
            print(
                f"{users:,} users, 2 threads: {users / used['seconds']:,.0f} users a second; processor time in the "
                f"kernel {1e3 * used['kernel'] / users:.3f} ms a user, beside it "
                f"{1e3 * (used['processor'] - used['kernel']) / users:.3f}; peak {used['peak'] / 1e6:,.0f} MB",
                flush=True,
            )
        print(f"memory for twice the users: {peaks[1] / peaks[0] - 1:+.1%}")


def kernel_seconds(users: int, threads: int) -> tuple[float, float]:
    """Wall and processor seconds of the solver alone, on users like those of the tables."""
    batch = arrays(users)
    started, used = time.perf_counter(), time.process_time()
    for _ in solve_users(batch, lambda lotteries: None, threads=threads):
        pass
    return time.perf_counter() - started, time.process_time() - used


def arrays(users: int) -> Batch:
    random = np.random.default_rng(SEED)
    rows, popularity = catalogue(random)
    taken = np.concatenate([candidates_of(random, popularity) for _ in range(users)])
    starts = np.arange(0, len(taken) + 1, CANDIDATES)
    history = random.choice(ITEMS, (users, HISTORY), p=popularity)
    wanted = rows[history].mean(axis=1)
    options = Options(k=SLOTS, trade_off=0.5)
    return Batch.of(random.random(len(taken)), starts, rows, wanted, items=taken, options=options)


def catalogue(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Items with one to three categories, some of them much more common, and the items' popularity."""
    common = 1.0 / np.arange(1, CATEGORIES + 1)
    rows = np.zeros((ITEMS, CATEGORIES))
    for row in rows:
        chosen = random.choice(CATEGORIES, random.integers(1, 4), replace=False, p=common / common.sum())
        row[chosen] = 1.0 / len(chosen)
    popularity = (10.0 + np.arange(ITEMS)) ** -0.8
    return rows, popularity / popularity.sum()


def candidates_of(random: np.random.Generator, popularity: np.ndarray) -> np.ndarray:
    """Different items, the popular ones more often."""
    races = random.exponential(size=ITEMS) / popularity
    return np.argpartition(races, CANDIDATES)[:CANDIDATES]


def make_tables(folder: Path, users: int) -> None:
    random = np.random.default_rng(SEED)
    rows, popularity = catalogue(random)
    genres = ["|".join(f"genre {category:02d}" for category in np.flatnonzero(row)) for row in rows]
    pq.write_table(pa.table({"item_id": np.arange(ITEMS), "genres": genres}), folder / "items.parquet")
    schemas = {
        "candidates": pa.schema([("user_id", pa.int64()), ("item_id", pa.int64()), ("score", pa.float64())]),
        "history": pa.schema([("user_id", pa.int64()), ("item_id", pa.int64())]),
    }
    writers = {name: pq.ParquetWriter(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
    for first in range(0, users, PART):
        ids = np.arange(first, min(first + PART, users))
        items = np.concatenate([candidates_of(random, popularity) for _ in ids])
        columns = [np.repeat(ids, CANDIDATES), items, random.random(len(items))]
        writers["candidates"].write_table(pa.table(columns, schema=schemas["candidates"]))
        seen = random.choice(ITEMS, len(ids) * HISTORY, p=popularity)
        writers["history"].write_table(pa.table([np.repeat(ids, HISTORY), seen], schema=schemas["history"]))
    for writer in writers.values():
        writer.close()


def measured_run(folder: Path, threads: int = 2) -> dict[str, float]:
    """Wall seconds, processor seconds, those of them in the kernel, and peak bytes of one run of the command."""
    arguments = [
        "rerank",
        str(folder.resolve() / "candidates.parquet"),
        "--items",
        str(folder.resolve() / "items.parquet"),
    ]
    arguments += ["--history", str(folder.resolve() / "history.parquet"), "--category", "genres", "--separator", "|"]
    arguments += [
        "-k",
        str(SLOTS),
        "--trade-off",
        "0.5",
        "--threads",
        str(threads),
        "-o",
        str(folder.resolve() / "slates.parquet"),
    ]
    started = time.perf_counter()
    command = [sys.executable, "-c", _child(arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, **json.loads(done.stdout.splitlines()[-1])}


def _child(arguments: list[str]) -> str:
    """A program that runs the command with a clock around the kernel, and prints what it used."""
    return CHILD.replace("ARGUMENTS", repr(arguments))


CHILD = """
import json, time
import excalibr
from benchmarks.workers.clocks import entries_clocked
from benchmarks.workers.first_answer import peak
from excalibr._cli.application import application

excalibr.calibrate_batch([0.5, 0.4], [0, 2], [[1.0], [1.0]], [1.0], k=1, threads=1)  # so that all modules are loaded
with entries_clocked() as kernel:
    application(ARGUMENTS, standalone_mode=False)
print(json.dumps({"processor": time.process_time(), "kernel": kernel(), "peak": 1024**2 * peak()}))
"""


if __name__ == "__main__":
    main()
