from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("lenskit")

from lenskit import recommend
from lenskit.basic import PopScorer
from lenskit.batch import recommend as recommend_all
from lenskit.pipeline import Pipeline, topn_pipeline

from excalibr.errors import InputError
from excalibr.lenskit import CalibratedReranker, calibrated_pipeline
from tests.lenskit.invented import dataset

DATA = dataset()

pytestmark = pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype:FutureWarning")
"""LensKit's own, where it counts how often items were seen."""


def calibrated(**options: Any) -> Pipeline:
    pipeline = calibrated_pipeline(PopScorer, candidates=30, trade_off=0.9, **options)
    pipeline.train(DATA)
    return pipeline


def test_the_reranker_has_more_candidates_than_slots_and_the_user() -> None:
    pipeline = calibrated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = recommend(pipeline, 3, n=5)
    assert len(shown) == 5
    reranker = pipeline.component("reranker")
    candidates = pipeline.run("ranker", query=3)
    assert len(candidates) == 30
    assert shown.ids().tolist() == reranker(candidates, query=3, n=5).ids().tolist()


def test_lists_are_calibrated_and_another_pipelines_are_not() -> None:
    plain = topn_pipeline(PopScorer, n=5)
    plain.train(DATA)
    liked = {user: user % 3 for user in (3, 4, 5)}

    def share(pipeline: Pipeline) -> float:
        lists = {user: recommend(pipeline, user, n=5).ids().tolist() for user in liked}
        return float(sum(item % 3 == liked[user] for user, items in lists.items() for item in items)) / 15

    assert share(calibrated()) > share(plain)


def test_lengths_have_the_default_that_is_given() -> None:
    assert len(recommend(calibrated(n=4), 3)) == 4


def test_all_scored_items_may_be_candidates() -> None:
    pipeline = calibrated_pipeline(PopScorer, candidates=None, n=4)
    pipeline.train(DATA)
    assert len(pipeline.run("ranker", query=3)) > 40
    assert len(recommend(pipeline, 3)) == 4


def test_a_reranker_of_ones_own_is_taken() -> None:
    own = CalibratedReranker(trade_off=0.4, n=3)
    pipeline = calibrated_pipeline(PopScorer, reranker=own, name="mine")
    assert pipeline.component("reranker") is own
    assert pipeline.name == "mine"


def test_a_batch_gives_what_single_requests_give() -> None:
    pipeline = calibrated()
    lists = recommend_all(pipeline, [1, 2, 3], 5, n_jobs=1)
    assert [each.ids().tolist() for each in lists.lists()] == [
        recommend(pipeline, user, n=5).ids().tolist() for user in (1, 2, 3)
    ]


def test_the_configuration_of_a_pipeline_can_be_stored() -> None:
    pipeline = calibrated(floors={"drama": 0.1})
    again = Pipeline.from_config(pipeline.config)
    again.train(DATA)
    assert recommend(again, 3, n=5).ids().tolist() == recommend(pipeline, 3, n=5).ids().tolist()


@pytest.mark.parametrize("options", [{"trade_off": 0.9}, {"n": 5}])
def test_options_beside_a_reranker_of_ones_own_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(options))}: is given beside a reranker, must be left out"):
        calibrated_pipeline(PopScorer, reranker=CalibratedReranker(), **options)


def test_no_candidates_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="candidates: is 0, must be a whole number of at least 1, or None"):
        calibrated_pipeline(PopScorer, candidates=0)
