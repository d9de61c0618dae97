"""Candidates by EASE, tuned on validation users: what it will take, said before it starts, and within memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from excalibr._sparse import SparseRows
from excalibr._types import Booleans, Integers
from excalibr.datasets import HeldOutUsers, Interactions, Split
from excalibr.errors import InputError
from excalibr.models import EASE, TopItems, gram_matrix

_JUDGED = 100  # the regularisation is chosen by NDCG at so many slots, as in the paper
FURTHER = 5  # regularisations that are tried beyond an end of the grid, at most
_PROBE = 1200  # items of the fit that the speed is measured with

Progress = Callable[[str, float, float], None]
"""What is being done, how much of it is done, and how much there is; in seconds of work."""


@dataclass(frozen=True, slots=True)
class FitCost:
    """What fitting to so many items takes: memory at its peak, and seconds for each regularisation."""

    items: int
    seconds: float

    @property
    def gigabytes(self) -> float:
        """Two arrays of items × items are held."""
        return 2 * 4e-9 * self.items**2 + 0.3

    def of_items(self, items: int) -> FitCost:
        """The same machine on another number of items: the time grows with their cube."""
        return FitCost(items, self.seconds * (items / self.items) ** 3)

    def items_within(self, seconds: float) -> int:
        """How many items are fitted in a time."""
        return int(self.items * (seconds / self.seconds) ** (1 / 3))

    def __str__(self) -> str:
        return f"EASE on {self.items:,} items: {self.gigabytes:.1f} GB, about {self.seconds:.0f} s a regularisation"


def cost_of_fit(items: int) -> FitCost:
    """From a small fit on this machine."""
    probe = min(_PROBE, items)
    gram = np.eye(probe, dtype=np.float32)
    taken = []
    for _ in range(4):  # the first loads what it needs, and another may be disturbed
        started = perf_counter()
        EASE.from_gram(gram, 1.0, threads=None)
        taken.append(perf_counter() - started)
    return FitCost(probe, min(taken)).of_items(items)


def count_that_keeps(counts: Integers, most: int) -> int:
    """The least number of positives that no more than so many items have.

    >>> count_that_keeps(np.array([9, 2, 5, 5]), 3), count_that_keeps(np.array([9, 2, 5, 5]), 2)
    (3, 6)
    """
    return int(np.sort(counts)[::-1][min(most, len(counts) - 1)]) + 1


def check_memory(cost: FitCost, counts: Integers) -> None:
    """Refuse, before anything is begun, a fit that has no room, and say with which items it has."""
    available = _available_gigabytes()
    if cost.gigabytes <= available:
        return
    least = count_that_keeps(counts, int(np.sqrt(max(available - 0.3, 0.1) / 8e-9)))
    found = f"needs {cost.gigabytes:.1f} GB for {cost.items:,} items, and {available:.1f} GB are free"
    hint = f"pass --min-item-count {least}, or candidates of a model of your own with --scores."
    raise InputError("EASE", found, "fit in memory", hint)


def fit_candidates(
    split: Split,
    test: Interactions,
    n: int,
    regularisations: tuple[float, ...],
    progress: Progress,
    further: int = FURTHER,
) -> tuple[TopItems, dict[float, float]]:
    """The best model's top n, and each regularisation's NDCG; further ones are tried while an end of the grid is best.

    Only candidates are kept of a model, so that no more than two items × items arrays are ever held. All processors
    are used: the fit, and with it every result, is the same for any number of processes of the experiment.
    """
    progress("counting what is liked together", 0.0, 1.0)
    gram = gram_matrix(split.train.matrix)
    tuning: dict[float, float] = {}
    best: TopItems | None = None
    waiting = sorted(regularisations)
    while waiting:
        value = waiting.pop(0)
        progress(f"fitting EASE, regularisation {value:g}", float(len(tuning)), float(len(tuning) + len(waiting) + 1))
        model = EASE.from_gram(gram, value, threads=None)
        tuning[value] = _validation_ndcg(model, split.validation)
        if best_of(tuning) == value:
            best = model.top(test.matrix, n)
        del model
        if not waiting and len(regularisations) > 1 and len(tuning) < len(regularisations) + further:
            beyond = {min(tuning): 0.5, max(tuning): 2.0}
            waiting += [edge * factor for edge, factor in beyond.items() if edge == best_of(tuning)]
    assert best is not None
    return best, tuning


def best_of(tuning: Mapping[float, float]) -> float:
    """The regularisation with the best NDCG, of equals the smallest; nan where none was tried."""
    return max(sorted(tuning), key=lambda value: tuning[value], default=float("nan"))


def _validation_ndcg(model: EASE, users: HeldOutUsers) -> float:
    """Mean NDCG@100 of plain relevance, or at as many slots as there are items for every user."""
    slots = min(_JUDGED, model.items - int(np.diff(users.history.indptr).max()))
    hits = is_held_out(users.held_out.matrix, model.top(users.history.matrix, slots).items)
    discounts = 1.0 / np.log2(np.arange(2.0, slots + 2.0))
    ideals = np.cumsum(discounts)[np.minimum(np.diff(users.held_out.indptr), slots) - 1]
    return float((hits @ discounts / ideals).mean())


def is_held_out(hidden: SparseRows, items: Integers) -> Booleans:
    """(users, n): which of each user's candidates are in the user's row."""
    found: Any = hidden[np.arange(len(items))[:, None], items]
    return np.asarray(found.toarray() > 0)


def _available_gigabytes() -> float:
    """What is free, as Linux tells it; elsewhere nothing is refused."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text(encoding="ascii").splitlines() if meminfo.is_file() else []
    free = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return 1.024e-6 * int(free[0]) if free else float("inf")
