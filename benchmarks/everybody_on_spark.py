"""Prices for 200,000 users on a local cluster of two executors, one of which is killed in the second pass.

``python -m benchmarks.everybody_on_spark [USERS]`` needs pyspark and Java. It balances invented users three times: on
one machine, on the cluster, and there with an executor killed; it fails unless all prices are the same bits.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr import Reranker
from excalibr import spark as on_spark

ITEMS, CATEGORIES, SELLERS, N, K, HISTORY = 2_003, 8, 20, 30, 10, 5
RANKING: dict[str, Any] = {"k": K, "trade_off": 0.3}
BEFORE_THE_SECOND_PASS = 4
"""Jobs of a balance until then: the users counted, looked at, the first pass; the second is under way with the next."""


def invent(users: int, seed: int = 0) -> tuple[Any, Any, Any, dict[str, float]]:
    """Candidates, items and histories of so many users, and the sellers' shares of the catalogue."""
    random = np.random.default_rng(seed)
    sizes = random.lognormal(0.0, 1.0, SELLERS)
    seller = random.choice(SELLERS, ITEMS, p=sizes / sizes.sum())
    labels = np.array([f"s{number:02d}" for number in range(SELLERS)])
    categories = np.array([f"c{number}" for number in random.integers(0, CATEGORIES, ITEMS)])
    items = pa.table({"item_id": np.arange(ITEMS), "category": categories, "seller": labels[seller]})
    first, stride = random.integers(0, ITEMS, (users, 1)), random.integers(1, ITEMS, (users, 1))
    chosen = (first + stride * np.arange(N)) % ITEMS  # all different, for the number of items is prime
    scores = random.normal(0.5, 0.15, ITEMS)[chosen] + 0.1 * random.random((users, N))
    ids = np.arange(users)
    candidates = pa.table({"user_id": np.repeat(ids, N), "item_id": chosen.ravel(), "score": scores.ravel()})
    seen = random.integers(0, ITEMS, users * HISTORY)
    history = pa.table({"user_id": np.repeat(ids, HISTORY), "item_id": seen})
    shares = np.bincount(seller, minlength=SELLERS) / ITEMS
    return candidates, items, history, dict(zip(labels.tolist(), shares.tolist(), strict=True))


def session() -> Any:
    """Two executors, each a process of its own with a gigabyte."""
    import pyspark
    from pyspark.sql import SparkSession

    root = Path(__file__).parent.parent
    path = os.pathsep.join([str(root / "src"), str(root)])
    os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    os.environ["PYTHONPATH"] = path
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("everybody")
    settings = {
        "spark.executorEnv.PYTHONPATH": path,
        "spark.sql.shuffle.partitions": "16",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def executors(started: Any) -> list[int]:
    """The processes of this session's executors, and no others."""
    wanted = started.sparkContext.applicationId.encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and wanted in command:
                    found.append(int(folder.name))
    return sorted(found)


def balance_with_a_kill(started: Any, work: Any) -> tuple[Any, int]:
    """What ``work`` returns, and which executor was killed while its second pass was under way."""
    found: list[Any] = []
    jobs: set[int] = set()
    tracker = started.sparkContext.statusTracker()
    job = threading.Thread(target=lambda: found.append(work()))
    job.start()
    while job.is_alive() and len(jobs) <= BEFORE_THE_SECOND_PASS:
        jobs |= set(tracker.getActiveJobsIds())
        job.join(0.02)
    job.join(1.0)  # some way into the pass
    victim = executors(started)[0]
    os.kill(victim, signal.SIGKILL)
    print(f"killed executor {victim} in job {max(jobs)}, {len(jobs)} jobs seen", flush=True)
    job.join()
    return found[0], victim


def main(users: int = 200_000) -> None:
    """Three balances, and an error unless they agree."""
    candidates, items, history, wanted = invent(users)
    asked: dict[str, Any] = {"everyone": {"seller": wanted}, "everyone_weights": {"seller": 0.3}}
    began = time.perf_counter()
    local = Reranker(**RANKING, threads=1).balance(candidates, items, history=history, **asked)
    print(f"one machine: {local!r}, {time.perf_counter() - began:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("candidates", candidates), ("history", history)):
            pq.write_table(table, f"{folder}/{name}.parquet")
        started = session()

        def balance() -> Any:
            frames = [started.read.parquet(f"{folder}/{name}.parquet") for name in ("candidates", "history")]
            return on_spark.balance(frames[0], items, history=frames[1], **RANKING, **asked)

        began = time.perf_counter()
        whole = balance()
        print(f"on the cluster: {time.perf_counter() - began:.0f} s", flush=True)
        killed, _ = balance_with_a_kill(started, balance)
        started.stop()
    same = [found.table.equals(local.table) and found.bound == local.bound for found in (whole, killed)]
    print(f"same prices as on one machine: {same[0]}; with an executor killed: {same[1]}")
    if not all(same):
        raise SystemExit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
