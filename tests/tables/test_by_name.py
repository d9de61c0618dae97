from typing import Any

import numpy as np
import pytest

from excalibr import Reranker
from excalibr.errors import InputError
from tests.tables.attributes import ATTRIBUTES, GENRES
from tests.tables.invented import CANDIDATES, ITEMS, Invented


def test_options_by_category_name_the_categories() -> None:
    wanted: dict[str, Any] = {"targets": {"a": 1.0}}
    assert Reranker(k=2, trade_off=0.5, floors={"b": 0.5}, position_weights="uniform").report(
        CANDIDATES, ITEMS, **wanted
    )["deviation"].to_pylist() == pytest.approx([1.0])
    slates = Reranker(k=2, max_per_category={"a": 1}).rerank(CANDIDATES, ITEMS, **wanted)
    assert sorted(slates["item_id"].to_pylist()) == [1, 3]
    with pytest.raises(InputError, match="floors: is 'drama', must be one of 'a', 'b'"):
        Reranker(k=2, floors={"drama": 0.5}).rerank(CANDIDATES, ITEMS, **wanted)


def test_options_by_category_go_by_attribute(tables: Invented) -> None:
    reranker = Reranker(k=5, trade_off=0.4, caps={"decade": {"1990s": 0.2}}, seed=3)
    options = {"history": tables.history, **ATTRIBUTES}
    lotteries = reranker.lotteries(tables.candidates, tables.items, **options).to_pandas()
    weights = 1 / np.log(np.arange(2, 7))
    nineties = tables.items["decade"].to_numpy(zero_copy_only=False)[lotteries["item_id"]] == "1990s"
    shown = lotteries["probability"] * nineties * (weights / weights.sum())[lotteries["rank"] - 1]
    assert shown.groupby(lotteries["user_id"]).sum().max() <= 0.2 + 1e-9


@pytest.mark.parametrize(
    ("ranking", "options", "message"),
    [
        ({"attribute_weights": {"decade": 1}}, GENRES, "attribute_weights: is .* must go with several attributes"),
        ({"attribute_weights": {"decades": 1}}, ATTRIBUTES, "did you mean 'decade'"),
        ({"floors": 0.1}, ATTRIBUTES, "floors: is 0.1, must be a mapping by attribute"),
        ({"floors": {"genres": {"dramas": 0.1}}}, ATTRIBUTES, "did you mean 'drama'"),
        ({}, {"category": [], "separator": "|"}, "category: is empty"),
        ({}, {"category": ["genres", "decades"]}, "column 'decades' not found in items"),
    ],
)
def test_attributes_that_do_not_fit_are_errors(
    tables: Invented, ranking: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(k=5, **ranking).rerank(tables.candidates, tables.items, history=tables.history, **options)
