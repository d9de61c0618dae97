from typing import Any

import pytest

from excalibr import Reranker
from excalibr.errors import InputError
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
        ({"targets": {"a": 1}, "usr_id": "user"}, "option: is 'usr_id'.*did you mean 'user_id'"),
    ],
)
def test_tables_that_do_not_fit_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(k=1).rerank(CANDIDATES, ITEMS, **options)
