from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rectools")

from rectools import Columns
from rectools.exceptions import NotFittedError
from rectools.metrics import NDCG
from rectools.model_selection import LastNSplitter, cross_validate
from rectools.models import EASEModel, PopularModel
from rectools.models.ranking import CandidateGenerator, CandidateRankingModel, Reranker

import excalibr
from excalibr.errors import InputError, InputTypeError
from excalibr.rectools import CalibratedModel, CalibratedRankingModel, CalibratedReranker, CalibrationError
from tests.rectools.invented import dataset, interactions, items_table

DATA = dataset()
USERS = [7, 3, 12, 1]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rectools")


def ease() -> EASEModel:
    return EASEModel(10.0, recommend_n_threads=1)


def expected(candidates: pd.DataFrame, k: int, **options: Any) -> pd.DataFrame:
    """By the re-ranker of tables, in the order of the users that were asked for."""
    tables = {name: options.pop(name) for name in ("category", "half_life", "history") if name in options}
    tables = {"category": "genre", "history": interactions()[["user_id", "item_id"]], **tables}
    slates = excalibr.Reranker(k=k, **options).rerank(candidates, items_table(), **tables)
    return pd.concat([slates[slates["user_id"] == user] for user in USERS])


@pytest.mark.parametrize("options", [{}, {"trade_off": 0.2, "divergence": "kl"}, {"seed": 4}, {"draws": "single"}])
def test_recommendations_are_what_the_reranker_of_tables_gives(options: dict[str, Any]) -> None:
    model = CalibratedModel(ease(), 30, **options).fit(DATA)
    shown = model.recommend(USERS, DATA, 5, filter_viewed=True)
    own = expected(ease().fit(DATA).recommend(USERS, DATA, 30, True), 5, **options)
    assert list(shown.columns) == Columns.Recommendations
    assert shown[Columns.User].tolist() == own["user_id"].tolist()
    assert shown[Columns.Item].tolist() == own["item_id"].tolist()
    assert shown[Columns.Rank].tolist() == [1, 2, 3, 4, 5] * 4
    assert shown[Columns.Score].tolist() == own["score"].tolist()


def test_weights_and_ages_of_interactions_count_where_they_are_asked_for() -> None:
    half_life = 5 * 86_400.0
    model = CalibratedModel(ease(), 30, weighted=True, half_life=half_life).fit(DATA)
    shown = model.recommend(USERS, DATA, 5, filter_viewed=True)
    candidates = ease().fit(DATA).recommend(USERS, DATA, 30, True)
    history = interactions().rename(columns={"datetime": "timestamp"})
    assert (
        shown[Columns.Item].tolist()
        == expected(candidates, 5, half_life=half_life, history=history)["item_id"].tolist()
    )


def test_several_features_are_calibrated_together() -> None:
    weights = {"genre": 1.0, "era": 0.5}
    model = CalibratedModel(ease(), 30, feature=["genre", "era"], attribute_weights=weights).fit(DATA)
    shown = model.recommend(USERS, DATA, 5, filter_viewed=True)
    candidates = ease().fit(DATA).recommend(USERS, DATA, 30, True)
    own = expected(candidates, 5, category=["genre", "era"], attribute_weights=weights)
    assert shown[Columns.Item].tolist() == own["item_id"].tolist()


def test_categories_may_come_from_a_table() -> None:
    without = dataset(item_features_df=None, cat_item_features=())
    from_table = CalibratedModel(ease(), 30, items=items_table()).fit(without)
    assert from_table.recommend(USERS, without, 5, True)[Columns.Item].tolist() == (
        CalibratedModel(ease(), 30).fit(DATA).recommend(USERS, DATA, 5, True)[Columns.Item].tolist()
    )


def test_one_target_for_everybody_takes_the_place_of_histories() -> None:
    model = CalibratedModel(ease(), 40, targets={"horror": 1.0}, trade_off=0.99).fit(DATA)
    shown = model.recommend(USERS, DATA, 3, filter_viewed=True)
    assert {int(item) % 3 for item in shown[Columns.Item]} == {2}


def test_the_rank_column_and_allowed_items_are_as_asked() -> None:
    model = CalibratedModel(ease(), 30).fit(DATA)
    allowed = list(range(100, 112))
    shown = model.recommend(USERS, DATA, 3, False, items_to_recommend=allowed, add_rank_col=False)
    assert list(shown.columns) == [Columns.User, Columns.Item, Columns.Score]
    assert set(shown[Columns.Item]) <= set(allowed)


def test_a_two_stage_model_is_calibrated_in_its_second_stage() -> None:
    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=True)]
    model = CalibratedRankingModel(generators, LastNSplitter(3, 1), CalibratedReranker(trade_off=0.5))
    shown = model.fit(DATA).recommend(USERS, DATA, 5, filter_viewed=True)
    single = CalibratedModel(ease(), 30, trade_off=0.5).fit(DATA).recommend(USERS, DATA, 5, filter_viewed=True)
    pd.testing.assert_frame_equal(shown, single, check_dtype=False)


def test_a_ranking_models_scores_are_calibrated() -> None:
    class Ranker:
        """Scores by the first stage's rank."""

        def fit(self, X: Any, y: Any) -> Ranker:
            self.seen = len(X)
            return self

        def predict(self, X: Any) -> Any:
            return -X["EASEModel_1_rank"].to_numpy(dtype=np.float64)

    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=True)]
    reranker = CalibratedReranker(Ranker(), trade_off=0.0)
    model = CalibratedRankingModel(generators, LastNSplitter(3, 1), reranker).fit(DATA)
    assert reranker.model.seen > 0
    shown = model.recommend(USERS, DATA, 4, filter_viewed=True)
    assert shown[Columns.Score].tolist() == [-1.0, -2.0, -3.0, -4.0] * 4


def test_a_two_stage_model_with_another_reranker_is_refused_before_anything_is_fitted() -> None:
    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=True)]
    with pytest.raises(InputTypeError, match="reranker: is .*, must be a CalibratedReranker"):
        CalibratedRankingModel(generators, LastNSplitter(3, 1), Reranker(EASEModel)).fit(DATA)


def test_rectools_own_two_stage_model_needs_the_dataset_shown_first() -> None:
    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=True)]
    reranker = CalibratedReranker()
    model = CandidateRankingModel(generators, LastNSplitter(3, 1), reranker).fit(DATA)
    with pytest.raises(InputError, match="has no dataset.*CalibratedRankingModel"):
        model.recommend(USERS, DATA, 5, filter_viewed=True)
    reranker.use(DATA)
    assert len(model.recommend(USERS, DATA, 5, filter_viewed=True)) == 20


def test_without_a_model_the_first_stage_must_keep_its_scores() -> None:
    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=False)]
    model = CalibratedRankingModel(generators, LastNSplitter(3, 1), CalibratedReranker()).fit(DATA)
    with pytest.raises(InputError, match="candidates: have no scores.*keep_scores=True"):
        model.recommend(USERS, DATA, 5, filter_viewed=True)


@pytest.mark.filterwarnings("ignore:1 user has no more candidates:excalibr.errors.BatchWarning")
def test_models_go_through_cross_validation() -> None:
    models = {"plain": ease(), "calibrated": CalibratedModel(ease(), 30, trade_off=0.9)}
    metrics = {"ndcg": NDCG(5), "kl": CalibrationError(5, items=DATA)}
    found = cross_validate(DATA, LastNSplitter(3, 1), metrics, models, 5, filter_viewed=True)["metrics"]
    kl = {each["model"]: each["kl"] for each in found}
    assert kl["calibrated"] < kl["plain"]


def test_a_second_fit_forgets_the_first() -> None:
    model = CalibratedModel(PopularModel(), 30)
    other = dataset(interactions().query("user_id % 2 == 0"))
    model.fit(DATA).recommend([2], DATA, 3, False)
    again = model.fit(other).recommend([2], other, 3, False)
    pd.testing.assert_frame_equal(again, CalibratedModel(PopularModel(), 30).fit(other).recommend([2], other, 3, False))


def test_a_fitted_model_can_be_stored() -> None:
    model = CalibratedModel(ease(), 30).fit(DATA)
    model.recommend(USERS, DATA, 5, True)
    again = CalibratedModel.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.recommend(USERS, DATA, 5, True), model.recommend(USERS, DATA, 5, True))


def test_a_fitted_model_may_be_wrapped() -> None:
    model = CalibratedModel(ease().fit(DATA), 30)
    assert len(model.recommend(USERS, DATA, 5, True)) == 20
    with pytest.raises(NotFittedError):
        CalibratedModel(ease()).recommend(USERS, DATA, 5, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 5}, "k: is 5 here, must be given to recommend"),
        ({"trade_of": 0.5}, "did you mean 'trade_off'"),
        ({"half_lif": 0.5}, "did you mean 'half_life'"),
        ({"trade_off": 2.0}, "trade_off: is 2.0, must be from 0"),
        ({"strength": 2.0}, "strength: is 2.0 without a prior"),
        ({"candidates": 0}, r"candidates: is 0, must be a whole number of at least 1\.$"),
        (
            {"history": interactions()},
            "history: is given, must be left out. Hint: it is the interactions of the dataset",
        ),
        ({"feature": []}, "feature: is empty, must name at least one item feature"),
    ],
)
def test_bad_options_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CalibratedModel(ease(), **options)


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ("genres", r"feature: is 'genres', must be a categorical item feature .* \['era', 'genre'\]"),
        ("length", r"feature: is 'length', must be a categorical item feature"),
    ],
)
def test_a_feature_that_the_dataset_has_not_is_said(feature: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CalibratedModel(ease(), 30, feature=feature).fit(DATA).recommend(USERS, DATA, 5, True)


def test_a_feature_that_is_no_column_of_the_items_is_said() -> None:
    with pytest.raises(
        InputError, match=r"feature: is 'genres', must be a column of items. Hint: columns are \['item_id'"
    ):
        CalibratedModel(ease(), 30, feature="genres", items=items_table()).fit(DATA).recommend(USERS, DATA, 5, True)


@pytest.mark.parametrize("model", [None, EASEModel, "EASEModel"])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(InputTypeError, match=r"model: is .*, must be a model of RecTools, such as EASEModel\(\)"):
        CalibratedModel(model)


def test_no_number_of_candidates_is_refused() -> None:
    none: Any = None
    with pytest.raises(InputTypeError, match="candidates: is None, must be a whole number"):
        CalibratedModel(ease(), none)


def test_a_stored_model_has_no_dataset_in_it() -> None:
    model = CalibratedModel(ease(), 30).fit(DATA)
    before = len(pickle.dumps(model))
    model.recommend(USERS, DATA, 5, True)
    assert len(pickle.dumps(model)) == before
    generators = [CandidateGenerator(ease(), 30, keep_ranks=True, keep_scores=True)]
    staged = CalibratedRankingModel(generators, LastNSplitter(3, 1), CalibratedReranker()).fit(DATA)
    staged.recommend(USERS, DATA, 5, True)
    assert b"IdMap" not in pickle.dumps(staged.reranker)


def test_without_features_a_table_is_asked_for() -> None:
    without = dataset(item_features_df=None, cat_item_features=())
    with pytest.raises(InputError, match="pass a table with categories: items=table"):
        CalibratedModel(ease(), 30).fit(without).recommend(USERS, without, 5, True)
