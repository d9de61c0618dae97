"""How long a request is solved for, and what its answer says and contains where that was too short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from excalibr.service import read_profiles
from tests.service.client import Client, body_of, client_of, write_profiles
from tests.service.test_prices import sellers
from tests.service.test_ranking import PROFILES, SHARED, USERS, written
from tests.stopping import stopping
from tests.tables.invented import Invented

BODY = body_of(SHARED.candidates, USERS[0])
PLAIN: dict[str, Any] = PROFILES["plain"]


def limited(folder: Path, limit: float = 0.05, **options: Any) -> Client:
    return client_of(folder, SHARED, written(PLAIN | {"time_limit": limit} | options))


@pytest.mark.parametrize(("own", "limit"), [({}, 0.05), ({"time_limit": 2}, 2), ({"method": "greedy"}, None)])
def test_a_request_is_solved_for_50_ms_unless_its_profile_says_otherwise(
    tmp_path: Path, own: dict[str, Any], limit: float | None
) -> None:
    path = write_profiles(tmp_path, SHARED, written(own))
    path.write_text(path.read_text().replace("time_limit = 600\n", ""))
    assert read_profiles(path)["films"].options.time_limit == limit


@pytest.mark.parametrize("own", [0.2, 0, -1, "1", True])
def test_a_request_may_ask_for_less_and_for_nothing_else(tmp_path: Path, own: Any) -> None:
    reply = limited(tmp_path).post("/rank/films", {**BODY, "time_limit": own})
    assert (reply.code, reply.path) == (422, "$.time_limit")
    if own == 0.2:
        assert reply.message == "time_limit: is 0.2, must be at most 0.05, the profile's."


def test_a_request_to_a_profile_of_another_method_has_no_limit(tmp_path: Path) -> None:
    client = client_of(tmp_path, SHARED, written(PROFILES["greedy"]))
    assert client.post("/rank/films", BODY).code == 200
    assert client.post("/rank/films", {**BODY, "time_limit": 0.01}).path == "$.time_limit"


def test_a_slate_that_was_cut_short_says_so_and_has_its_lottery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stopping(monkeypatch, 30):
        answer = limited(tmp_path).post("/rank/films", BODY).json
        general = limited(tmp_path).post("/rank/films", {**BODY, "lottery": True}).json
        visited = limited(tmp_path).post("/rank/films", {**BODY, "visit": 3}).json
        special = limited(tmp_path).post("/rank/films", {**BODY, "shown": BODY["items"][:1]}).json
    for each in (answer, general, visited, special):
        assert each["policy"]["status"] == "time limit reached"
        assert [one["item"] for one in each["items"]] in [one["items"] for one in each["lottery"]]
        assert sum(one["probability"] for one in each["lottery"]) == pytest.approx(1.0)
    assert (answer["items"], answer["lottery"]) == (general["items"], general["lottery"])
    assert answer["policy"] == general["policy"]


def test_a_slate_that_was_solved_has_none(tmp_path: Path) -> None:
    answer = limited(tmp_path, 600).post("/rank/films", BODY).json
    assert answer["policy"]["status"] == "ok"
    assert "lottery" not in answer


def test_a_slate_with_prices_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Invented(SHARED.candidates, sellers(), SHARED.history)
    options = written(PLAIN) + "\nprices = { seller = { big = 0.2, tiny = -0.1 } }\ntime_limit = 0.05"
    with stopping(monkeypatch, 30):
        answer = client_of(tmp_path, tables, options).post("/rank/films", BODY).json
    assert answer["policy"]["status"] == "time limit reached"
    assert answer["lottery"]


def test_limits_that_are_not_met_in_time_fall_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stopping(monkeypatch, 1):
        client = limited(tmp_path, trade_off=0.0, floors={"drama": 0.6})
        policies = [client.post("/rank/films", body_of(SHARED.candidates, user)).json["policy"] for user in USERS]
    failed = [policy for policy in policies if policy["status"] == "failed"]
    assert failed
    assert all("floors: 0.6 of category 'drama' was not met within time_limit=" in each["reason"] for each in failed)
