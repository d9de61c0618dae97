from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import InputError
from tests.tables.invented import (
    CANDIDATES,
    EQUAL,
    GENRE_COLUMNS,
    ITEMS,
    KINDS,
    RERANKER,
    as_arrow,
    invented_tables,
    rerank,
)


@pytest.mark.parametrize(
    ("probability", "says"),
    [
        (None, "column 'probability' of lotteries: row 0 is nan, must be finite and at least 0"),
        (-1.0, "row 0 is -1.0, must be finite"),
        (0.0, "is 0 in all rows of 1 user, must be above 0 for a ranking of every user"),
    ],
)
def test_lotteries_without_probabilities_cannot_be_drawn_from(probability: float | None, says: str) -> None:
    lotteries = Reranker(k=2).lotteries(CANDIDATES, ITEMS, targets=EQUAL).drop_columns("probability")
    column = pa.array([probability] * len(lotteries), pa.float64())
    with pytest.raises(InputError, match=says):
        Reranker().draw(lotteries.append_column("probability", column))


def test_lotteries_that_were_stored_twice_are_not_drawn_from() -> None:
    lotteries = Reranker(k=2).lotteries(CANDIDATES, ITEMS, targets=EQUAL)
    with pytest.raises(InputError, match="lotteries: have rank 1 twice in ranking 1 of user 'u', must have each rank"):
        Reranker().draw(pa.concat_tables([lotteries, lotteries]))


@pytest.mark.parametrize("how", [{"visit": 1}, {"propensities": True}])
def test_visits_and_propensities_are_told_by_the_items_of_lotteries(how: dict[str, Any]) -> None:
    lotteries = Reranker(k=2).lotteries(CANDIDATES, ITEMS, targets=EQUAL)
    nameless = lotteries.set_column(4, "item_id", pa.array([1, None] * (len(lotteries) // 2), pa.int64()))
    with pytest.raises(InputError, match="lotteries: row 1 has no item, must have an item in each row"):
        Reranker().draw(nameless, **how)
    assert len(Reranker().draw(nameless)) == 2


def test_stored_lotteries_are_drawn_from_later() -> None:
    tables = invented_tables()
    lotteries = RERANKER.lotteries(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    shuffled = lotteries.take(np.random.default_rng(0).permutation(len(lotteries)))
    for day in (None, "2030-01-31", 7):
        assert RERANKER.draw(shuffled, day=day).equals(rerank(tables, day=day))
    assert not RERANKER.draw(lotteries, day=1).equals(RERANKER.draw(lotteries, day=2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [{}, {"rank": "place", "probability": "chance", "propensity": "here"}])
def test_what_is_drawn_from_stored_lotteries_is_the_slates_column_for_column(kind: str, names: dict[str, str]) -> None:
    tables = invented_tables(users=6)
    candidates = KINDS[kind](tables.candidates.append_column("propensity", pa.array([0.5] * 150)))
    asked: dict[str, Any] = {"history": tables.history, **GENRE_COLUMNS}
    users = pa.table({"user_id": [101, 103], "visit": [2, 70]})
    lotteries = RERANKER.lotteries(candidates, tables.items, **asked, **names)
    for propensities in (False, True):
        for more in ({}, {"day": 7}, {"visit": 3}, {"day": "2030-01-31", "visit": 1, "users": users}):
            how: dict[str, Any] = {"propensities": propensities, **more, **names}
            drawn, slates = RERANKER.draw(lotteries, **how), RERANKER.rerank(candidates, tables.items, **asked, **how)
            assert drawn.equals(slates)
            assert as_arrow(drawn).schema == as_arrow(slates).schema
