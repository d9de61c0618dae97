"""A two-stage model of RecTools on MovieLens 1M, with and without calibration, by RecTools' own metrics and by ours.

``python -m benchmarks.on_rectools FOLDER [PAGE]`` with RecTools installed; it writes the end of ``docs/rectools.md``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rectools.dataset import Dataset
from rectools.metrics import NDCG, calc_metrics
from rectools.model_selection import LastNSplitter
from rectools.models import EASEModel
from rectools.models.ranking import CandidateGenerator
from rectools.version import VERSION

import excalibr
from benchmarks.framework_slates import Films, page_with, ratio_text, read_films, seconds_by_turns, table, worth_of
from excalibr.rectools import CalibratedRankingModel, CalibratedReranker, CalibrationError

USERS, CANDIDATES, K = 1000, 200, 10
TRADE_OFFS = (0.1, 0.2, 0.5)
AGREE = 1e-9


def main() -> None:
    """Everything, printed and written."""
    films = read_films(Path(sys.argv[1]))
    train, held_out = split(films)
    data = dataset_of(films, train)
    text = "\n\n".join([*compared(films, data, train, held_out), *timed(films, data, train, held_out)])
    print(text)
    page_with(Path(sys.argv[2] if len(sys.argv) > 2 else "docs/rectools.md"), text)


def split(films: Films) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A fifth of what a thousand users liked is held out."""
    users = np.random.default_rng(1).choice(films.liked["user_id"].unique(), USERS, replace=False)
    of_test = films.liked[films.liked["user_id"].isin(users)]
    held_out = of_test.groupby("user_id").sample(frac=0.2, random_state=1)
    return films.liked.drop(held_out.index), held_out


def dataset_of(films: Films, train: pd.DataFrame) -> Dataset:
    """Interactions, and genres as a categorical feature."""
    genres = films.items.assign(value=films.items["genres"].str.split("|")).explode("value")
    features = genres.assign(id=genres["item_id"], feature="genre")[["id", "feature", "value"]]
    rows = train.assign(weight=1.0, datetime=pd.to_datetime(train["timestamp"], unit="s"))
    return Dataset.construct(
        rows[["user_id", "item_id", "weight", "datetime"]],
        item_features_df=features[features["id"].isin(train["item_id"])],
        cat_item_features=["genre"],
    )


def two_stage(**options: Any) -> CalibratedRankingModel:
    """EASE's candidates, its scores calibrated."""
    generators = [CandidateGenerator(EASEModel(500), CANDIDATES, keep_ranks=True, keep_scores=True)]
    return CalibratedRankingModel(generators, LastNSplitter(1, 1), CalibratedReranker(**options))


def compared(films: Films, data: Dataset, train: pd.DataFrame, held_out: pd.DataFrame) -> list[str]:
    """NDCG and calibration error by ``calc_metrics``, and how far our metrics are from them."""
    users = held_out["user_id"].unique()
    model = two_stage().fit(data)
    names = {"EASE": 0.0, **{f"EASE, calibrated, λ = {each}": each for each in TRADE_OFFS}}
    asked = {"ndcg": NDCG(K, divide_by_achievable=True)}
    asked |= {name: CalibrationError(K, items=data, divergence=name) for name in ("kl", "l1")}
    rows, furthest = [], 0.0
    for name, trade_off in names.items():
        model.reranker = CalibratedReranker(trade_off=trade_off)
        slates = model.recommend(users, data, K, filter_viewed=True)
        theirs = calc_metrics(asked, slates, interactions=held_out, prev_interactions=train)
        ours = worth_of(slates, films, train, held_out)
        furthest = max(furthest, *(abs(getattr(ours, each) - theirs[each]) for each in asked))
        rows.append((name, *(f"{theirs[each]:.4f}" for each in asked)))
    if furthest > AGREE:
        raise SystemExit(f"RecTools' figures and ours differ by {furthest:.3g}")
    return [
        "## On MovieLens 1M",
        f"RecTools {VERSION}, what users rated 4 or better, {USERS:,} test users with a fifth of theirs held out, a "
        f"two-stage model with EASE (λ = 500) and {CANDIDATES} candidates, {K} slots, targets from the genres of the "
        "training data. Every figure is from RecTools' `calc_metrics`; the metrics of this library, on the same "
        f"slates, differ from them by at most {furthest:.0e}.",
        table(("model", f"NDCG@{K}", f"KL@{K}", f"L1@{K}"), rows),
    ]


def timed(films: Films, data: Dataset, train: pd.DataFrame, held_out: pd.DataFrame) -> list[str]:
    """The second stage's ``recommend`` against ``Reranker.rerank`` on the same candidates."""
    users = held_out["user_id"].unique()
    candidates = EASEModel(500).fit(data).recommend(users, data, CANDIDATES, filter_viewed=True, add_rank_col=False)
    history = train[train["user_id"].isin(users)][["user_id", "item_id"]]
    items, stage = films.items[["item_id", "genres"]], CalibratedReranker(trade_off=0.2)
    stage.use(data)
    rows = []
    for k in (K, 100):
        tables = excalibr.Reranker(k=k, trade_off=0.2)

        def by_table(tables: Any = tables) -> pd.DataFrame:
            return tables.rerank(candidates, items, history=history, category="genres")

        def by_stage(k: int = k) -> pd.DataFrame:
            return stage.recommend(candidates, k)

        shown = by_stage().sort_values(["user_id", "rank"], kind="stable")
        if by_table()["item_id"].tolist() != shown["item_id"].tolist():
            raise SystemExit("the second stage and Reranker.rerank give different slates")
        table_times, stage_times = seconds_by_turns(by_table, by_stage)
        each = [f"{1e3 * float(np.median(taken)) / len(users):.2f} ms" for taken in (table_times, stage_times)]
        rows.append((f"{CANDIDATES}, {k}", *each, ratio_text(stage_times, table_times)))
    head = ("candidates, slots", "`Reranker.rerank`, a user", "second stage, a user", "ratio: median (least to most)")
    return [
        f"Run time of the second stage, {len(users):,} users, against `Reranker.rerank` on the same candidates "
        f"({os.cpu_count()} processors, all threads, seven turns each; both give the same slates):",
        table(head, rows),
    ]


if __name__ == "__main__":
    main()
