from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import InputError, InputTypeError
from excalibr.tables import from_arrays

pytest.importorskip("pyarrow")


def rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*table.to_pydict().values(), strict=True))


def test_one_user_is_one_dimension() -> None:
    assert rows(from_arrays([7, 8], [0.9, 0.8], users="ada")) == [("ada", 7, 0.9), ("ada", 8, 0.8)]
    assert rows(from_arrays(np.array(["x"]), [1.0])) == [(0, "x", 1.0)]


def test_a_row_is_a_user() -> None:
    table = from_arrays(np.array([[1, 2], [3, 4]]), np.array([[4.0, 3.0], [2.0, 1.0]], dtype=np.float32))
    assert rows(table) == [(0, 1, 4.0), (0, 2, 3.0), (1, 3, 2.0), (1, 4, 1.0)]


def test_rows_of_different_lengths_are_a_list_of_arrays() -> None:
    table = from_arrays([np.array([1, 2]), np.array([3]), []], [[4.0, 3.0], (2.0,), []], users=["a", "b", "c"])
    assert rows(table) == [("a", 1, 4.0), ("a", 2, 3.0), ("b", 3, 2.0)]


def test_each_candidate_may_name_its_user() -> None:
    assert rows(from_arrays([1, 2], [0.5, 0.4], users=[9, 8])) == [(9, 1, 0.5), (8, 2, 0.4)]


def test_the_same_candidates_for_everybody_are_one_row_of_ids() -> None:
    table = from_arrays([5, 6], [[0.1, 0.2], [0.3, 0.4]], users=["a", "b"])
    assert rows(table) == [("a", 5, 0.1), ("a", 6, 0.2), ("b", 5, 0.3), ("b", 6, 0.4)]


def test_numbers_of_items_become_their_ids() -> None:
    assert rows(from_arrays([[2, 0]], [[0.9, 0.8]], items=["x", "y", "z"])) == [(0, "z", 0.9), (0, "x", 0.8)]
    padded = np.ma.masked_equal(np.array([[1, 9]]), 9)
    assert rows(from_arrays(padded, [[0.9, 0.8]], items=["x", "y", "z"])) == [(0, "y", 0.9)]


@pytest.mark.parametrize(
    ("ids", "scores"),
    [
        ([[1, -1]], [[0.5, 0.4]]),
        ([[1, None]], [[0.5, 0.4]]),
        ([[1.0, np.nan]], [[0.5, 0.4]]),
        ([[1, 2]], [[0.5, np.nan]]),
        ([[1, 2]], [[0.5, None]]),
        ([[1, 2]], [[0.5, -np.inf]]),
        ([[1, 2]], np.array([[0.5, np.finfo(np.float32).min]], dtype=np.float32)),
        (np.ma.masked_array([[1, 2]], [[False, True]]), [[0.5, 0.4]]),
        ([[1, 2]], np.ma.masked_array([[0.5, 0.4]], [[False, True]])),
    ],
)
def test_padding_is_left_out(ids: Any, scores: Any) -> None:
    assert rows(from_arrays(ids, scores)) == [(0, 1, 0.5)]


def test_other_negative_ids_are_ids() -> None:
    assert rows(from_arrays([-7, -1], [0.5, 0.4])) == [(0, -7, 0.5)]


def test_a_tensor_is_taken_as_its_numbers() -> None:
    class Tensor:
        def __init__(self, values: Any) -> None:
            self.values = np.array(values)

        def detach(self) -> Tensor:
            return self

        cpu = detach

        def numpy(self) -> Any:
            return self.values

    table = from_arrays(Tensor([[1, 2]]), Tensor([[0.5, 0.4]]), users=Tensor([3]))
    assert rows(table) == [(3, 1, 0.5), (3, 2, 0.4)]


def test_the_table_can_be_reranked() -> None:
    import pyarrow as pa

    items = pa.table({"item_id": [1, 2, 3], "category": ["drama", "drama", "comedy"]})
    candidates = from_arrays([[1, 2, 3], [3, 1, -1]], [[0.9, 0.8, 0.1], [0.5, 0.4, 0.0]])
    slates = Reranker(k=1, trade_off=0.9).rerank(candidates, items, targets={"comedy": 1.0})
    assert slates["item_id"].to_pylist() == [3, 3]


@pytest.mark.parametrize(
    ("ids", "scores", "more", "message"),
    [
        ([1, 2], [0.5], {}, r"scores: has 1, must have as many as there are ids \(2\)"),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0]], {}, r"scores: row 1 has 1, must have as many as there are ids \(2\)"),
        ([[1], [2]], [[0.5]], {}, "scores: have 1 row, must have the shape of the ids, 2 rows"),
        ([[1], [2]], [0.5, 0.4], {}, "scores: have one dimension, must have the shape of the ids, 2 rows"),
        ([[[1]]], [[[0.5]]], {}, r"ids: row 0 has shape \(1, 1\), must have rows of one dimension"),
        (np.ones((1, 1, 1)), [0.5], {}, r"ids: have shape \(1, 1, 1\), must have one dimension, or two"),
        ([[1]], [[0.5]], {"users": "ada"}, "users: are 'ada', must be one id for each row, 1 in all"),
        ([[1]], [[0.5]], {"users": [1, 2]}, r"users: have shape \(2,\), must be 1 ids, one for each row"),
        ([1, 2], [0.5, 0.4], {"users": [1, 2, 3]}, r"users: have shape \(3,\), must be one id, or 2 of them"),
        ([[5]], [[0.5]], {"items": ["x"]}, "ids: contain 5, must be places in items, 0 to 0"),
    ],
)
def test_what_does_not_fit_is_said(ids: Any, scores: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_arrays(ids, scores, **more)


def test_places_in_items_must_be_whole_numbers() -> None:
    with pytest.raises(InputTypeError, match="ids: are of type float64, must be whole numbers, places in items"):
        from_arrays([[0.5]], [[0.5]], items=["x"])


def test_scores_must_be_numbers() -> None:
    with pytest.raises(InputTypeError, match="scores: cannot be read as numbers"):
        from_arrays(["a"], ["b"])


def test_a_user_without_items_leaves_the_ids_of_the_others_as_they_are() -> None:
    large = 2**60 + 1
    table = from_arrays([[large, 7], []], [[0.9, 0.8], []])
    assert table["item_id"].to_pylist() == [large, 7]
    assert from_arrays([[0, 1], []], [[0.9, 0.8], []], items=["a", "b"])["item_id"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("ids", [[2**63 + 1, -1], [2.0**60, 1.0]])
def test_ids_that_lost_their_last_digits_are_refused(ids: list[Any]) -> None:
    with pytest.raises(InputError, match=r"ids: have 9.22337e\+18|ids: have 1.15292e\+18"):
        from_arrays(ids, [0.9, 0.8])
    with pytest.raises(InputError, match="users: have .* as a fraction"):
        from_arrays([[1], [2]], [[0.9], [0.8]], users=ids)


@pytest.mark.parametrize("items", [[object(), "b"], ["a", 2**80]])
def test_items_that_are_no_ids_of_one_type_are_told(items: Any) -> None:
    with pytest.raises(InputTypeError, match="items: cannot be read"):
        from_arrays([0, 1], [0.9, 0.8], items=np.array(items, dtype=object))


def test_items_are_a_list_of_ids() -> None:
    with pytest.raises(InputError, match=r"items: have shape \(2, 1\), must have one dimension"):
        from_arrays([0, 1], [0.9, 0.8], items=[["a"], ["b"]])


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, lambda rows: pa.chunked_array([rows])])
def test_a_column_of_lists_has_a_row_a_user(column: Any) -> None:
    table = from_arrays(column([[7, 8], [], [9]]), column([[0.9, 0.8], [], [0.7]]), users=["ada", "bob", "eve"])
    assert table["user_id"].to_pylist() == ["ada", "ada", "eve"]
    assert table["item_id"].to_pylist() == [7, 8, 9]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_whatever_stands_for_a_missing_value_is_padding(missing: Any) -> None:
    ids, scores = pd.Series(["x", missing, "y"], dtype=object), pd.Series([0.9, 0.8, missing], dtype=object)
    assert from_arrays(ids, scores)["item_id"].to_pylist() == ["x"]
    assert from_arrays(pd.Series(["x", None], dtype="string"), [0.9, 0.8])["item_id"].to_pylist() == ["x"]
