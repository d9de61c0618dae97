"""Prices for 200,000 users on a local cluster of two executors, one of which is killed in the second pass.

``python -m benchmarks.everybody_on_spark [USERS]`` needs pyspark and Java. It balances invented users three times: on
one machine, on the cluster, and there with an executor killed; it fails unless all prices are the same bits.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

import pyarrow.parquet as pq

from benchmarks.everybody_shop import Shop
from excalibr import Reranker
from excalibr import spark as on_spark
from tests.cluster import cluster, with_a_kill

SHOP = Shop(n_items=2_003, categories=8, sellers=20, n=30)
RANKING: dict[str, Any] = {"k": 10, "trade_off": 0.3}
ASKED: dict[str, Any] = {"everyone_weights": {"seller": 0.3}, "max_passes": 3, "everyone_tolerance": 1e-9}
"""Three passes, whatever they prove."""
SETTINGS = {"spark.sql.shuffle.partitions": 16, "spark.sql.adaptive.enabled": "false"}


def main(users: int = 200_000) -> None:
    """Three balances, and an error unless they agree and the kill was in time."""
    items, (candidates, history) = SHOP.items, SHOP.users(0, users)
    asked = ASKED | {"everyone": {"seller": SHOP.wanted}}
    began = time.perf_counter()
    local = Reranker(**RANKING, threads=1).balance(candidates, items, history=history, **asked)
    print(f"one machine: {local!r}, {time.perf_counter() - began:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder, cluster(SETTINGS) as session:
        frames = [_stored(session, table, f"{folder}/{number}") for number, table in enumerate((candidates, history))]
        jobs = session.sparkContext.statusTracker().getJobIdsForGroup

        def balance() -> Any:
            return on_spark.balance(frames[0], items, history=frames[1], **RANKING, **asked)

        began, before = time.perf_counter(), len(jobs(None))
        whole = balance()
        taken = len(jobs(None)) - before  # the last four: three passes, and one without prices
        print(f"on the cluster: {time.perf_counter() - began:.0f} s, {taken} jobs", flush=True)
        killed = with_a_kill(session, balance, job=taken - 2, pause=1.0)
        print(f"killed executor {killed.executor} in job {killed.job}, under way: {killed.under_way}", flush=True)
    same = [found.table.equals(local.table) and found.bound == local.bound for found in (whole, killed.answer)]
    print(f"same prices as on one machine: {same[0]}; with an executor killed: {same[1]}")
    if not (all(same) and killed.under_way):
        raise SystemExit(1)


def _stored(session: Any, table: Any, path: str) -> Any:
    """A table as a frame that is read from a file."""
    pq.write_table(table, path)
    return session.read.parquet(path)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
