"""Users for the tables that are measured: a catalogue with genres and decades, candidates, scores and histories."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems import SEED, few_of, zipf

__all__ = ["write_users"]

ITEMS, GENRES, DECADES, CANDIDATES, HISTORY = 5000, 18, 9, 150, 60


def write_users(path: Path, users: int, batch_users: int, seed: int = SEED) -> None:
    """``users`` for tables, as many as can be asked one by one, and ``batch_users`` for the loop over all."""
    random = np.random.default_rng(seed)
    genres = few_of(random, ITEMS, zipf(GENRES), 3)
    popularity = (10.0 + np.arange(ITEMS)) ** -0.8
    races = np.log(popularity)
    both = users + batch_users
    candidates = np.empty((both, CANDIDATES), dtype=np.int64)
    history = np.empty((both, HISTORY), dtype=np.int64)
    for user in range(both):
        order = np.argpartition(-(races + random.gumbel(size=ITEMS)), CANDIDATES + HISTORY)[: CANDIDATES + HISTORY]
        random.shuffle(order)
        candidates[user], history[user] = order[:CANDIDATES], order[CANDIDATES:]
    scores = random.gamma(1.5, 0.1, (both, CANDIDATES))
    np.savez(
        path,
        genres=genres,
        decades=random.integers(0, DECADES, ITEMS),
        candidates=candidates[:users],
        scores=scores[:users],
        history=history[:users],
        batch_items=candidates[users:],
        batch_scores=scores[users:],
        batch_targets=genres[history[users:]].mean(axis=1),
    )
