from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from excalibr import Policy, Reranker, Shown, calibrate
from excalibr.errors import BatchWarning, InputError
from excalibr.positions import raw_weights
from tests.tables.attributes import GENRES, Rows, items_of, seen_before
from tests.tables.invented import CANDIDATES, ITEMS, RERANKER, Invented, quietly


def test_pinned_items_keep_their_ranks(tables: Invented) -> None:
    rows = Rows(tables)
    worst = rows.candidates.sort_values("score").groupby("user_id").first().reset_index()
    pinned = pa.table({"user_id": worst["user_id"], "rank": [2] * 12, "item_id": worst["item_id"]})

    def solve(user: int, own: Any, seen: Any) -> Policy:
        item = worst.loc[worst["user_id"] == user, "item_id"].iloc[0]
        place = int(np.flatnonzero(own["item_id"] == item)[0])
        wanted, chosen = rows.genres[seen].mean(axis=0), rows.genres[own["item_id"]]
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, pinned={1: place})

    options = {"history": tables.history, "pinned": pinned, **GENRES}
    slates = RERANKER.rerank(tables.candidates, tables.items, **options)
    assert items_of(slates)[1::5] == worst["item_id"].tolist()
    assert items_of(slates) == rows.each(solve)


@pytest.mark.parametrize("pin", [(1, 10**6), (0, None), (1.5, None), (None, None)])
def test_a_pin_that_cannot_be_kept_is_the_users_status(tables: Invented, pin: tuple[Any, Any]) -> None:
    rank, item = pin
    own = tables.candidates["item_id"][0].as_py()
    pinned = pa.table({"user_id": [100], "rank": [rank], "item_id": [item or own]})
    options = {"history": tables.history, "pinned": pinned, **GENRES}
    with pytest.warns(
        BatchWarning, match="1 of 12 users could not be calibrated and are ranked by relevance .1 bad pin"
    ):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"].tolist() == ["bad pin"] + ["ok"] * 11
    assert report["relevance"][0] == report["relevance_before"][0]


def test_a_pin_beyond_the_last_slot_is_the_users_status_with_the_reason(tables: Invented) -> None:
    pinned = tables.candidates.slice(0, 1).select(["user_id", "item_id"]).append_column("rank", pa.array([6]))
    options = {"history": tables.history, "pinned": pinned, **GENRES}
    with pytest.warns(BatchWarning, match="1 failed"):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"][0] == "failed: pinned: has the rank 6, must have whole numbers from 1 to 5."


@pytest.mark.parametrize("pins", [{"rank": [2, 2], "item_id": [1, 3]}, {"rank": [3, 2], "item_id": [3, 3]}])
def test_which_of_two_pins_is_kept_does_not_depend_on_their_order(pins: dict[str, list[int]]) -> None:
    pinned = pa.table({"user_id": ["u", "u"], **pins})
    slates = [
        quietly(Reranker(k=3), CANDIDATES, ITEMS, targets={"a": 1.0}, pinned=each)
        for each in (pinned, pinned.take(pa.array([1, 0])))
    ]
    assert items_of(slates[0]) == items_of(slates[1])
    assert items_of(slates[0])[1] == (1 if pins["rank"] == [2, 2] else 3)


def test_users_who_are_ranked_by_relevance_keep_their_pins(tables: Invented) -> None:
    own = tables.candidates["item_id"][3].as_py()
    pinned = pa.table({"user_id": [100], "rank": [3], "item_id": [own]})
    targets = pa.table({"user_id": [101], "category": ["drama"], "weight": [1.0]})
    with pytest.warns(BatchWarning, match="no target"):
        slates = RERANKER.rerank(tables.candidates, tables.items, targets=targets, pinned=pinned, **GENRES)
    assert items_of(slates)[2] == own
    assert len(set(items_of(slates)[:5])) == 5


@pytest.mark.parametrize("attention", ["weight", "rank", "nothing"])
def test_shown_items_count_and_are_not_shown_again(tables: Invented, attention: str) -> None:
    rows, shown = Rows(tables), seen_before(tables)
    shown["weight"] = 0.25 * shown["rank"]
    weights = {"weight": shown["weight"], "rank": raw_weights("log", 5)[shown["rank"] - 1], "nothing": 1.0}
    table = shown[[name for name in ("user_id", "item_id", attention) if name in shown]]
    before = shown.assign(weight=weights[attention])
    pairs = pd.MultiIndex.from_frame(before[["user_id", "item_id"]])
    rows.candidates = rows.candidates[~rows.candidates.set_index(["user_id", "item_id"]).index.isin(pairs)]

    def solve(user: int, own: Any, seen: Any) -> Policy:
        mine = before[before["user_id"] == user]
        wanted, chosen = rows.genres[seen].mean(axis=0), rows.genres[own["item_id"]]
        page = Shown(categories=rows.genres[mine["item_id"]], position_weights=mine["weight"])
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, shown=page)

    slates = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, shown=table, **GENRES)
    assert items_of(slates) == rows.each(solve)


@pytest.mark.parametrize(
    ("weights", "attention"),
    [("log", [1 / np.log(2.0), 1 / np.log(1e15 + 1.0)]), ([3.0, 2.0, 1.0, 1.0, 1.0], [3.0, 0.0])],
)
def test_a_rank_far_down_the_page_had_the_attention_of_its_slot(
    tables: Invented, weights: Any, attention: list[float]
) -> None:
    seen = tables.candidates.slice(0, 2).select(["user_id", "item_id"])
    given = {"rank": [1.0, 1e15], "weight": attention}
    shown = [seen.append_column(name, pa.array(values)) for name, values in given.items()]
    reranker = Reranker(k=5, trade_off=0.4, position_weights=weights)
    found = [
        reranker.rerank(tables.candidates, tables.items, history=tables.history, shown=each, **GENRES) for each in shown
    ]
    assert items_of(found[0]) == items_of(found[1])


def test_who_has_seen_all_candidates_has_none_left(tables: Invented) -> None:
    own = tables.candidates.slice(0, 25).select(["user_id", "item_id"])
    options = {"history": tables.history, "shown": own, **GENRES}
    with pytest.warns(BatchWarning, match="1 no candidates"):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"][0] == "no candidates"


@pytest.mark.parametrize("rank", [0.0, 0.5, -1.0, np.inf])
def test_a_rank_before_the_first_or_without_end_in_shown_is_an_error(tables: Invented, rank: float) -> None:
    shown = tables.candidates.slice(0, 1).select(["user_id", "item_id"]).append_column("rank", pa.array([rank]))
    with pytest.raises(InputError, match=f"column 'rank' of shown: row 0 is {rank}, must be finite and at least 1"):
        RERANKER.rerank(tables.candidates, tables.items, shown=shown, history=tables.history, **GENRES)


@pytest.mark.parametrize("column", ["rank", "weight"])
def test_an_item_shown_without_a_rank_or_weight_got_no_attention_and_is_not_shown_again(
    tables: Invented, column: str
) -> None:
    options: dict[str, Any] = {"history": tables.history, **GENRES}
    own = tables.candidates.slice(0, 5).select(["user_id", "item_id"])
    shown = own.append_column(column, pa.array([None] * 5, pa.float64()))
    slates = RERANKER.rerank(tables.candidates, tables.items, shown=shown, **options)
    others = tables.candidates.slice(5)
    assert items_of(slates) == items_of(RERANKER.rerank(others, tables.items, **options))


def test_a_pin_that_cannot_be_kept_hides_no_worse_status() -> None:
    pinned = pa.table({"user_id": ["u"], "rank": [0], "item_id": [1]})
    with pytest.warns(BatchWarning, match="1 no target"):
        Reranker(k=2).rerank(
            CANDIDATES, ITEMS, targets=pa.table({"user_id": ["x"], "category": ["a"], "weight": [1.0]}), pinned=pinned
        )
