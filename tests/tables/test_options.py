from typing import Any

import pytest

from excalibr import Reranker
from excalibr.errors import ExcalibrError
from tests.tables.invented import CANDIDATES, ITEMS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "history: is missing, must be given, or targets"),
        ({"targets": {"a": 1}, "history": CANDIDATES}, "targets: are given with a history"),
        ({"targets": {"a": -1}}, "targets: have a weight of -1, must have finite weights of at least 0, not all 0"),
        ({"targets": {"a": 1.7e308, "b": 1.7e308}}, "targets: have weights that add up to infinity, must have weights"),
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
        ({"targets": {"a": 1}, "propensities": "no"}, "propensities: is 'no', must be True or False"),
        ({"targets": {"a": 1}, "usr_id": "user"}, "option: is 'usr_id'.*did you mean 'user_id'"),
    ],
)
def test_tables_that_do_not_fit_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        Reranker(k=1).rerank(CANDIDATES, ITEMS, **options)
