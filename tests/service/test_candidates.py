"""The candidates of a request: which of them are ranked, and with which scores."""

from pathlib import Path

from tests.service.client import client_of
from tests.tables.invented import invented_tables

TABLES = invented_tables(users=2)


def test_of_a_candidate_that_comes_twice_the_better_score_counts(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, 'history = "history.parquet"\ntrade_off = 0.0')
    for scores in ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9]):
        answer = client.post("/rank/films", {"user": 100, "items": [3, 7, 3], "scores": scores}).json
        assert [(each["item"], each["score"]) for each in answer["items"]] == [(3, 0.9), (7, 0.5)]
        assert answer["policy"]["left_out"] == {"unknown": 0, "repeated": 1}
