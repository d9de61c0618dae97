from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lenskit")

from lenskit.data import DatasetBuilder, ItemList, RecQuery
from lenskit.testing import BasicComponentTests
from lenskit.testing._components import TrainingTests
from lenskit.training import TrainingOptions

import excalibr
from excalibr.errors import ExcalibrError, InputError, TruncationWarning
from excalibr.lenskit import CalibratedReranker, CalibratedRerankerConfig
from tests.lenskit.invented import GENRES, ITEMS, dataset, interactions, items_table, scored, shares

DATA = dataset()
USERS = range(1, 13)


class TestLensKitsOwnKit(BasicComponentTests, TrainingTests):  # type: ignore[misc]
    component = CalibratedReranker
    configs = (
        {"attribute": ["genres", "era"], "attribute_weights": {"genres": 1.0, "era": 0.5}, "rng": 7},
        {"trade_off": 0.3, "n": 10, "floors": {"drama": 0.1}, "rng": [7, "user"]},
        {"relevance_loss": 0.02, "divergence": "kl", "rng": "user", "targets": {"drama": 0.5, "comedy": 0.5}},
        {"position_weights": [3.0, 2.0, 1.0], "prior": {"drama": 1.0}, "strength": 2.0, "half_life": 100.0},
    )

    @pytest.fixture
    def ml_ds(self) -> Any:
        return DATA


def trained(**options: Any) -> CalibratedReranker:
    reranker = CalibratedReranker(**options)
    reranker.train(DATA)
    return reranker


def candidates(**options: Any) -> pd.DataFrame:
    lists = {user: scored(DATA, user, **options) for user in USERS}
    tables = [
        pd.DataFrame({"user_id": user, "item_id": own.ids(), "score": own.scores()}) for user, own in lists.items()
    ]
    return pd.concat(tables)


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        ({}, {}),
        ({"trade_off": 0.2, "divergence": "kl"}, {}),
        ({"draws": "single"}, {}),
        ({"method": "greedy"}, {}),
        ({"caps": {"drama": 0.3}}, {}),
        ({"position_weights": [4.0, 3.0, 2.0, 1.0, 1.0]}, {}),
        ({"relative": True, "category_weights": {"horror": 2.0}}, {}),
    ],
)
def test_a_list_is_what_the_reranker_of_tables_gives_the_user(options: dict[str, Any], tables: dict[str, Any]) -> None:
    reranker = trained(rng=(5, "user"), **options)
    slates = excalibr.Reranker(k=5, seed=5, **options).rerank(
        candidates(), items_table(), history=interactions()[["user_id", "item_id"]], category="genres", **tables
    )
    for user in USERS:
        own = slates[slates["user_id"] == user]
        shown = reranker(scored(DATA, user), query=user, n=5)
        assert shown.ordered
        assert shown.ids().tolist() == own["item_id"].tolist()
        assert shown.scores().tolist() == own["score"].tolist()


def test_weights_and_ages_of_interactions_count_where_they_are_asked_for() -> None:
    reranker = trained(weight="rating", half_life=200.0, prior={"drama": 1.0}, strength=3.0)
    history = interactions().rename(columns={"rating": "weight"})
    how = {"half_life": 200.0, "prior": {"drama": 1.0}, "strength": 3.0, "category": "genres"}
    slates = excalibr.Reranker(k=5).rerank(candidates(), items_table(), history=history, **how)
    for user in USERS:
        shown = reranker(scored(DATA, user), query=user, n=5).ids().tolist()
        assert shown == slates[slates["user_id"] == user]["item_id"].tolist()


def test_a_query_with_a_history_of_its_own_has_the_target_of_that() -> None:
    reranker = trained(weight="rating", half_life=200.0)
    mine = interactions().query("user_id == 3")
    history = ItemList(mine["item_id"], rating=mine["rating"].to_numpy(), timestamp=mine["timestamp"].to_numpy())
    for_history = reranker(scored(DATA, 3), query=RecQuery(user_id=3, history_items=history), n=5)
    assert for_history.ids().tolist() == reranker(scored(DATA, 3), query=3, n=5).ids().tolist()
    comedies = ItemList([item for item in ITEMS.tolist() if item % 3 == 0 and item % 7])
    shown = trained(trade_off=0.95)(scored(DATA, 3), query=comedies, n=5)
    assert sum(int(item) % 3 == 0 for item in shown.ids()) >= 4


def test_several_attributes_are_learned_side_by_side() -> None:
    options: dict[str, Any] = {"attribute_weights": {"genres": 1.0, "era": 0.5}, "trade_off": 0.7}
    reranker = trained(attribute=["genres", "era"], **options)
    items = items_table().merge(items_table("era"))
    history = interactions()[["user_id", "item_id"]]
    slates = excalibr.Reranker(k=5, **options).rerank(candidates(), items, history=history, category=["genres", "era"])
    for user in USERS:
        shown = reranker(scored(DATA, user), query=user, n=5).ids().tolist()
        assert shown == slates[slates["user_id"] == user]["item_id"].tolist()


def test_vectors_and_scalars_are_categories_too() -> None:
    for attribute in ("dense", "sparse"):
        learned = trained(attribute=attribute).learned
        assert learned.items.categories.to_pylist() == ["(none)", *GENRES]
        np.testing.assert_allclose(learned.items.rows.dense()[:-1, 1:], shares()[:-1], atol=1e-7)
        assert learned.items.rows.dense()[-1].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert trained(attribute="era").learned.items.categories.to_pylist() == ["new", "old"]


def test_items_without_the_attribute_are_a_category_of_their_own() -> None:
    learned = trained().learned
    last = learned.items.rows.dense()[-1]
    assert learned.items.categories.to_pylist()[int(np.argmax(last))] == "(none)"


def test_other_fields_of_a_list_are_kept() -> None:
    given = scored(DATA, 2, price=True)
    shown = trained()(given, query=2, n=4)
    prices = dict(zip(given.ids().tolist(), given.field("price").tolist(), strict=True))
    assert shown.field("price").tolist() == [prices[item] for item in shown.ids().tolist()]


def test_unknown_items_and_items_without_a_score_are_left_out() -> None:
    ids = [999_999, *ITEMS[:6].tolist()]
    scores = [5.0, np.nan, 0.6, np.inf, 0.5, 0.4, 0.3]
    shown = trained()(ItemList(ids, scores=scores), query=1, n=3)
    assert set(shown.ids().tolist()) <= {ITEMS[1], *ITEMS[3:6]}
    assert len(shown) == 3


def test_nothing_gives_an_empty_list() -> None:
    reranker = trained()
    assert len(reranker(ItemList([], scores=[]), query=1, n=5)) == 0
    empty = reranker(scored(DATA, 1), query=1, n=0)
    assert len(empty) == 0
    assert empty.ordered


@pytest.mark.parametrize("query", [None, 4711, RecQuery(), RecQuery(user_id=4711)])
def test_an_unknown_user_gets_the_order_by_score_or_what_was_configured(query: Any) -> None:
    given = scored(DATA, 1)
    shown = trained()(given, query=query, n=5)
    assert shown.ids().tolist() == given.top_n(5).ids().tolist()
    assert len(trained(fallback="nothing")(given, query=query, n=5)) == 0
    with pytest.raises(InputError, match="query: .* must be of a user who can be calibrated"):
        trained(fallback="error")(given, query=query, n=5)
    for known in (trained(prior={"horror": 1.0}, trade_off=0.95), trained(targets={"horror": 1.0}, trade_off=0.95)):
        assert {int(item) % 3 for item in known(given, query=query, n=3).ids()} == {2}


def test_limits_that_cannot_be_kept_fall_back_as_configured() -> None:
    given, limits = scored(DATA, 1), {"floors": {"comedy": 0.9, "drama": 0.9}}
    assert trained(**limits)(given, query=1, n=5).ids().tolist() == given.top_n(5).ids().tolist()
    with pytest.raises(InputError, match="query: "):
        trained(fallback="error", **limits)(given, query=1, n=5)


def test_seeds_follow_lenskits_rules() -> None:
    uniform = ItemList(ITEMS[:3], vocabulary=DATA.items, scores=[0.5, 0.5, 0.5])

    def draws(rng: Any, user: int | None = 1) -> set[int]:
        reranker = trained(rng=rng, targets={"comedy": 0.34, "drama": 0.33, "horror": 0.33})
        return {int(reranker(uniform, query=user, n=1).ids()[0]) for _ in range(40)}

    assert len(draws((1, "user"))) == 1  # the same user, the same draw
    assert len(draws("user")) == 1
    assert len(draws(7)) > 1  # one stream of numbers
    assert draws(7) == draws(7)
    assert len(draws(None)) > 1
    assert len(draws((1, "user"), None)) > 1  # nobody to draw for: a stream


def test_as_many_slots_as_candidates_are_warned_of_once() -> None:
    reranker = trained()
    with pytest.warns(TruncationWarning, match="has 30 candidates for 30 slots, must have more than slots.*pipeline"):
        reranker(scored(DATA, 1), query=1, n=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reranker(scored(DATA, 1), query=1, n=30)


def test_the_length_is_the_calls_or_the_configured_one() -> None:
    given = scored(DATA, 1)
    assert len(trained(n=4)(given, query=1)) == 4
    assert len(trained(n=4)(given, query=1, n=6)) == 6
    assert len(trained(n=4)(given, query=1, n=-1)) == 4


def test_a_trained_reranker_can_be_stored() -> None:
    reranker = trained(trade_off=0.8)
    again = pickle.loads(pickle.dumps(reranker))
    for user in USERS:
        assert again(scored(DATA, user), user, 5).ids().tolist() == reranker(scored(DATA, user), user, 5).ids().tolist()


def test_it_is_trained_again_only_where_that_is_asked() -> None:
    reranker = trained()
    learned = reranker.learned
    reranker.train(DATA, TrainingOptions(retrain=False))
    assert reranker.learned is learned
    reranker.train(DATA, TrainingOptions(retrain=True))
    assert reranker.learned is not learned


def test_every_option_of_the_reranker_of_tables_can_be_configured() -> None:
    fields = set(CalibratedRerankerConfig.model_fields)
    assert set(excalibr.Reranker.__dataclass_fields__) - {"k", "seed", "threads"} <= fields


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trade_off": 2.0}, "trade_off: is 2.0, must be from 0"),
        ({"method": "greed"}, "did you mean 'greedy'"),
        ({"trade_of": 0.5}, "trade_of"),
        ({"strength": 3.0}, "strength: is 3.0 without a prior"),
        ({"position_weights": [3.0, 2.0, 1.0], "n": 4}, r"position_weights: have shape \(3,\), must have shape \(4,\)"),
        ({"n": -2}, "greater than or equal to 0"),
    ],
)
def test_a_bad_configuration_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CalibratedReranker(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"attribute": "genre"},
            r"attribute: is 'genre', must be an attribute .* \['dense', 'era', 'genres', 'sparse'\]",
        ),
        ({"attribute": []}, "attribute: is empty"),
        ({"weight": "stars"}, r"weight: is 'stars', .*\['rating', 'timestamp'\]"),
        ({"floors": {"dramma": 0.1}}, "did you mean 'drama'"),
        ({"targets": {"drama": [0.1, 0.2]}}, "targets: are bands"),
    ],
)
def test_what_the_dataset_does_not_have_is_said_when_training(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        trained(**options)


def test_items_need_scores() -> None:
    with pytest.raises(InputError, match="items: have no scores, must have a score each"):
        trained()(ItemList(ITEMS), query=1, n=3)


def test_a_reranker_that_is_not_trained_says_so() -> None:
    with pytest.raises(InputError, match=r"CalibratedReranker: is not trained, must be trained. Hint: call train"):
        CalibratedReranker()(scored(DATA, 1), query=1, n=3)


@pytest.mark.filterwarnings("ignore::excalibr.errors.BatchWarning", "ignore::excalibr.errors.TruncationWarning")
def test_with_fewer_candidates_than_slots_the_weights_of_the_first_slots_count_as_in_tables() -> None:
    weights: dict[str, Any] = {"position_weights": [4.0, 3.0, 2.0, 1.0, 1.0], "trade_off": 0.9}
    few = {user: scored(DATA, user, 4) for user in USERS}
    rows = [pd.DataFrame({"user_id": user, "item_id": own.ids(), "score": own.scores()}) for user, own in few.items()]
    slates = excalibr.Reranker(k=5, seed=5, **weights).rerank(
        pd.concat(rows), items_table(), history=interactions()[["user_id", "item_id"]], category="genres"
    )
    reranker = trained(rng=(5, "user"), n=5, **weights)
    for user in USERS:
        shown = reranker(few[user], query=user).ids().tolist()
        assert shown == slates[slates["user_id"] == user]["item_id"].tolist()


def test_weights_of_another_number_of_slots_are_refused_and_never_leave_the_order_by_score() -> None:
    with pytest.raises(InputError, match=r"position_weights: have shape \(3,\), must have shape \(5,\)"):
        trained(position_weights=[3.0, 2.0, 1.0])(scored(DATA, 1), query=1, n=5)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (None, "query: names no user, must be of a user"),
        (4711, "query: is of user 4711, who has no history"),
        (ItemList([999_999]), "query: has a history without an item of the dataset"),
    ],
)
def test_what_a_query_lacks_is_said_where_that_is_an_error(query: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        trained(fallback="error")(scored(DATA, 1), query=query, n=5)


def decades() -> Any:
    """Items of decades, which are numbers, and what one user liked."""
    builder = DatasetBuilder("decades")
    builder.add_entities("item", ITEMS)
    liked = pd.DataFrame({"user_id": 1, "item_id": ITEMS[:9]})
    builder.add_interactions("click", liked, entities=["user", "item"], missing="insert", default=True)
    builder.add_scalar_attribute("item", "decade", ITEMS, [1990 + 10 * (item % 3) for item in ITEMS])
    return builder.build()


def test_categories_that_are_numbers_may_be_named_by_numbers() -> None:
    reranker = CalibratedReranker(attribute="decade", targets={2000: 1.0}, trade_off=0.95)
    reranker.train(decades())
    shown = reranker(ItemList(ITEMS, scores=np.linspace(1.0, 0.0, len(ITEMS))), query=1, n=4)
    assert {int(item) % 3 for item in shown.ids()} == {1}


def test_a_half_life_without_timestamps_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="half_life: is given, must go with interactions that have a timestamp"):
        CalibratedReranker(attribute="decade", half_life=3.0).train(decades())
