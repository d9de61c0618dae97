"""Real problems: a MovieLens folder through EASE, users that it was not trained on, by genre, decade, popularity."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.problems import SEED, TRADE_OFFS, TUNED, Instance, ProblemSet
from excalibr import targets
from excalibr._types import Integers
from excalibr.datasets import Interactions, decade, genre, load_movielens, popularity, split_users
from excalibr.models import EASE

__all__ = ["film_sets"]

REGULARISATION = 500.0
SLOTS = 100
SIZES = (150, 1000)


def film_sets(folder: Path, users: int, seed: int = SEED) -> list[ProblemSet]:
    """For each attribute and size one set: so many test users, the trade-offs in turn.

    The targets are the users' histories; candidates are the best scores outside them. Another seed has another model
    and other users: none that is tested with the seed that constants were chosen with.
    """
    loaded = load_movielens(folder)
    liked = loaded.positives()
    split = split_users(liked, seed=seed)
    model = EASE.fit(split.train.matrix, regularisation=REGULARISATION)
    tested = split.test.history
    history = tested.of_users(_chosen(liked, tested, users, seed))
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


def _chosen(liked: Interactions, tested: Interactions, users: int, seed: int) -> Integers:
    """So many rows of test users, in order, none of whom constants were chosen on with another seed."""
    order = np.random.default_rng(seed).permutation(len(tested.user_ids))
    if seed != TUNED:
        seen = split_users(liked, seed=TUNED).test.history.user_ids
        order = order[~np.isin(tested.user_ids[order], seen)]
    return np.sort(order[:users])
