from typing import Any

import pytest

from excalibr import Reranker
from excalibr.errors import ExcalibrError, InputError
from tests.tables.invented import CANDIDATES, ITEMS


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
        ({"targets": {"a": 1}, "user_id": 7}, "user_id: is 7, must be the name of a column"),
        ({"targets": {"a": 1}, "items_weight": ["w"]}, r"items_weight: is \['w'\], must be the name of a column"),
        ({"targets": {"a": 1}, "category": 7}, "category: is 7, must be the name of a column, or names of several"),
        ({"targets": {"a": 1}, "category": ["category", 7]}, "category: is .*, must be the name of a column, or names"),
        ({"targets": {"a": 1}, "category": {7: "category"}}, "category: is .*, must be the name of a column, or names"),
        ({"targets": {"a": 1}, "separator": 7}, "separator: is 7, must be a text, or None"),
        (
            {"targets": {"a": 1}, "prior": {"a": 1}, "strength": "x"},
            "strength: is 'x', must be a finite number of at least 0",
        ),
        ({"history": CANDIDATES, "half_life": "x"}, "half_life: is 'x', must be above 0"),
        ({"targets": {"a": 1}, "usr_id": "user"}, "option: is 'usr_id'.*did you mean 'user_id'"),
    ],
)
def test_tables_that_do_not_fit_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        Reranker(k=1).rerank(CANDIDATES, ITEMS, **options)


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        ("rerank", {"user_id": "item_id"}, "item_id: is 'item_id', as user_id is, must have a name of its own"),
        ("rerank", {"rank": "score"}, "rank: is 'score', as score is"),
        ("rerank", {"probability": "score", "propensities": True}, "probability: is 'score', as score is"),
        ("lotteries", {"probability": "score"}, "probability: is 'score', as score is"),
        ("lotteries", {"ranking": "rank"}, "ranking: is 'rank', as rank is.*Hint: pass ranking=…"),
    ],
)
def test_columns_that_are_written_have_names_of_their_own(asked: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        getattr(Reranker(k=1), asked)(CANDIDATES, ITEMS, targets={"a": 1}, **options)


def test_a_score_may_be_called_as_a_column_that_is_not_written() -> None:
    named = CANDIDATES.rename_columns(["probability" if name == "score" else name for name in CANDIDATES.column_names])
    slates = Reranker(k=1).rerank(named, ITEMS, targets={"a": 1}, score="probability")
    assert (
        slates["probability"].to_pylist()
        == Reranker(k=1).rerank(CANDIDATES, ITEMS, targets={"a": 1})["score"].to_pylist()
    )
