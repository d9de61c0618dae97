from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr._messages import CommandWords, message_of
from excalibr.errors import BatchWarning, InputError, InputTypeError
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


NUMBERED = pa.table({"item_id": [1, 2, 3, 4], "category": [1990, 1990, 2000, 2000]})


@pytest.mark.parametrize("name", [1990, "1990", 1990.0, np.int64(1990)])
def test_categories_that_are_numbers_are_named_as_in_targets(name: Any) -> None:
    report = Reranker(k=2, floors={name: 0.5}).report(CANDIDATES, NUMBERED, targets={name: 1.0})
    assert report["status"].to_pylist() == ["ok"]


def test_a_category_that_is_named_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="floors: has '1990' twice, must have each name once"):
        Reranker(k=2, floors={1990: 0.5, "1990": 0.3}).rerank(CANDIDATES, NUMBERED, targets={1990: 1.0})


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ({"floors": {"b": 1.1}}, "floors: of category 'b' is 1.1, must be shares from 0 to 1"),
        ({"floors": {"b": 0.9}, "caps": {"b": 0.5}}, "floors: of category 'b' is 0.9, must be at most its cap, 0.5"),
        ({"category_weights": {"b": "much"}}, r"category_weights\['b'\]: cannot be read as numbers"),
        ({"max_per_category": {"b": 1.5}}, "max_per_category: of category 'b' is 1.5, must be whole numbers"),
    ],
)
def test_errors_of_options_by_category_name_the_category(ranking: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=message) as error:
        Reranker(k=2, **ranking).rerank(CANDIDATES, ITEMS, targets={"a": 1.0})
    if "[" not in str(error.value):
        assert message_of(error.value, CommandWords(dict.fromkeys(ranking, "--flag"))).startswith("--flag")


def test_reasons_name_categories_items_and_ranks() -> None:
    wanted: dict[str, Any] = {"targets": {"a": 1.0}}

    def status(reranker: Reranker, items: Any = ITEMS, **options: Any) -> str:
        text: str = reranker.report(CANDIDATES, items, **wanted, **options)["status"][0].as_py()
        return text

    conflict = "these conflict: floor 0.9 of category 'a', floor 0.9 of category 'b'"
    with pytest.warns(BatchWarning):
        assert conflict in status(Reranker(k=2, floors={"a": 0.9, "b": 0.9}))
    with pytest.raises(InputError, match=conflict):
        status(Reranker(k=2, floors={"a": 0.9, "b": 0.9}, fallback="error"))
    strict = Reranker(k=2, floors={"category 0": 0.9, "of category 1": 0.9}, fallback="error")
    unlucky = ITEMS.set_column(1, "category", pa.array(["of category 1"] * 2 + ["category 0"] * 2))
    with pytest.raises(InputError, match="floor 0.9 of category 'category 0', floor 0.9 of category 'of category 1'"):
        strict.rerank(CANDIDATES, unlucky, targets={"category 0": 1.0})
    pinned = pa.table({"user_id": CANDIDATES["user_id"][:1], "rank": [9], "item_id": [2]})
    with pytest.warns(BatchWarning):
        assert "pinned: has the rank 9, must have whole numbers from 1 to 2" in status(Reranker(k=2), pinned=pinned)
    shared = pa.concat_tables([ITEMS, pa.table({"item_id": [3], "category": ["a"]})])
    with pytest.warns(BatchWarning):
        assert "of which item 3 has only a share" in status(Reranker(k=2, max_per_category={"a": 1}), shared)


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
