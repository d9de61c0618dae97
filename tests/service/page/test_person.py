"""One user's view: the slate that ``Reranker`` draws, the lottery, visits, shares, and the library's own errors."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from tests.service.page.explored import HOSTILE, PageClient, source_of
from tests.tables.invented import GENRE_COLUMNS


@pytest.fixture
def client(tmp_path: Path) -> PageClient:
    return PageClient(source_of(tmp_path, seed=3))


def test_the_drawn_ranking_is_the_slate_of_the_reranker(client: PageClient, tmp_path: Path) -> None:
    tables = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in ("candidates", "items", "history")}
    slates = Reranker(k=6, trade_off=0.5, seed=3).rerank(
        tables["candidates"], tables["items"], history=tables["history"], **GENRE_COLUMNS
    )
    by_user: dict[str, list[str]] = {}
    for row in slates.to_pylist():
        by_user.setdefault(str(row["user_id"]), []).append(str(row["item_id"]))
    for user in range(24):
        person = client.person(user).json
        ids = {each["candidate"]: each["id"] for each in person["items"]}
        assert [ids[candidate] for candidate in person["rankings"][person["drawn"]]] == by_user[person["id"]]


def test_probabilities_shares_and_visits_agree_with_one_another(client: PageClient) -> None:
    person = client.person(5).json
    assert sum(person["weights"]) == pytest.approx(1.0)
    mixed = np.array(person["weights"]) @ np.array(person["draw_shares"])
    assert mixed == pytest.approx(person["shares"], abs=1e-8)
    off = np.abs(np.array(person["shares"]) - person["target_low"]).sum()
    assert off == pytest.approx(person["deviation"], abs=1e-7)
    assert len(person["visits"]) == 7
    first = person["visits"][0]
    assert first["deviation"] == pytest.approx(person["draw_deviations"][first["ranking"]])


def test_adjusted_scores_sort_every_ranking(client: PageClient) -> None:
    person = client.person(2).json
    adjusted = {each["candidate"]: each["adjusted"] for each in person["items"]}
    for ranking in person["rankings"]:
        values = [adjusted[candidate] for candidate in ranking]
        assert all(one >= other - 1e-7 for one, other in pairwise(values))


def test_titles_are_sent_as_they_are(client: PageClient) -> None:
    titles = {each["title"] for user in range(24) for each in client.person(user).json["items"]}
    assert set(HOSTILE.values()) <= titles


def test_a_user_without_a_target_is_told_so(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    history = pq.read_table(tmp_path / "history.parquet").to_pylist()
    pq.write_table(
        pa.Table.from_pylist([row for row in history if row["user_id"] != 100]), tmp_path / "history.parquet"
    )
    client = PageClient(source)
    assert 0 not in client.about["sample"]
    reply = client.person(0)
    assert reply.message == "user 100: has no target, must be one who can be calibrated."


def test_a_user_who_is_not_there_is_refused(client: PageClient) -> None:
    assert client.person(24).code == 422
    assert client.person(-1).code == 422


def test_users_and_items_are_found_by_what_they_are_called(client: PageClient) -> None:
    found = client.explore("find", {"what": "users", "text": "10"}).json
    assert [each["label"] for each in found["found"]][:3] == ["100", "101", "102"]
    assert client.explore("find", {"what": "users", "text": "105"}).json["found"] == [{"number": 5, "label": "105"}]
    film = client.explore("find", {"what": "items", "text": "film 7"}).json["found"][0]
    assert film == {"number": 7, "label": "Film 7"}
    assert client.explore("find", {"what": "users", "text": "nobody"}).json == {"found": [], "count": 0}
