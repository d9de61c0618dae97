"""Targets of requests."""

from pathlib import Path

from tests.service.client import body_of, client_of
from tests.tables.invented import invented_tables

TABLES = invented_tables(users=2)


def test_spaces_around_a_category_are_none_of_its_name(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, 'history = "history.parquet"\nk = 5')
    plain, spaced = (
        client.post("/rank/films", {**body_of(TABLES.candidates, 100), "target": target}).json["policy"]
        for target in ({"drama": 1, "epic": 3}, {" drama": 1, "epic ": 3})
    )
    assert plain == spaced
    assert plain["target"] == {"art": 0.0, "buddy": 0.0, "crime": 0.0, "drama": 0.25, "epic": 0.75}
