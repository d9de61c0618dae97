"""A LensKit pipeline on MovieLens 1M, with and without calibration, by LensKit's own evaluation and by ours.

``python -m benchmarks.on_lenskit FOLDER [PAGE]`` with LensKit installed; it writes the end of ``docs/lenskit.md``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
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
from benchmarks.framework_slates import Films, page_with, ratio_text, read_films, seconds_by_turns, table, worth_of
from excalibr.lenskit import CalibratedReranker, MeanCalibrationError, calibrated_pipeline

USERS, CANDIDATES, K = 1000, 200, 10
TRADE_OFFS = (0.1, 0.2, 0.5)
AGREE = 1e-9


def main() -> None:
    """Everything, printed and written."""
    films = read_films(Path(sys.argv[1]))
    split = sample_users(dataset_of(films), USERS, SampleFrac(0.2, rng=1), rng=1)
    plain = topn_pipeline(EASEScorer(regularization=500), n=K)
    plain.train(split.train)
    calibrated = {each: calibrated_with(plain, split.train, each) for each in TRADE_OFFS}
    text = "\n\n".join([*compared(films, split, plain, calibrated), *timed(films, split, calibrated[0.2])])
    print(text)
    page_with(Path(sys.argv[2] if len(sys.argv) > 2 else "docs/lenskit.md"), text)


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


def compared(films: Films, split: Any, plain: Pipeline, calibrated: dict[float, Pipeline]) -> list[str]:
    """NDCG and calibration error by LensKit's run analysis, and how far our metrics are from them."""
    reranker = calibrated[0.5].component("reranker")
    rows, furthest = [], 0.0
    pipelines = {"EASE": plain} | {f"EASE, calibrated, λ = {key}": own for key, own in calibrated.items()}
    for name, pipeline in pipelines.items():
        lists = recommend(pipeline, split.test, K, n_jobs=1)
        theirs = measured(reranker, lists, split.test)
        slates = pd.concat([_slate(key[0], each) for key, each in lists])
        ours = worth_of(slates, films, liked(split.train), liked_of_lists(split.test))
        differences = np.abs(np.array([ours.ndcg, ours.kl, ours.l1]) - theirs)
        furthest = max(furthest, float(differences.max()))
        rows.append((name, *(f"{value:.4f}" for value in theirs)))
    if furthest > AGREE:
        raise SystemExit(f"LensKit's figures and ours differ by {furthest:.3g}")
    head = ("pipeline", f"NDCG@{K}", f"KL@{K}", f"L1@{K}")
    return [
        "## On MovieLens 1M",
        f"LensKit {lenskit.__version__}, what users rated 4 or better, {USERS:,} test users with a fifth of theirs "
        f"held out, EASE (λ = 500), {CANDIDATES} candidates, {K} slots, targets from the genres of the training data. "
        "Every figure is from LensKit's `RunAnalysis`; the metrics of this library, on the same slates, differ from "
        f"them by at most {furthest:.0e}.",
        table(head, rows),
    ]


def measured(reranker: CalibratedReranker, lists: Any, test: Any) -> Any:
    """NDCG, KL and L1 by LensKit's run analysis."""
    errors = [MeanCalibrationError(reranker, K, divergence=name) for name in ("kl", "l1")]
    result = RunAnalysis(NDCG(K, weight=LogRankWeight(offset=1)), *errors).measure(lists, test)
    found = result.global_metrics()
    return np.array([result.list_summary().loc[f"NDCG@{K}", "mean"], *(found[each.label] for each in errors)])


def timed(films: Films, split: Any, pipeline: Pipeline) -> list[str]:
    """Ours as a component, user by user, against ``Reranker.rerank`` on the same candidates in one table."""
    reranker = pipeline.component("reranker")
    users = [key[0] for key in split.test.keys()]  # noqa: SIM118 — a collection iterates over pairs
    lists = [pipeline.run("ranker", query=user) for user in users]
    candidates = pd.concat([_slate(user, each) for user, each in zip(users, lists, strict=True)])
    history = liked(split.train)
    history = history[history["user_id"].isin(users)]
    rows = []
    for k in (K, 100):
        tables = excalibr.Reranker(k=k, trade_off=0.2, threads=1)
        items = films.items[["item_id", "genres"]]

        def by_table(tables: Any = tables, items: Any = items) -> pd.DataFrame:
            return tables.rerank(candidates, items, history=history, category="genres")

        def by_component(k: int = k) -> list[Any]:
            return [reranker(each, user, k) for user, each in zip(users, lists, strict=True)]

        agree(by_table(), users, by_component())
        table_times, component_times = seconds_by_turns(by_table, by_component)
        each = [f"{1e3 * float(np.median(taken)) / len(users):.2f} ms" for taken in (table_times, component_times)]
        rows.append((f"{CANDIDATES}, {k}", *each, ratio_text(component_times, table_times)))
    head = ("candidates, slots", "`Reranker.rerank`, a user", "component, a user", "ratio: median (least to most)")
    return [
        f"Run time of the component, {len(users):,} users one by one, against `Reranker.rerank` on the same candidates "
        f"in one table ({os.cpu_count()} processors, one thread, seven turns each; both give the same slates):",
        table(head, rows),
    ]


def agree(slates: pd.DataFrame, users: list[int], lists: list[Any]) -> None:
    """Stop where the two ways give different slates."""
    shown = pd.concat([_slate(user, each) for user, each in zip(users, lists, strict=True)])
    both = slates.merge(shown, on=["user_id", "rank"])
    if len(both) != len(slates) or (both["item_id_x"] != both["item_id_y"]).any():
        raise SystemExit("the component and Reranker.rerank give different slates")


def liked(data: Dataset) -> pd.DataFrame:
    return data.interactions().pandas(ids=True)[["user_id", "item_id"]]


def liked_of_lists(lists: Any) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({"user_id": key[0], "item_id": each.ids()}) for key, each in lists])


def _slate(user: int, items: Any) -> pd.DataFrame:
    ranks = np.arange(1, len(items) + 1)
    return pd.DataFrame({"user_id": user, "item_id": items.ids(), "score": items.scores(), "rank": ranks})


if __name__ == "__main__":
    main()
