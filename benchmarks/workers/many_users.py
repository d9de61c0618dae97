"""Many users: ``python -m benchmarks.workers.many_users FILE.npz``, with the arrays of :mod:`benchmarks.users`.

Prints, by option of :class:`excalibr.Reranker` on one thread, users a second and the part of the processor's time that
the kernel had; and users a second of ``calibrate_batch`` on one thread and on two.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np

import excalibr
from benchmarks.workers.clocks import entries_clocked

__all__ = ["OPTIONS", "by_threads", "main", "reranked"]

SLOTS, FEW, THREADS = 100, 3, (1, 2, 2, 1)

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "KL": {"divergence": "kl"},
    "floors": {"floors": {"genre 00": 0.1, "genre 03": 0.05}},
    "two attributes": {"category": ["genres", "decade"]},
    "pins": {"pinned": True},
}


def main(arguments: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    with np.load(arguments[0]) as stored:
        arrays = dict(stored)
    found = {"reranked": {name: reranked(arrays, options) for name, options in OPTIONS.items()}}
    print(json.dumps({**found, "threads": by_threads(arrays)}))


def reranked(arrays: dict[str, Any], options: dict[str, Any]) -> dict[str, float]:
    """Users a second through ``Reranker``, and the part of the time in the kernel."""
    warm_up, asked, users = _question(arrays, options, FEW), _question(arrays, options), len(arrays["candidates"])
    warm_up()
    with entries_clocked() as kernel:
        started, used = perf_counter(), process_time()
        asked()
        used, seconds = process_time() - used, perf_counter() - started
    return {"users": users / seconds, "share": kernel() / used}


def by_threads(arrays: dict[str, Any]) -> dict[int, list[float]]:
    """Users a second through ``calibrate_batch``, by threads."""
    users, n = arrays["batch_scores"].shape
    rates: dict[int, list[float]] = {threads: [] for threads in THREADS}
    batch = arrays["batch_scores"].ravel(), np.arange(0, users * n + 1, n), arrays["genres"], arrays["batch_targets"]
    asked: dict[str, Any] = {"items": arrays["batch_items"].ravel(), "k": SLOTS}
    excalibr.calibrate_batch(batch[0][:n], [0, n], batch[2], batch[3][0], items=asked["items"][:n], k=SLOTS, threads=1)
    for threads in THREADS:
        started = perf_counter()
        excalibr.calibrate_batch(*batch, **asked, threads=threads)
        rates[threads].append(users / (perf_counter() - started))
    return rates


def _question(arrays: dict[str, Any], options: dict[str, Any], users: int | None = None) -> Callable[[], Any]:
    """A call of ``rerank`` with its tables made."""
    import pyarrow as pa

    chosen, history = arrays["candidates"][:users], arrays["history"][:users]
    ids = np.arange(len(chosen))
    owners, scores = np.repeat(ids, chosen.shape[1]), arrays["scores"][:users]
    candidates = pa.table({"user_id": owners, "item_id": chosen.ravel(), "score": scores.ravel()})
    seen = pa.table({"user_id": np.repeat(ids, history.shape[1]), "item_id": history.ravel()})
    names = [[f"genre {category:02d}" for category in np.flatnonzero(row)] for row in arrays["genres"]]
    decades = [[str(decade)] for decade in arrays["decades"].tolist()]
    items = pa.table({"item_id": np.arange(len(names)), "genres": names, "decade": decades})
    asked = dict(options)
    tables: dict[str, Any] = {"history": seen, "category": asked.pop("category", "genres")}
    if asked.pop("pinned", False):
        tables["pinned"] = pa.table({"user_id": ids, "rank": np.full(len(ids), 2), "item_id": chosen[:, 0]})
    reranker = excalibr.Reranker(k=SLOTS, threads=1, **asked)
    return lambda: reranker.rerank(candidates, items, **tables)


if __name__ == "__main__":
    main(sys.argv[1:])
