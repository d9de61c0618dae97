import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import BatchWarning
from tests.tables.invented import CANDIDATES, FOUR, ITEMS


def test_items_outside_the_items_table_are_left_out_of_candidates_and_history() -> None:
    candidates = pa.table(FOUR | {"item_id": [1, 2, 3, 99]})
    history = pa.table({"user_id": ["u"] * 3, "item_id": [3, 98, 98]})
    with pytest.warns(BatchWarning, match="Rows left out: 1 of items that are not in the items table"):
        slates = Reranker(k=2, trade_off=1.0).rerank(candidates, ITEMS, history=history)
    assert 99 not in slates["item_id"].to_pylist()


def test_fewer_candidates_than_slots_are_all_ranked() -> None:
    with pytest.warns(BatchWarning, match="1 user has no more candidates than slots"):
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


def test_an_empty_table_gives_an_empty_one_with_the_same_columns() -> None:
    slates = Reranker(k=2).rerank(CANDIDATES[:0], ITEMS, targets={"a": 1})
    assert slates.column_names == ["user_id", "rank", "item_id", "score"]
    assert len(slates) == 0


def test_a_row_that_cannot_be_used_for_several_reasons_counts_for_the_first() -> None:
    rows = {"user_id": ["u", None, "u"], "item_id": [1, None, None], "score": [0.9, np.nan, np.nan]}
    found = Reranker(k=1).solve(pa.table(rows), ITEMS, targets={"a": 1.0}).tally
    assert dict(found.left_out) == {"without a user": 1, "without an item": 1}
