from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr.tables._users import UserStream

USERS = ["a", "a", "b", "b", "b", "c", "d", "d", "e"]


def stream(size: int, users: list[Any] = USERS) -> UserStream:
    table = pa.table({"user_id": users, "row": np.arange(len(users))})
    pieces: Iterator[Any] = (table[start : start + size] for start in range(0, len(users), size))
    return UserStream(pieces, table.schema, "user_id")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_chunks_hold_whole_users_and_all_of_them(size: int, rows: int) -> None:
    chunks = [chunk.to_pydict() for chunk in stream(size).chunks(rows)]
    assert [row for chunk in chunks for row in chunk["row"]] == list(range(9))
    owners = [set(chunk["user_id"]) for chunk in chunks]
    assert sum(map(len, owners)) == len(set.union(*owners))


@pytest.mark.parametrize("size", [1, 2, 100])
def test_rows_are_read_up_to_a_user(size: int) -> None:
    along = stream(size)
    assert along.until("b")["row"].to_pylist() == [0, 1, 2, 3, 4]
    assert along.until("bb")["row"].to_pylist() == []
    assert along.until("z")["row"].to_pylist() == [5, 6, 7, 8]
    assert along.until("zz")["row"].to_pylist() == []


def test_users_that_are_numbers_are_compared_by_value() -> None:
    assert stream(2, [1, 2, 10]).until(2)["row"].to_pylist() == [0, 1]


def test_a_stream_of_nothing_has_no_rows_of_any_user() -> None:
    assert len(stream(1, []).until("a")) == 0
    assert len(stream(1, []).until(7)) == 0


def test_an_empty_stream_has_one_empty_chunk() -> None:
    assert [len(chunk) for chunk in stream(1, []).chunks(5)] == [0]
