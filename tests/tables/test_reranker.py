import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import BatchWarning, InputError, InputTypeError
from tests.tables.invented import GENRE_COLUMNS, Invented, invented_tables, one_by_one

RERANKER = Reranker(k=5, trade_off=0.4, seed=3)


class Streamed:
    """A table that offers an Arrow stream and nothing else."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


KINDS: dict[str, Any] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas with Arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "stream": Streamed,
}


def as_arrow(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    return table.to_arrow() if isinstance(table, pl.DataFrame) else table.replace_schema_metadata(None)


def rerank(tables: Invented, reranker: Reranker = RERANKER, **options: Any) -> Any:
    return reranker.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text_ids", [False, True])
def test_every_kind_of_table_gives_the_same_slates_in_its_own_kind(kind: str, text_ids: bool) -> None:
    tables = invented_tables(text_ids=text_ids)
    given = Invented(*(KINDS[kind](table) for table in (tables.candidates, tables.items, tables.history)))
    slates = rerank(given)
    assert isinstance(slates, pa.Table if kind == "stream" else type(given.candidates))
    assert as_arrow(slates).to_pydict() == rerank(tables).to_pydict()


@pytest.mark.parametrize("kind", ["int16", "uint64", "Int64", "category", "str", "object"])
def test_ids_and_kept_columns_come_back_in_their_own_type(kind: str) -> None:
    tables = invented_tables(users=4)
    candidates = tables.candidates.to_pandas()
    text = "str" if kind == "object" else kind
    candidates["user_id"] = candidates["user_id"].astype(text).astype(kind)
    candidates["item_id"] = candidates["item_id"].astype("int32")
    candidates["note"] = pd.Categorical(["x", "y"] * 50)
    history = tables.history.to_pandas()
    history["user_id"] = history["user_id"].astype(text).astype(candidates["user_id"].dtype)
    slates = RERANKER.rerank(candidates, tables.items, history=history, **GENRE_COLUMNS)
    assert list(slates.columns) == ["user_id", "rank", "item_id", "score", "source", "note"]
    assert slates.dtypes[["user_id", "item_id", "note"]].equals(candidates.dtypes[["user_id", "item_id", "note"]])
    assert slates["rank"].tolist() == [1, 2, 3, 4, 5] * 4


def test_each_user_gets_what_calibrate_and_sample_give() -> None:
    tables = invented_tables(text_ids=True)
    slates = rerank(tables).to_pandas()
    for user, drawn in one_by_one(tables, k=5, trade_off=0.4, seed=3).items():
        assert slates["item_id"][slates["user_id"] == user].tolist() == drawn


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    tables = invented_tables()
    assert rerank(tables.shuffled(seed)).to_pydict() == rerank(tables).to_pydict()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    tables = invented_tables(users=200)
    slates = rerank(tables, Reranker(k=5, trade_off=0.4, seed=3, threads=threads))
    assert slates.equals(rerank(tables))


def test_users_can_be_ranked_apart_or_together() -> None:
    tables = invented_tables()
    ids = tables.candidates["user_id"]
    parts = [tables.candidates.filter(pa.compute.equal(ids, user)) for user in ids.unique()]
    alone = [rerank(Invented(part, tables.items, tables.history)) for part in parts]
    assert pa.concat_tables(alone).equals(rerank(tables))


@pytest.mark.parametrize("method", ["greedy", "top-k"])
def test_other_methods_are_asked_for_in_the_same_words(method: str) -> None:
    tables = invented_tables(users=5)
    slates = rerank(tables, Reranker(k=5, method=method))
    assert len(slates) == 25


def test_stored_lotteries_are_drawn_from_later() -> None:
    tables = invented_tables()
    lotteries = RERANKER.lotteries(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    shuffled = lotteries.take(np.random.default_rng(0).permutation(len(lotteries)))
    for day in (None, "2030-01-31", 7):
        assert RERANKER.draw(shuffled, day=day).equals(rerank(tables, day=day))
    assert not RERANKER.draw(lotteries, day=1).equals(RERANKER.draw(lotteries, day=2))


def test_probabilities_of_a_users_rankings_sum_to_one() -> None:
    tables = invented_tables()
    lotteries = RERANKER.lotteries(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    frame = lotteries.to_pandas()
    assert list(frame.columns)[:6] == ["user_id", "ranking", "probability", "rank", "item_id", "score"]
    sums = frame[frame["rank"] == 1].groupby("user_id")["probability"].sum()
    assert np.allclose(sums, 1.0)


def test_the_report_has_a_row_a_user() -> None:
    tables = invented_tables()
    report = RERANKER.report(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS).to_pandas()
    assert len(report) == 30
    assert (report["deviation"] < report["deviation_before"]).all()
    assert (report["relevance"] <= report["relevance_before"] + 1e-12).all()
    assert (report["draw_deviation"] <= report["worst_draw_deviation"]).all()
    assert (report["gap"] < 1e-9).all()
    assert set(report["status"]) == {"ok"}


def test_trade_off_and_k_may_be_each_users_own() -> None:
    tables = invented_tables(users=3)
    users = pa.table({"user_id": [101, 100], "trade_off": [None, 0.0], "k": [2, None]})
    slates = rerank(tables, users=users)
    assert slates["user_id"].value_counts().to_pylist() == [
        {"values": 100, "counts": 5},
        {"values": 101, "counts": 2},
        {"values": 102, "counts": 5},
    ]
    by_score = tables.candidates.slice(0, 25).sort_by([("score", "descending")])
    assert slates["score"][:5].to_pylist() == by_score["score"][:5].to_pylist()


def test_a_users_own_number_that_cannot_be_is_that_users_status() -> None:
    tables = invented_tables(users=3)
    users = pa.table({"user_id": [100, 101], "trade_off": [7.0, 0.5]})
    with pytest.warns(
        BatchWarning, match="1 of 3 users could not be calibrated and are ranked by relevance .1 bad trade off"
    ):
        assert len(rerank(tables, users=users)) == 15


def test_options_by_category_name_the_categories() -> None:
    wanted: dict[str, Any] = {"targets": {"a": 1.0}}
    assert Reranker(k=2, trade_off=0.5, floors={"b": 0.5}, position_weights="uniform").report(
        CANDIDATES, ITEMS, **wanted
    )["deviation"].to_pylist() == pytest.approx([1.0])
    slates = Reranker(k=2, max_per_category={"a": 1}).rerank(CANDIDATES, ITEMS, **wanted)
    assert sorted(slates["item_id"].to_pylist()) == [1, 3]
    with pytest.raises(InputError, match="floors: is 'drama', must be one of 'a', 'b'"):
        Reranker(k=2, floors={"drama": 0.5}).rerank(CANDIDATES, ITEMS, **wanted)


def test_a_relevance_budget_takes_the_place_of_a_trade_off() -> None:
    tables = invented_tables(users=5)
    report = (
        Reranker(k=5, relevance_loss=0.05)
        .report(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
        .to_pandas()
    )
    assert (report["relevance"] >= 0.95 * report["relevance_before"] - 1e-9).all()
    assert (report["deviation"] < report["deviation_before"]).all()


def test_what_cannot_be_kept_is_the_users_status_with_the_reason() -> None:
    reranker = Reranker(k=2, floors={"a": 0.9, "b": 0.9})
    with pytest.warns(BatchWarning, match="1 failed"):
        report = reranker.report(CANDIDATES, ITEMS, targets={"a": 1.0})
    assert report["status"][0].as_py().startswith("failed: ")


def quietly(reranker: Reranker, *tables: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        return reranker.rerank(*tables, **options)


ITEMS = pa.table({"item_id": [1, 2, 3, 4], "category": ["a", "a", "b", "b"]})
CANDIDATES = pa.table({"user_id": ["u"] * 4, "item_id": [1, 2, 3, 4], "score": [0.9, 0.8, 0.5, 0.4]})
FOUR: dict[str, Any] = {"user_id": ["u"] * 4, "item_id": [1, 2, 3, 4], "score": [0.9, 0.8, 0.5, 0.4]}


def test_users_without_history_are_ranked_by_relevance() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    with pytest.warns(BatchWarning, match="1 of 1 users could not be calibrated.*1 no target"):
        slates = Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history)
    assert slates["item_id"].to_pylist() == [1, 2]


def test_users_without_history_get_the_prior_if_there_is_one() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    prior = {"b": 1.0}
    slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, history=history, prior=prior)
    assert slates["item_id"].to_pylist() == [3, 4]


def test_a_prior_with_a_strength_is_added_to_every_history() -> None:
    history = pa.table({"user_id": ["u"], "item_id": [1]})
    report = Reranker(k=1, trade_off=0.99).report(
        CANDIDATES, ITEMS, history=history, prior={"a": 0.0, "b": 1.0}, strength=3
    )
    assert report["deviation_before"][0].as_py() == pytest.approx(1.5)


def test_bad_users_may_be_left_out_or_stop_everything() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    assert len(quietly(Reranker(k=2, fallback="nothing"), CANDIDATES, ITEMS, history=history)) == 0
    with pytest.raises(InputError, match="candidates: user 'u' has no target"):
        Reranker(k=2, fallback="error").rerank(CANDIDATES, ITEMS, history=history)


def test_items_outside_the_items_table_are_left_out_of_candidates_and_history() -> None:
    candidates = pa.table(FOUR | {"item_id": [1, 2, 3, 99]})
    history = pa.table({"user_id": ["u"] * 3, "item_id": [3, 98, 98]})
    with pytest.warns(BatchWarning, match="Rows left out: 1 of items that are not in the items table"):
        slates = Reranker(k=2, trade_off=1.0).rerank(candidates, ITEMS, history=history)
    assert 99 not in slates["item_id"].to_pylist()


def test_fewer_candidates_than_slots_are_all_ranked() -> None:
    with pytest.warns(BatchWarning, match="1 users have no more candidates than slots"):
        slates = Reranker(k=10).rerank(CANDIDATES, ITEMS, targets={"a": 1, "b": 1})
    assert sorted(slates["item_id"].to_pylist()) == [1, 2, 3, 4]


def test_of_candidates_that_repeat_the_best_score_stays() -> None:
    candidates = pa.table({"user_id": ["u"] * 3, "item_id": [1, 1, 2], "score": [0.1, 0.9, 0.5]})
    with pytest.warns(BatchWarning, match="1 that repeat a user and an item"):
        slates = Reranker(k=1, trade_off=0.0).rerank(candidates, ITEMS, targets={"a": 1})
    assert slates.to_pydict() == {"user_id": ["u"], "rank": [1], "item_id": [1], "score": [0.9]}


def test_nulls_are_left_out_and_counted() -> None:
    candidates = pd.DataFrame(
        {
            "user_id": ["u", None, "u", "u", "v"],
            "item_id": [1, 2, None, 3, 4],
            "score": [0.5, 0.5, 0.5, np.nan, np.inf],
        }
    )
    with pytest.warns(BatchWarning, match="2 without a finite score, 1 without a user, 1 without an item"):
        slates = Reranker(k=1).rerank(candidates, ITEMS, targets={"a": 1})
    assert slates["item_id"].tolist() == [1]


def test_a_column_that_nulls_turned_into_floats_draws_as_whole_numbers() -> None:
    tables = invented_tables()
    candidates = tables.candidates.to_pandas()
    whole = rerank(Invented(candidates, tables.items, tables.history))
    candidates.loc[len(candidates)] = [None, None, None, None]
    with pytest.warns(BatchWarning, match="1 without a user"):
        slates = rerank(Invented(candidates, tables.items, tables.history))
    assert candidates["user_id"].dtype == np.float64
    assert slates["item_id"].tolist() == whole["item_id"].tolist()


def test_integers_of_any_size_are_ids() -> None:
    huge = [2**63 + 5, 2**70, 3, -(2**80)]
    candidates = pd.DataFrame({"user_id": huge, "item_id": huge, "score": [1.0, 2.0, 3.0, 4.0]}, dtype=object)
    candidates["score"] = candidates["score"].astype(float)
    items = pd.DataFrame({"item_id": pd.Series(huge, dtype=object), "category": ["a", "a", "b", "b"]})
    slates = quietly(Reranker(k=1), candidates, items, targets={"a": 1, "b": 1})
    assert slates["user_id"].tolist() == sorted(huge)
    assert slates["item_id"].tolist() == sorted(huge)


def test_targets_may_come_from_a_table_or_be_one_for_all() -> None:
    by_user = pa.table({"user_id": ["u", "u"], "category": ["b", "no such"], "weight": [2.0, 5.0]})
    for_all = pa.table({"category": ["b"], "weight": [1.0]})
    for wanted in (by_user, for_all, {"b": 3}):
        slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=wanted)
        assert slates["item_id"].to_pylist() == [3, 4]


def test_a_negative_weight_in_a_history_is_that_users_status() -> None:
    history = pa.table({"user_id": ["u", "u"], "item_id": [1, 3], "weight": [1.0, -1.0]})
    with pytest.warns(BatchWarning, match="1 bad target"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history)


def test_the_history_counts_by_weight_and_by_age() -> None:
    history = {"user_id": ["u", "u"], "item_id": [1, 3], "weight": [1.0, 3.0], "timestamp": [0, 10]}
    asked: dict[str, Any] = {"k": 1, "trade_off": 0.99}
    weighed = Reranker(**asked).report(CANDIDATES, ITEMS, history=pa.table(history))
    assert weighed["deviation_before"][0].as_py() == pytest.approx(1.5)
    aged = Reranker(**asked).report(
        CANDIDATES, ITEMS, history=pa.table(history | {"weight": [1.0, 1.0]}), half_life=10.0
    )
    assert aged["deviation_before"][0].as_py() == pytest.approx(4 / 3)
    dates = pd.DataFrame(history | {"weight": 1.0, "timestamp": pd.to_datetime(["2030-01-01", "2030-01-02"])})
    daily = Reranker(**asked).report(CANDIDATES, ITEMS, history=dates, half_life=86400.0)
    assert daily["deviation_before"][0].as_py() == pytest.approx(4 / 3)


def test_a_mistyped_column_is_answered_with_the_columns_there_are() -> None:
    with pytest.raises(InputError) as raised:
        RERANKER.rerank(CANDIDATES.rename_columns(["users", "item_id", "pred"]), ITEMS, targets={"a": 1})
    assert str(raised.value) == (
        "column 'user_id' not found in candidates. Hint: columns are ['users', 'item_id', 'pred']; "
        "pass user_id='users'."
    )


def test_columns_may_have_other_names() -> None:
    candidates = CANDIDATES.rename_columns(["who", "what", "how"])
    items = ITEMS.rename_columns(["what", "kind"])
    names = {"user_id": "who", "item_id": "what", "score": "how", "category": "kind", "rank": "place"}
    slates = Reranker(k=2).rerank(candidates, items, targets={"a": 1, "b": 1}, **names)
    assert slates.column_names == ["who", "place", "what", "how"]


def test_ids_of_different_types_are_an_error_that_says_so() -> None:
    items = pa.table({"item_id": ["1"], "category": ["a"]})
    with pytest.raises(InputTypeError, match="item_id: is whole numbers in candidates and text in items"):
        Reranker(k=1).rerank(CANDIDATES, items, targets={"a": 1})


def test_an_empty_table_gives_an_empty_one_with_the_same_columns() -> None:
    slates = Reranker(k=2).rerank(CANDIDATES[:0], ITEMS, targets={"a": 1})
    assert slates.column_names == ["user_id", "rank", "item_id", "score"]
    assert len(slates) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "history: is missing, must be given, or targets"),
        ({"targets": {"a": 1}, "history": CANDIDATES}, "targets: are given with a history"),
        ({"targets": {"a": -1}}, "targets: have a weight of -1, must have finite weights of at least 0, not all 0"),
        ({"targets": {"z": 1}}, "targets: have no weight on a category that an item has.*categories are"),
        ({"targets": {"a": 1}, "strength": 2}, "strength: is 2 without a prior"),
        (
            {"targets": {"a": 1}, "users": CANDIDATES},
            "users: has the columns .*, must have 'trade_off', 'k'",
        ),
        ({"targets": {"a": 1}, "usr_id": "user"}, "option: is 'usr_id'.*did you mean 'user_id'"),
    ],
)
def test_tables_that_do_not_fit_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(k=1).rerank(CANDIDATES, ITEMS, **options)


@pytest.mark.parametrize("table", [[1, 2], pl.LazyFrame({"user_id": [1]}), {"user_id": [1]}])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(InputTypeError, match="candidates: is a .*, must be a table of pandas, Polars or PyArrow"):
        Reranker(k=1).rerank(table, ITEMS, targets={"a": 1})


@pytest.mark.parametrize("wrong", [{"fallback": "none"}, {"threads": 0}, {"k": 0}])
def test_a_reranker_is_checked_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Reranker(**wrong)
