"""What the first use of each option costs, in turn in one fresh process: ``python -m benchmarks.workers.first_uses``.

Prints, by option, the seconds of its first use and of its second, both on the same problem.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import excalibr

__all__ = ["OPTIONS", "first_uses"]

CANDIDATES, SLOTS, CATEGORIES = 150, 20, 18

Ask = Callable[[Any, Any, Any], object]

OPTIONS: dict[str, Ask] = {
    "plain": lambda *arrays: excalibr.calibrate(*arrays, k=SLOTS),
    "path": lambda *arrays: excalibr.calibrate_path(*arrays, k=SLOTS, trade_offs=[0.2, 0.5, 0.8]),
    "KL": lambda *arrays: excalibr.calibrate(*arrays, k=SLOTS, divergence="kl"),
    "single": lambda *arrays: excalibr.calibrate(*arrays, k=SLOTS, draws="single"),
    "even": lambda *arrays: excalibr.calibrate(*arrays, k=SLOTS, draws="even"),
    "budget": lambda *arrays: excalibr.calibrate(*arrays, k=SLOTS, relevance_loss=0.05),
    "frontier": lambda *arrays: excalibr.frontier(*arrays, k=SLOTS, tolerance=1e-3),
    "batch": lambda scores, rows, target: excalibr.calibrate_batch(
        np.tile(scores, 2),
        [0, CANDIDATES, 2 * CANDIDATES],
        np.tile(rows, (2, 1)),
        np.tile(target, (2, 1)),
        k=SLOTS,
        threads=1,
    ),
}


def first_uses() -> dict[str, list[float]]:
    """Seconds of the first two uses of every option."""
    random = np.random.default_rng(1)
    rows = np.eye(CATEGORIES)[random.integers(0, CATEGORIES, CANDIDATES)]
    arrays = random.random(CANDIDATES), rows, random.dirichlet(np.ones(CATEGORIES))
    return {name: [_seconds(ask, arrays), _seconds(ask, arrays)] for name, ask in OPTIONS.items()}


def _seconds(ask: Ask, arrays: tuple[Any, Any, Any]) -> float:
    started = perf_counter()
    ask(*arrays)
    return perf_counter() - started


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(first_uses()))
