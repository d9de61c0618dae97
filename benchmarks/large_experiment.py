"""The experiment's stages at MovieLens 20M's size, on an invented set: time, processor time and memory of each.

``python -m benchmarks.large_experiment FOLDER`` makes the set in FOLDER (138,493 users, 26,744 items, 20 million
ratings) where it is not there yet, loads it, fits EASE once on all processors, takes the candidates of the test users
and re-ranks them by every attribute. It prints what ``docs/experiment-elsewhere.md`` holds.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np

from benchmarks.strange_sets import write_large
from excalibr import calibrate_batch, targets
from excalibr._experiments import Plan, Source, movielens_source
from excalibr._experiments.study import split_for
from excalibr._sparse import SparseRows
from excalibr.datasets import Attribute, Split
from excalibr.models import EASE, TopItems, gram_matrix

REGULARISATION, CANDIDATES, SLOTS, TRADE_OFF = 500.0, 150, 10, 0.1
Found = TypeVar("Found")


@dataclass(frozen=True)
class Stage:
    """What a stage took; ``gigabytes`` is the most that the process held while it ran."""

    name: str
    seconds: float
    processor: float
    gigabytes: float


class Stages:
    """Stages one after another, each watched while it runs."""

    def __init__(self) -> None:
        self.done: list[Stage] = []

    def run(self, name: str, action: Callable[[], Found]) -> Found:
        """Do it, and print what it took."""
        ended, peak = threading.Event(), [_resident()]

        def watch() -> None:
            while not ended.wait(0.05):
                peak[0] = max(peak[0], _resident())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        wall, processor = perf_counter(), process_time()
        found = action()
        stage = Stage(name, perf_counter() - wall, process_time() - processor, 0.0)
        ended.set()
        thread.join()
        self.done.append(Stage(name, stage.seconds, stage.processor, max(peak[0], _resident())))
        print(self.done[-1], flush=True)
        return found


def main() -> None:
    """Measure and print the page's table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--users", type=int, default=10_000)
    asked = parser.parse_args()
    data = asked.folder / "like-ml-20m"
    if not (data / "items.parquet").is_file():
        write_large(asked.folder)
    stages = Stages()
    source = stages.run("load: ratings, positives, attributes", lambda: _loaded(data))
    split = stages.run("split the users", lambda: split_for(source, Plan(users=asked.users)))
    model = _fitted(stages, split)
    users = np.arange(min(asked.users, len(split.test.history.user_ids)))
    history = split.test.history.of_users(users)
    top = stages.run(f"candidates of {len(users):,} users", lambda: model.top(history.matrix, CANDIDATES))
    for attribute in source.attributes(split.train.counts):
        stages.run(f"re-rank them by {attribute.name}", partial(_reranked, attribute, history.matrix, top))
    print("\n".join(_lines(source, split, stages.done)))


def _fitted(stages: Stages, split: Split) -> EASE:
    gram = stages.run("count what is liked together", lambda: gram_matrix(split.train.matrix))
    return stages.run(
        "fit EASE, one regularisation", lambda: EASE.from_gram(gram, REGULARISATION, overwrite=True, threads=None)
    )


def _loaded(data: Path) -> Source:
    source = movielens_source(data, complete=False)
    source.attributes(source.liked.counts)
    return source


def _reranked(attribute: Attribute, history: SparseRows, top: TopItems) -> None:
    users, n = top.items.shape
    wanted = targets.histories(attribute.matrix, history)
    flat = (top.scores.astype(np.float64).ravel(), np.arange(0, users * n + 1, n), attribute.matrix, wanted)
    calibrate_batch(*flat, items=top.items.ravel(), k=SLOTS, trade_off=TRADE_OFF)


def _lines(source: Source, split: Split, done: list[Stage]) -> Iterator[str]:
    counted = source.counted
    yield (
        "`python -m benchmarks.large_experiment FOLDER`: an invented set with "
        f"{counted['users who rated']} users, {counted['movies']} items and {counted['ratings']} ratings, of which "
        f"{len(source.liked):,} are positives on {len(source.liked.item_ids):,} items; {len(split.train.user_ids):,} "
        f"users are trained on. {os.cpu_count()} processors; n/k = {CANDIDATES}/{SLOTS}, λ = {TRADE_OFF:g}; memory is "
        "the most that the process held during the stage."
    )
    yield ""
    yield "| stage | seconds | processor seconds | GB |"
    yield "|---|---|---|---|"
    for stage in done:
        yield f"| {stage.name} | {stage.seconds:.1f} | {stage.processor:.1f} | {stage.gigabytes:.1f} |"


def _resident() -> float:
    """Gigabytes that the process holds, as Linux tells it."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


if __name__ == "__main__":
    main()
