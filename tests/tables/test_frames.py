from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import InputError, InputTypeError
from tests.tables.invented import (
    CANDIDATES,
    EQUAL,
    FOUR,
    GENRE_COLUMNS,
    ITEMS,
    KINDS,
    RERANKER,
    Invented,
    as_arrow,
    invented_tables,
    rerank,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text_ids", [False, True])
def test_every_kind_of_table_gives_the_same_slates_in_its_own_kind(kind: str, text_ids: bool) -> None:
    tables = invented_tables(text_ids=text_ids)
    given = Invented(*(KINDS[kind](table) for table in (tables.candidates, tables.items, tables.history)))
    slates = rerank(given)
    assert isinstance(slates, pa.Table if kind == "stream" else type(given.candidates))
    assert as_arrow(slates).to_pydict() == rerank(tables).to_pydict()


def test_columns_of_pandas_may_have_numbers_for_names() -> None:
    candidates, items = CANDIDATES.to_pandas(), ITEMS.to_pandas()
    candidates[7], items[7] = ["w", "x", "y", "z"], 0
    slates = Reranker(k=2).rerank(candidates, items, targets={"a": 1.0})
    assert slates[7].tolist() == ["w", "x"]
    with pytest.raises(InputError, match="column 'seller' not found in items"):
        Reranker(k=2).rerank(candidates, items, targets={"a": 1.0}, prices={"seller": {"big": 0.1}})


def test_views_as_polars_hands_them_to_arrow_come_back_as_views() -> None:
    tables = invented_tables(users=4, text_ids=True)
    columns = pl.from_arrow(tables.candidates).with_columns(
        note=pl.col("item_id"), tags=pl.concat_list("item_id"), pair=pl.struct("item_id"), rank=pl.col("item_id")
    )
    items = pl.from_arrow(tables.items).with_columns(pl.col("genres").cast(pl.Categorical))
    given = Invented(pa.table(columns), pa.table(items), pa.table(pl.from_arrow(tables.history)))
    assert pa.types.is_string_view(given.candidates.schema.field("user_id").type)  # or there is nothing to see here
    slates = rerank(given)
    assert slates.select(["user_id", "rank", "item_id"]).to_pydict() == {
        name: rerank(tables)[name].to_pylist() for name in ("user_id", "rank", "item_id")
    }
    assert slates["note"].to_pylist() == [each[0] for each in slates["tags"].to_pylist()]
    for name in ("user_id", "item_id", "note", "tags", "pair"):
        assert slates.schema.field(name).type == given.candidates.schema.field(name).type


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


@pytest.mark.parametrize("table", [[1, 2], pl.LazyFrame({"user_id": [1]}), {"user_id": [1]}])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(InputTypeError, match="candidates: is a .*, must be a table of pandas, Polars or PyArrow"):
        Reranker(k=1).rerank(table, ITEMS, targets={"a": 1})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"user_id": [[1]] * 4}, "column 'user_id' of candidates: has the type list.*must have text or whole numbers"),
        ({"item_id": [{"a": 1}] * 4}, "column 'item_id' of candidates: has the type struct"),
        ({"score": ["high"] * 4}, "column 'score' of candidates: row 0 is 'high', must have numbers"),
    ],
)
def test_columns_of_a_type_that_cannot_be_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Reranker(k=2).rerank(pa.table(FOUR | changed), ITEMS, targets=EQUAL)


def test_a_column_that_comes_twice_is_refused() -> None:
    candidates = CANDIDATES.to_pandas()
    candidates.columns = ["user_id", "score", "score"]
    with pytest.raises(InputError, match="candidates: has .*twice.*, must have each column once"):
        Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL)


@pytest.mark.parametrize("series", [pd.Series({"a": 1.0}), pl.Series([1.0]), pa.chunked_array([[1.0]])])
def test_a_column_alone_is_no_table(series: Any) -> None:
    with pytest.raises(InputTypeError, match="targets: is a .*, must be .*a table of pandas, Polars or PyArrow"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, targets=series)


def test_whole_numbers_too_large_for_a_float_are_numbers() -> None:
    candidates = pa.table({**FOUR, "score": [2**62 + 1, 2**53 + 1, 5, 4]})
    assert Reranker(k=2).rerank(candidates, ITEMS, targets={"a": 1.0})["score"].to_pylist() == [2**62 + 1, 2**53 + 1]


@pytest.mark.parametrize("wrong", ["", " 1 ", "0,9", "1_000"])
@pytest.mark.parametrize("row", [0, 2, 3])
def test_the_first_text_that_is_no_number_is_told(wrong: str, row: int) -> None:
    scores: list[str | None] = ["0.9", None, "1e-3", "nan"]
    scores[row] = wrong
    with pytest.raises(
        InputTypeError, match=f"column 'score' of candidates: row {row} is '{wrong}', must have numbers"
    ):
        Reranker(k=2).rerank(pa.table({**FOUR, "score": scores}), ITEMS, targets=EQUAL)


def test_sparse_columns_of_pandas_are_read() -> None:
    candidates = CANDIDATES.to_pandas()
    sparse = candidates.assign(
        score=pd.arrays.SparseArray(candidates["score"]), item_id=pd.arrays.SparseArray(candidates["item_id"])
    )
    slates = Reranker(k=2).rerank(sparse, ITEMS, targets=EQUAL)
    assert slates.to_dict("list") == Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL).to_dict("list")
    assert slates["score"].dtype == sparse["score"].dtype


@pytest.mark.parametrize("role", ["score", "item_id"])
def test_periods_are_not_taken_for_the_numbers_that_they_are_stored_as(role: str) -> None:
    candidates = pd.DataFrame({**FOUR, role: pd.period_range("2030", periods=4, freq="D")})
    with pytest.raises(InputTypeError, match=f"column '{role}' of candidates: has the type .*period.*cast it to text"):
        Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL)
