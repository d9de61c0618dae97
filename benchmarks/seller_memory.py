"""Sellers as categories, far more of them than any user's candidates have: the memory that many users take.

``python -m benchmarks.seller_memory [--users 10000] [--sellers 1000000] [--ways reranker command spark]``. The tables
are made from a seed, and every measured run is a process of its own, twice: with the 20 genres of the items as
categories, and with their sellers. ``spark`` needs pyspark and Java.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import excalibr

SEED = 2031
CANDIDATES, SLOTS, HISTORY, GENRES = 150, 20, 50, 20
POPULAR, ITEMS_OF_POPULAR = 5_000, 100
"""So many sellers have a hundred items more than the one that everybody has."""
OWN_POPULAR, ITEMS_OF_EACH = 25, 4
"""Of so many of them a user's candidates have so many items each; the others are of sellers with one item."""
OF_OWN = 35
"""Items of a history that are of the user's popular sellers."""

WAYS = ("reranker", "command", "spark")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--sellers", type=int, default=1_000_000)
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--folder", type=Path, help="where the tables go; a temporary folder when left out")
    parser.add_argument("--run", nargs=2, metavar=("WAY", "CATEGORY"), help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.run:
        RUNS[asked.run[0]](asked.folder, asked.run[1])
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        make_tables(Path(folder), asked.users, asked.sellers)
        for way in asked.ways:
            print(compared(Path(folder), way), flush=True)


def make_tables(folder: Path, users: int, sellers: int) -> None:
    """Candidates, items with a genre and a seller, and histories."""
    random = np.random.default_rng(SEED)
    popular = min(POPULAR, sellers)
    of_item = np.concatenate([np.arange(sellers), np.repeat(np.arange(popular), ITEMS_OF_POPULAR)])
    names = pa.array(np.char.add("seller ", np.arange(sellers).astype(str)))
    genres = pa.array([f"genre {number}" for number in range(GENRES)])
    items = {
        "item_id": np.arange(len(of_item)),
        "genre": genres.take(pa.array(random.integers(0, GENRES, len(of_item)))),
        "seller": names.take(pa.array(of_item)),
    }
    pq.write_table(pa.table(items), folder / "items.parquet")
    own = random.integers(0, popular, (users, OWN_POPULAR))

    def of_popular(count: int) -> Any:
        places = random.integers(0, ITEMS_OF_POPULAR, (users, count))
        return sellers + own[:, np.arange(count) % OWN_POPULAR] * ITEMS_OF_POPULAR + places

    others = CANDIDATES - OWN_POPULAR * ITEMS_OF_EACH
    shown = np.hstack([of_popular(OWN_POPULAR * ITEMS_OF_EACH), random.integers(0, sellers, (users, others))])
    past = np.hstack([of_popular(OF_OWN), random.integers(0, sellers, (users, HISTORY - OF_OWN))])
    for name, chosen in (("candidates", shown), ("history", past)):
        table = {"user_id": np.repeat(np.arange(users), chosen.shape[1]), "item_id": chosen.ravel()}
        if name == "candidates":
            table["score"] = random.random(chosen.size)
        pq.write_table(pa.table(table), folder / f"{name}.parquet")


def compared(folder: Path, way: str) -> str:
    """The peak memory of one way with genres and with sellers."""
    genres, sellers = (measured(folder, way, category) for category in ("genre", "seller"))
    parts = ", ".join(f"{name} {genres['MB'][name]:,.0f} and {sellers['MB'][name]:,.0f}" for name in genres["MB"])
    total = [sum(each["MB"].values()) for each in (genres, sellers)]
    seconds = f"{genres['seconds']:.0f} and {sellers['seconds']:.0f} s"
    return f"{way}: {total[1] / total[0]:.2f} times the memory of genres with sellers (MB: {parts}; {seconds})"


def measured(folder: Path, way: str, category: str) -> dict[str, Any]:
    """Seconds and, by kind of process, the peaks of a run in processes of its own."""
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.seller_memory",
        "--folder",
        str(folder),
        "--run",
        way,
        category,
    ]
    began = time.perf_counter()
    with subprocess.Popen(words, cwd=Path(__file__).parent.parent) as process:
        peaks: dict[int, tuple[str, float]] = {}
        watched = threading.Thread(target=_watch, args=(process, peaks))
        watched.start()
        code = process.wait()
        watched.join()
    if code:
        raise SystemExit(code)
    megabytes: dict[str, float] = {}
    for kind, peak in peaks.values():
        megabytes[kind] = megabytes.get(kind, 0.0) + peak
    return {"seconds": time.perf_counter() - began, "MB": megabytes}


def _watch(process: subprocess.Popen[bytes], peaks: dict[int, tuple[str, float]]) -> None:
    """Keep the peak of a process and of all that come from it, until it ends."""
    while process.poll() is None:
        for pid in _descendants(process.pid):
            with suppress(OSError, StopIteration):
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
                name = next(line.split()[1] for line in status if line.startswith("Name:"))
                peak = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
                peaks[pid] = ("java" if name == "java" else "python", int(peak) / 1024)
        time.sleep(0.05)


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="utf-8").split())
    return found


def _by_reranker(folder: Path, category: str) -> None:
    candidates, items, history = (pq.read_table(folder / f"{name}.parquet") for name in TABLES)
    excalibr.Reranker(k=SLOTS).rerank(candidates, items, history=history, category=category)


def _by_command(folder: Path, category: str) -> None:
    candidates, items, history = (str(folder / f"{name}.parquet") for name in TABLES)
    words = ["rerank", candidates, "--items", items, "--history", history, "--category", category, "-k", str(SLOTS)]
    command = str(Path(sys.executable).parent / "excalibr")
    os.execv(command, [command, *words, "-o", str(folder / f"slates-{category}.parquet")])


def _on_spark(folder: Path, category: str) -> None:
    from pyspark.sql import SparkSession

    from excalibr import spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    candidates, history = (session.read.parquet(str(folder / f"{name}.parquet")) for name in ("candidates", "history"))
    slates = spark.rerank(
        candidates, pq.read_table(folder / "items.parquet"), history=history, category=category, k=SLOTS
    )
    slates.write.mode("overwrite").parquet(str(folder / f"spark-{category}"))


TABLES = ("candidates", "items", "history")
RUNS: dict[str, Callable[[Path, str], None]] = {
    "reranker": _by_reranker,
    "command": _by_command,
    "spark": _on_spark,
}


if __name__ == "__main__":
    main()
