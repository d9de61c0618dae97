"""Items that only a request knows, and those that nobody knows: how they are named, shown before, and followed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.client import Client, client_of
from tests.tables.invented import invented_tables

SHARED = invented_tables(users=8)
USER = 100
HISTORY = 'history = "history.parquet"'
OWN = {"user": USER, "items": [999, 1, 2, 3], "scores": [0.9, 0.8, 0.7, 0.6], "categories": {"999": ["drama"]}}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return client_of(tmp_path, SHARED, f"{HISTORY}\nk = 5\ntrade_off = 0.4")


@pytest.mark.parametrize("label", ["999", "0999"])
def test_an_item_of_the_request_may_be_written_as_any_text_of_its_number(client: Client, label: str) -> None:
    texts = OWN | {"items": [label, 1, 2, 3], "categories": {label: ["drama"]}}
    one, other = client.post("/rank/films", OWN).json, client.post("/rank/films", texts).json
    assert one["policy"] == other["policy"]
    assert one["policy"]["left_out"]["unknown"] == 0


def test_an_item_of_the_request_that_was_shown_counts_and_is_not_shown_again(client: Client) -> None:
    """As an item of the table does that has the same categories."""
    drama = next(row["item_id"] for row in SHARED.items.to_pylist() if row["genres"] == "drama")
    seen = [{"item": each, "weight": 0.4} for each in (999, drama)]
    own, known = (client.post("/rank/films", OWN | {"shown": [each]}).json for each in seen)
    assert 999 not in [each["item"] for each in own["items"]]
    without = client.post("/rank/films", OWN | {"items": [1, 2, 3], "scores": [0.8, 0.7, 0.6], "shown": seen[1:]}).json
    assert (own["items"], own["policy"]) == (without["items"], without["policy"])
    assert 999 in [each["item"] for each in known["items"]]


def test_an_item_that_nobody_knows_and_that_was_shown_is_not_appended_again(tmp_path: Path) -> None:
    client = client_of(tmp_path, SHARED, f'{HISTORY}\nunknown = "append"')
    body = {"user": USER, "items": [1, 998, "999"], "scores": [0.5, 0.6, 0.7]}
    shown = [each["item"] for each in client.post("/rank/films", body | {"shown": [999]}).json["items"]]
    assert shown == [1, 998]
    nothing = client.post("/rank/films", body | {"shown": [1, 998, 999]}).json
    assert (nothing["items"], nothing["policy"]["status"]) == ([], "no candidates")
    assert client.post("/rank/films", {"items": [], "scores": [], "shown": [1]}).code == 200
