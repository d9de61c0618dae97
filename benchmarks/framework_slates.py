"""What slates of MovieLens are worth by the metrics of this library: what frameworks' own evaluations must agree with.

Shares of genres are counted here from the texts, so that nothing of the adapters is used.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from excalibr import Policy, Problem, metrics, targets

__all__ = ["Films", "Worth", "page_with", "ratio_text", "read_films", "seconds_by_turns", "table", "worth_of"]

POSITIVE = 4.0
"""Ratings from here on are what users liked."""

MARK = "<!-- measured by the benchmark; what follows is written over -->"


@dataclass(frozen=True)
class Films:
    """Films with their genres as texts (``genres``), and what users liked (``user_id, item_id, timestamp``)."""

    items: pd.DataFrame
    liked: pd.DataFrame

    def shares(self) -> pd.DataFrame:
        """Each film's share of each genre, by id."""
        marked = self.items.set_index("item_id")["genres"].str.get_dummies("|").astype(np.float64)
        return marked.div(marked.sum(axis=1), axis=0)


@dataclass(frozen=True)
class Worth:
    """Means over users: NDCG against held-out films, KL and L1 from the history's genres."""

    ndcg: float
    kl: float
    l1: float


def read_films(folder: Path) -> Films:
    """MovieLens 1M as Parquet files: ``items.parquet``, ``ratings.parquet``."""
    items, ratings = (pd.read_parquet(folder / f"{name}.parquet") for name in ("items", "ratings"))
    liked = ratings[ratings["rating"] >= POSITIVE]
    return Films(items, liked.reset_index(drop=True))


def worth_of(slates: pd.DataFrame, films: Films, history: pd.DataFrame, held_out: pd.DataFrame) -> Worth:
    """By this library's metrics, of slates with ``user_id``, ``item_id`` and ``rank``."""
    rows = films.shares()
    places = pd.Series(np.arange(len(rows)), index=rows.index)
    own, kept = (dict(tuple(each.groupby("user_id")["item_id"])) for each in (history, held_out))
    values = []
    for user, slate in slates.sort_values(["user_id", "rank"]).groupby("user_id")["item_id"]:
        target = targets.history(rows.to_numpy(), places[own[user]].to_numpy())
        problem = Problem.of(np.zeros(len(slate)), rows.loc[slate].to_numpy(), target)
        policy = Policy(problem, np.arange(len(slate))[None], np.ones(1))
        found = metrics.HeldOut.of(np.flatnonzero(slate.isin(kept[user])), n=len(slate), total=len(kept[user]))
        distances = (metrics.deviation(policy, name).of_expectation for name in ("kl", "l1"))
        values.append((metrics.ndcg(policy, found), *distances))
    return Worth(*np.mean(values, axis=0).tolist())


def seconds_by_turns(*works: Callable[[], Any], rounds: int = 7) -> list[list[float]]:
    """How long each takes, in turn, so that the machine's moods are the same for all; the first turn is not counted."""
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(rounds + 1):
        for own, work in zip(taken, works, strict=True):
            begin = time.perf_counter()
            work()
            own += [time.perf_counter() - begin] if turn else []
    return taken


def ratio_text(one: list[float], other: list[float]) -> str:
    """The ratio turn by turn: its median, and from least to most."""
    ratios = sorted(first / second for first, second in zip(one, other, strict=True))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """In Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page_with(page: Path, text: str) -> None:
    """Put the measured part at the end of a page, in place of the one before."""
    written = page.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    page.write_text(f"{written}\n\n{MARK}\n\n{text.rstrip()}\n", encoding="utf-8")
