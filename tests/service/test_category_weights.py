"""Weights by category in requests: targets, and categories of items that only the request knows."""

from pathlib import Path
from typing import Any

import pytest

from tests.service.client import body_of, client_of
from tests.tables.invented import invented_tables

TABLES = invented_tables(users=2)


@pytest.mark.parametrize(
    ("asked", "message", "path"),
    [
        ({"target": {"x": 1}}, r"A target must have weight on a category that an item has: ['art', ", "$.target"),
        ({"target": {"art": {"x": 1}}}, "A target must be weights by category.", "$.target"),
        ({"target": {"art": 1e308, "epic": 1e308}}, "A target must have weights with a finite sum.", "$.target"),
        ({"categories": {"999": ["x"]}}, "The category 'x' must be one that an item has: ['art', ", "$.categories.999"),
        ({"categories": {"999": {"art": ["x"]}}}, "The categories of an item must be weights by", "$.categories.999"),
        ({"categories": {"999": []}}, "The categories of an item must have weight on a category", "$.categories.999"),
    ],
)
def test_weights_that_make_no_shares_are_refused_with_their_place(
    tmp_path: Path, asked: dict[str, Any], message: str, path: str
) -> None:
    client = client_of(tmp_path, TABLES, 'history = "history.parquet"\nk = 2')
    reply = client.post("/rank/films", {"items": [1, 999], "scores": [0.5, 0.4], **asked})
    assert (reply.code, reply.path) == (422, path)
    assert reply.message.startswith(message)


def test_spaces_around_a_category_are_none_of_its_name(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, 'history = "history.parquet"\nk = 5')
    plain, spaced = (
        client.post("/rank/films", {**body_of(TABLES.candidates, 100), "target": target}).json["policy"]
        for target in ({"drama": 1, "epic": 3}, {" drama": 1, "epic ": 3})
    )
    assert plain == spaced
    assert plain["target"] == {"art": 0.0, "buddy": 0.0, "crime": 0.0, "drama": 0.25, "epic": 0.75}
