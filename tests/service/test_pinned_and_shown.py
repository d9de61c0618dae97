"""Pins that cannot be kept are refused, each with its reason and where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.client import client_of
from tests.tables.invented import invented_tables


@pytest.mark.parametrize(
    ("pins", "path", "message"),
    [
        ([(1, 3)], "$.pinned[0].rank", "The rank 3 must be at most 2, the number of slots."),
        ([(1, 2), (2, 2)], "$.pinned[1].rank", "The rank 2 must be pinned only once."),
        ([(1, 1), ("1", 2)], "$.pinned[1].item", "The item '1' must be pinned only once."),
        ([(9, 1)], "$.pinned[0]", "The pinned item 9 must be one of the candidates."),
    ],
    ids=["beyond the slots", "a rank twice", "an item twice", "no candidate"],
)
def test_pins_that_cannot_be_kept_are_refused(
    tmp_path: Path, pins: list[tuple[int | str, int]], path: str, message: str
) -> None:
    client = client_of(tmp_path, invented_tables(users=2), 'history = "history.parquet"\nk = 2')
    pinned = [{"item": item, "rank": rank} for item, rank in pins]
    reply = client.post("/rank/films", {"items": [1, 2, 3], "scores": [0.9, 0.5, 0.1], "pinned": pinned})
    assert (reply.code, reply.path, reply.message) == (422, path, message)
