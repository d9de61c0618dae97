"""A two-stage model of RecTools on MovieLens 1M, with and without calibration, by RecTools' own metrics and by ours.

``python -m benchmarks.on_rectools FOLDER [PAGE]`` with RecTools installed; it writes the end of ``docs/rectools.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from benchmarks.framework_slates import (
    CANDIDATES,
    TRADE_OFFS,
    USERS,
    Films,
    K,
    Way,
    Worth,
    comparison,
    run_times,
    worth_of,
    write_measured,
)
from excalibr.rectools import CalibratedRankingModel, CalibratedReranker, CalibrationError

COMPARED = (
    f"RecTools {VERSION}, what users rated 4 or better, {USERS:,} test users with a fifth of theirs held out, a "
    f"two-stage model with EASE (λ = 500) and {CANDIDATES} candidates, {K} slots, targets from the genres of the "
    "training data. Every figure is from RecTools' `calc_metrics`; the metrics of this library, on the same slates, "
    "differ from them by at most {furthest}."
)
TIMED = (
    f"Run time of the second stage, {USERS:,} users, against `Reranker.rerank` on the same candidates ({{processors}}, "
    "all threads, {rounds} turns each after `gc.freeze()`; both give the same slates):"
)


def measure(films: Films) -> list[str]:
    """What the page says."""
    train, held_out = split(films)
    data = dataset_of(films, train)
    compared = comparison(COMPARED, "model", measured(films, data, train, held_out))
    return compared + timed(films, data, train, held_out)


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


def measured(
    films: Films, data: Dataset, train: pd.DataFrame, held_out: pd.DataFrame
) -> Iterator[tuple[str, Any, Worth]]:
    """NDCG, KL and L1 of each model by ``calc_metrics``, and by us."""
    asked = {"ndcg": NDCG(K, divide_by_achievable=True)}
    asked |= {name: CalibrationError(K, items=data, divergence=name) for name in ("kl", "l1")}
    model = two_stage().fit(data)
    for name, trade_off in {"EASE": 0.0, **{f"EASE, calibrated, λ = {each}": each for each in TRADE_OFFS}}.items():
        model.reranker = CalibratedReranker(trade_off=trade_off)
        slates = model.recommend(held_out["user_id"].unique(), data, K, filter_viewed=True)
        theirs = calc_metrics(asked, slates, interactions=held_out, prev_interactions=train)
        yield name, np.array([theirs[each] for each in asked]), worth_of(slates, films, train, held_out)


def timed(films: Films, data: Dataset, train: pd.DataFrame, held_out: pd.DataFrame) -> list[str]:
    """The second stage's ``recommend`` against ``Reranker.rerank`` on the same candidates."""
    users = held_out["user_id"].unique()
    candidates = EASEModel(500).fit(data).recommend(users, data, CANDIDATES, filter_viewed=True, add_rank_col=False)
    history = train[train["user_id"].isin(users)][["user_id", "item_id"]]
    items, stage = films.items[["item_id", "genres"]], CalibratedReranker(trade_off=0.2)
    stage.use(data)

    def ways(k: int) -> tuple[Way, Way]:
        tables = excalibr.Reranker(k=k, trade_off=0.2)
        return (
            Way(lambda: tables.rerank(candidates, items, history=history, category="genres")),
            Way(lambda: stage.recommend(candidates, k)),
        )

    return run_times(TIMED, "second stage", len(users), ways)


if __name__ == "__main__":
    write_measured("docs/rectools.md", measure)
