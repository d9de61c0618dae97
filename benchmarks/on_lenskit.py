"""A LensKit pipeline on MovieLens 1M, with and without calibration, by LensKit's own evaluation and by ours.

``python -m benchmarks.on_lenskit FOLDER [PAGE]`` with LensKit installed; it writes the end of ``docs/lenskit.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lenskit
import numpy as np
import pandas as pd
from lenskit.batch import recommend
from lenskit.data import Dataset, DatasetBuilder
from lenskit.knn import EASEScorer
from lenskit.metrics import NDCG, LogRankWeight, RunAnalysis
from lenskit.pipeline import Pipeline, topn_pipeline
from lenskit.splitting import SampleFrac, sample_users
from lenskit.training import TrainingOptions

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
from excalibr.lenskit import CalibratedReranker, MeanCalibrationError, calibrated_pipeline

COMPARED = (
    f"LensKit {lenskit.__version__}, what users rated 4 or better, {USERS:,} test users with a fifth of theirs held "
    f"out, EASE (λ = 500), {CANDIDATES} candidates, {K} slots, targets from the genres of the training data. Every "
    "figure is from LensKit's `RunAnalysis`; the metrics of this library, on the same slates, differ from them by at "
    "most {furthest}."
)
TIMED = (
    f"Run time of the component, {USERS:,} users one by one, against `Reranker.rerank` on the same candidates in one "
    "table ({processors}, one thread, {rounds} turns each after `gc.freeze()`; both give the same slates):"
)


def measure(films: Films) -> list[str]:
    """What the page says."""
    split = sample_users(dataset_of(films), USERS, SampleFrac(0.2, rng=1), rng=1)
    plain = topn_pipeline(EASEScorer(regularization=500), n=K)
    plain.train(split.train)
    calibrated = {each: calibrated_with(plain, split.train, each) for each in TRADE_OFFS}
    named = {"EASE": plain} | {f"EASE, calibrated, λ = {key}": own for key, own in calibrated.items()}
    compared = comparison(COMPARED, "pipeline", measured(films, split, named, calibrated[0.5].component("reranker")))
    return compared + timed(films, split, calibrated[0.2])


def dataset_of(films: Films) -> Dataset:
    """What users liked, and films with their genres as lists."""
    builder = DatasetBuilder("ml-1m")
    builder.add_entities("item", films.items["item_id"].to_numpy())
    rows = films.liked[["user_id", "item_id", "timestamp"]]
    builder.add_interactions("like", rows, entities=["user", "item"], missing="insert", default=True)
    genres = films.items["genres"].str.split("|")
    builder.add_list_attribute("item", "genres", films.items["item_id"].to_numpy(), genres)
    return builder.build()


def calibrated_with(plain: Pipeline, train: Dataset, trade_off: float) -> Pipeline:
    """The same scorer, trained once, with ours behind it."""
    pipeline = calibrated_pipeline(plain.component("scorer"), candidates=CANDIDATES, n=K, trade_off=trade_off)
    pipeline.train(train, TrainingOptions(retrain=False))
    return pipeline


def measured(
    films: Films, split: Any, pipelines: dict[str, Pipeline], reranker: CalibratedReranker
) -> Iterator[tuple[str, Any, Worth]]:
    """NDCG, KL and L1 of each pipeline by LensKit's run analysis, and by us."""
    errors = [MeanCalibrationError(reranker, K, divergence=name) for name in ("kl", "l1")]
    for name, pipeline in pipelines.items():
        lists = recommend(pipeline, split.test, K, n_jobs=1)
        result = RunAnalysis(NDCG(K, weight=LogRankWeight(offset=1)), *errors).measure(lists, split.test)
        found = result.global_metrics()
        theirs = [result.list_summary().loc[f"NDCG@{K}", "mean"], *(found[each.label] for each in errors)]
        slates = pd.concat([_slate(key[0], each) for key, each in lists])
        yield name, np.array(theirs), worth_of(slates, films, liked(split.train), liked_of_lists(split.test))


def timed(films: Films, split: Any, pipeline: Pipeline) -> list[str]:
    """Ours as a component, user by user, against ``Reranker.rerank`` on the same candidates in one table."""
    reranker, items = pipeline.component("reranker"), films.items[["item_id", "genres"]]
    users = [key[0] for key in split.test.keys()]  # noqa: SIM118 — a collection iterates over pairs
    lists = [pipeline.run("ranker", query=user) for user in users]

    def slates(shown: list[Any]) -> pd.DataFrame:
        return pd.concat([_slate(user, each) for user, each in zip(users, shown, strict=True)])

    candidates, history = slates(lists), liked(split.train)
    history = history[history["user_id"].isin(users)]

    def ways(k: int) -> tuple[Way, Way]:
        tables = excalibr.Reranker(k=k, trade_off=0.2, threads=1)
        return (
            Way(lambda: tables.rerank(candidates, items, history=history, category="genres")),
            Way(lambda: [reranker(each, user, k) for user, each in zip(users, lists, strict=True)], slates),
        )

    return run_times(TIMED, "component", len(users), ways)


def liked(data: Dataset) -> pd.DataFrame:
    return data.interactions().pandas(ids=True)[["user_id", "item_id"]]


def liked_of_lists(lists: Any) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({"user_id": key[0], "item_id": each.ids()}) for key, each in lists])


def _slate(user: int, items: Any) -> pd.DataFrame:
    ranks = np.arange(1, len(items) + 1)
    return pd.DataFrame({"user_id": user, "item_id": items.ids(), "score": items.scores(), "rank": ranks})


if __name__ == "__main__":
    write_measured("docs/lenskit.md", measure)
