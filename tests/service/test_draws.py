"""What a request's draw belongs to."""

from pathlib import Path

from tests.service.client import body_of, client_of
from tests.tables.invented import invented_tables

TABLES = invented_tables(users=2)


def test_without_a_user_a_session_has_a_draw_of_its_own_that_stays(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, 'history = "history.parquet"\nk = 5\ntrade_off = 0.4')
    body = {**body_of(TABLES.candidates, 100), "user": None, "target": {"drama": 1, "epic": 2}}
    sessions = [{**body, "session": f"s{number}"} for number in range(12)]
    first, again = ([client.post("/rank/films", each).json["items"] for each in sessions] for _ in range(2))
    assert first == again
    assert any(slate != first[0] for slate in first)
