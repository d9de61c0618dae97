from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr.errors import InputTypeError
from excalibr.tables._ids import codes_in, encode, keys_of, labels_of, matched, read_ids


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
