from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import BatchWarning, InputTypeError
from excalibr.tables._ids import codes_in, encode, keys_of, labels_of, matched, read_ids
from tests.tables.invented import CANDIDATES, FOUR, ITEMS, Invented, as_arrow, invented_tables, quietly, rerank


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, 2], pa.int8()), pa.int64()),
        (pa.array([1, 2], pa.uint64()), pa.int64()),
        (pa.array([1, 2**63], pa.uint64()), pa.uint64()),
        (pa.array([1.0, None]), pa.int64()),
        (pa.array([1.0, np.nan]), pa.int64()),
        (pa.array([1.5]), pa.float64()),
        (pa.array([None]), pa.int64()),
        (pa.array(["a"]).dictionary_encode(), pa.large_string()),
        (pa.array(["a"], pa.string_view()), pa.large_string()),
        (pa.array([5], pa.decimal256(76, 0)), pa.int64()),
        (pa.array([2**70], pa.decimal256(76, 0)), pa.decimal256(76, 0)),
        (pa.array([Decimal("1.00"), None], pa.decimal128(10, 2)), pa.int64()),
        (pa.array([Decimal("1.25")], pa.decimal128(10, 2)), pa.decimal128(10, 2)),
        (pa.chunked_array([["a"], ["b"]]), pa.large_string()),
    ],
)
def test_ids_are_read_in_one_type_for_each_kind(column: Any, kind: Any) -> None:
    assert read_ids(column).type == kind


def test_ids_are_numbered_in_their_own_order() -> None:
    ids, codes = encode(read_ids(pa.array(["b", None, "a", "b"])))
    assert ids.to_pylist() == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, 1]


def test_ids_of_different_widths_meet() -> None:
    small, large = matched(pa.array([1, 2]), pa.array([2, 2**63], pa.uint64()), "item_id", ("one", "other"))
    assert codes_in(small, large).tolist() == [-1, 0]


def test_ids_of_different_kinds_do_not_meet() -> None:
    with pytest.raises(InputTypeError, match="item_id: is whole numbers in one and text in other, must be of one type"):
        matched(read_ids(pa.array([1])), read_ids(pa.array(["1"])), "item_id", ("one", "other"))


def test_keys_are_plain_python_values() -> None:
    huge = read_ids(pa.array([2**70], pa.decimal256(76, 0)))
    assert keys_of(huge) == [2**70]
    assert isinstance(keys_of(huge)[0], int)


def test_fractions_are_keys_of_their_own() -> None:
    ids = pa.array([Decimal("1.25"), Decimal("1.50"), Decimal("2.00")], pa.decimal128(10, 2))
    assert keys_of(read_ids(ids)) == [1.25, 1.5, 2]
    assert keys_of(read_ids(pa.array([Decimal(10**70), Decimal(1)], pa.decimal256(76, 0)))) == [10**70, 1]


def test_fractions_and_whole_numbers_do_not_meet() -> None:
    fractions = read_ids(pa.array([Decimal("1.25")], pa.decimal128(10, 2)))
    with pytest.raises(
        InputTypeError, match=r"item_id: is decimal128\(10, 2\) in candidates and whole numbers in items"
    ):
        matched(fractions, read_ids(pa.array([1])), "item_id", ("candidates", "items"))


def test_a_column_of_nothing_but_nulls_meets_any_other() -> None:
    history = pa.table({"user_id": pa.nulls(2), "item_id": pa.nulls(2)})
    slates = Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, prior={"a": 1.0})
    assert slates["item_id"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(pd.period_range("2030", periods=4, freq="D")),
        pd.Series(pd.interval_range(0, 4)),
        pd.Series([1j, 2j, 3j, 4j]),
        pl.Series([object()] * 4, dtype=pl.Object),
        pa.array([pa.MonthDayNano([1, 1, 1])] * 4),
        pd.Series(pd.to_timedelta(range(4), unit="D")),
    ],
)
@pytest.mark.parametrize("role", ["user_id", "item_id"])
def test_ids_that_cannot_be_told_apart_or_sorted_are_an_error_that_names_the_column(ids: Any, role: str) -> None:
    columns = {**FOUR, role: ids}
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(ids), pa.table)
    with pytest.raises(InputTypeError, match=f"column '{role}' of candidates: "):
        Reranker(k=2).rerank(make(columns), ITEMS, targets={"a": 1.0})


def test_labels_are_text_without_space_around() -> None:
    assert labels_of(pa.array([" a", "", "  ", None])).to_pylist() == ["a", None, None, None]


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


def test_ids_of_different_types_are_an_error_that_says_so() -> None:
    items = pa.table({"item_id": ["1"], "category": ["a"]})
    with pytest.raises(InputTypeError, match="item_id: is whole numbers in candidates and text in items"):
        Reranker(k=1).rerank(CANDIDATES, items, targets={"a": 1})


def test_floats_that_may_stand_for_several_ids_are_refused() -> None:
    large = pd.DataFrame({**FOUR, "user_id": [2**53 + 1, 2**53 + 2, None, 7]})  # the null has made floats of all
    with pytest.raises(InputTypeError, match="'user_id' of candidates: has 9.0072e.15 as a float.* read them as Int64"):
        Reranker(k=2).rerank(large, ITEMS, targets={"a": 1.0})
    large["user_id"] = pd.array([2**53 + 1, 2**53 + 2, None, 7], "Int64")
    assert quietly(Reranker(k=1), large, ITEMS, targets={"a": 1.0})["user_id"].tolist() == [7, 2**53 + 1, 2**53 + 2]


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this pyarrow does not know UUIDs")
def test_uuids_are_ids_and_meet_their_text() -> None:
    users = [UUID(int=1)] * 4
    history = pa.table({"user_id": [str(UUID(int=1)), None], "item_id": [3, 1]})
    arrow = CANDIDATES.set_column(0, "user_id", pa.array([each.bytes for each in users], pa.uuid()))
    for candidates in (pd.DataFrame({**FOUR, "user_id": users}), arrow):
        slates = Reranker(k=2, trade_off=0.9).rerank(candidates, ITEMS, history=history)
        assert as_arrow(slates)["item_id"].to_pylist() == [3, 4]
    assert slates.schema.field("user_id").type == pa.uuid()
