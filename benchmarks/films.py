"""Real problems: a MovieLens folder through EASE, users that it was not trained on, by genre, decade, popularity."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.problems import SEED, TRADE_OFFS, Instance, ProblemSet
from excalibr import targets
from excalibr.datasets import decade, genre, load_movielens, popularity, split_users
from excalibr.models import EASE

__all__ = ["film_sets"]

REGULARISATION = 500.0
SLOTS = 100
SIZES = (150, 1000)


def film_sets(folder: Path, users: int) -> list[ProblemSet]:
    """For each attribute and size one set: so many test users, the trade-offs in turn.

    The targets are the users' histories; candidates are the best scores outside them.
    """
    loaded = load_movielens(folder)
    liked = loaded.positives()
    split = split_users(liked, seed=SEED)
    model = EASE.fit(split.train.matrix, regularisation=REGULARISATION)
    tested = split.test.history
    chosen = np.sort(np.random.default_rng(SEED).permutation(len(tested.user_ids))[:users])
    history = tested.of_users(chosen)
    top = model.top(history.matrix, max(SIZES))
    items = loaded.items.of(liked.item_ids)
    attributes = (genre(items.genres), decade(items.years), popularity(split.train.counts))
    made = []
    for attribute in attributes:
        rows = attribute.matrix.toarray()
        wanted = targets.histories(attribute.matrix, history.matrix)
        for n in SIZES:
            instances = tuple(
                Instance(np.asarray(scores[:n], dtype=np.float64), rows[best[:n]], target, SLOTS, trade_off)
                for best, scores, target, trade_off in zip(
                    top.items, top.scores, wanted, cycle(TRADE_OFFS), strict=False
                )
            )
            made.append(ProblemSet(f"{attribute.name}, n={n}", f"{loaded.name} through EASE", instances))
    return made
