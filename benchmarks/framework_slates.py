"""What the measurements inside frameworks share: MovieLens, the comparison with our own metrics, and the run times.

What slates are worth by the metrics of this library is what a framework's own evaluation must agree with. Shares of
genres are counted here from the texts, so that nothing of the adapters is used.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from excalibr import Policy, Problem, metrics, targets

__all__ = [
    *("CANDIDATES", "TRADE_OFFS", "USERS", "Films", "K", "Way", "Worth"),
    *("comparison", "run_times", "worth_of", "write_measured"),
]

USERS, CANDIDATES, K = 1000, 200, 10
TRADE_OFFS = (0.1, 0.2, 0.5)
AGREE = 1e-9
ROUNDS = 7

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


def write_measured(page: str, measure: Callable[[Films], list[str]]) -> None:
    """Measure on the films of the folder that the command names, print it, and write it to the end of a page."""
    text = "\n\n".join(measure(read_films(Path(sys.argv[1]))))
    print(text)
    page_with(Path(sys.argv[2] if len(sys.argv) > 2 else page), text)


def comparison(said: str, way: str, measured: Iterable[tuple[str, Any, Worth]]) -> list[str]:
    """The framework's own figures of each way as a table, where ours of the same slates are equal.

    ``said`` has a place for how far they are apart; ``measured`` has, for each way, its name, NDCG, KL and L1 by the
    framework, and what its slates are worth by our metrics.
    """
    rows, furthest = [], 0.0
    for name, theirs, ours in measured:
        differences = np.abs(np.array([ours.ndcg, ours.kl, ours.l1]) - theirs)
        furthest = max(furthest, float(differences.max()))
        rows.append((name, *(f"{value:.4f}" for value in theirs)))
    if furthest > AGREE:
        raise SystemExit(f"the framework's figures and ours differ by {furthest:.3g}")
    head = (way, f"NDCG@{K}", f"KL@{K}", f"L1@{K}")
    return ["## On MovieLens 1M", said.format(furthest=f"{furthest:.0e}"), table(head, rows)]


def run_times(said: str, name: str, users: int, ways: Callable[[int], tuple[Way, Way]]) -> list[str]:
    """How long a framework's way takes against ``Reranker.rerank``, for few slots and many; ``said`` tells how."""
    rows = []
    for k in (K, 100):
        by_table, by_framework = ways(k)
        require_equal(by_table.slates(), by_framework.slates())
        taken = seconds_by_turns(by_table.work, by_framework.work)
        each = [f"{1e3 * statistics.median(seconds) / users:.2f} ms" for seconds in taken]
        rows.append((f"{CANDIDATES}, {k}", *each, ratio_text(taken[1], taken[0])))
    head = ("candidates, slots", "`Reranker.rerank`, a user", f"{name}, a user", "ratio: median (least to most)")
    return [said.format(processors=f"{os.cpu_count()} processors", rounds=ROUNDS), table(head, rows)]


@dataclass(frozen=True)
class Way:
    """Work that is timed, and its answer as slates (``user_id, rank, item_id``)."""

    work: Callable[[], Any]
    as_slates: Callable[[Any], pd.DataFrame] = pd.DataFrame

    def slates(self) -> pd.DataFrame:
        """What the work gives."""
        return self.as_slates(self.work())


def require_equal(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Stop where two ways give different slates."""
    both = one.merge(other, on=["user_id", "rank"])
    if len(both) != len(one) or (both["item_id_x"] != both["item_id_y"]).any():
        raise SystemExit("the framework's way and Reranker.rerank give different slates")


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


def seconds_by_turns(*works: Callable[[], Any], rounds: int = ROUNDS) -> list[list[float]]:
    """How long each takes, in turn, so that the machine's moods are the same for all; the first turn is not counted.

    Python's collector leaves alone what is there before: a full pass over all that a framework has loaded would take
    a tenth of a second, in whosever turn it happens to fall.
    """
    gc.collect()
    gc.freeze()
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(rounds + 1):
        for own, work in zip(taken, works, strict=True):
            begin = time.perf_counter()
            work()
            own += [time.perf_counter() - begin] if turn else []
    gc.unfreeze()
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
