from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import BatchWarning, InputTypeError
from excalibr.tables._ids import codes_in, encode, keys_of, labels_of, matched, read_ids
from tests.tables.invented import CANDIDATES, Invented, invented_tables, quietly, rerank


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
