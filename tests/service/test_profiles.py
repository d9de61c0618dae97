"""Profiles: what they may say, what is told of a mistake, and how they are read anew."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pytest

from excalibr.errors import ExcalibrError
from excalibr.service import application, read_profiles
from tests.service.client import Client, body_of, client_of, write_profiles
from tests.tables.invented import Invented, invented_tables

TABLES = invented_tables(users=4)
OPTIONS = 'history = "history.parquet"\nk = 5\ntrade_off = 0.4'

MISTAKES = {
    "k = 0": r"\[profiles.films\]: k: is 0, must be a whole number of at least 1",
    'k = "ten"': r"k: is 'ten', must be",
    "trade_of = 0.5": r"key: is 'trade_of', must be one of .*did you mean 'trade_off'",
    "trade_off = 0.5\nmax_deviation = 0.1": r"trade_off and max_deviation: are both given, must not go together",
    'history = "nothing.parquet"': r"nothing.parquet",
    "history = 7": r"history: is 7, must be the name of a file",
    'history = ""': r"history: is '', must be the name of a file",
    'unknown = "drop"': r"unknown: is 'drop', must be one of 'leave out', 'append'",
    'fallback = "x"': r"fallback: is 'x'",
    "floors = { comedy = 0.1 }": r"floors: is 'comedy', must be one of",
    "floors = { drama = 0.9 }\ncaps = { drama = 0.1 }": r"floors: of category 'drama' is 0.9, must be at most its cap",
    'floors = { drama = "x" }': r"floors\['drama'\]: cannot be read as numbers",
    "floors = { drama = true }": r"floors\['drama'\]: is True, must be a number",
    "caps = true": r"caps: is True, must be a number, an array or a mapping",
    "floors = { drama = 1.5 }": r"floors: of category 'drama' is 1.5, must be shares from 0 to 1",
    "max_per_category = { drama = -1 }": r"max_per_category: of category 'drama' is -1",
    "threads = 2": r"key: is 'threads'",
    "visit = 2": r"key: is 'visit'",
    'targets = { drama = 1 }\nhistory = "history.parquet"': r"targets: are given with a history",
    "user_id = 7": r"user_id: is 7, must be the name of a column",
    "history_item_id = true": r"history_item_id: is True, must be the name of a column",
    "prior = { drama = 1 }\nstrength = [1]": r"strength: is \[1\], must be a finite number of at least 0",
    'history = "history.parquet"\nhalf_life = "x"': r"half_life: is 'x', must be above 0",
    "targets = { x = 1 }": r"targets: have no weight on a category that an item has",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_says_the_file_the_key_what_was_found_and_what_is_wanted(tmp_path: Path, mistake: str) -> None:
    path = write_profiles(tmp_path, TABLES, mistake)
    with pytest.raises(ExcalibrError, match=MISTAKES[mistake]) as caught:
        read_profiles(path)
    assert str(caught.value).startswith(f"{path}: [profiles.films]: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[profiles", "is not TOML"),
        ("", "profiles: is empty"),
        ("[profile.films]", "key: is 'profile', must be 'profiles'"),
        ("[profiles]\nfilms = 3", "films: is 3, must be a table of options"),
        ('[profiles."a/b"]\nk = 3', "name: is 'a/b', must be a part of a path: a text without /"),
        ('[profiles.""]\nk = 3', "name: is '', must be a part of a path"),
        ("[profiles.films]\nk = 3", "items: is missing, must name a file"),
        ("\xff", "is not TOML"),
    ],
)
def test_what_is_no_profiles_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "profiles.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ExcalibrError, match=message):
        read_profiles(path)
    with pytest.raises(ExcalibrError, match="cannot be read"):
        read_profiles(tmp_path / "other.toml")


def test_paths_are_relative_to_the_file_and_tables_may_be_of_any_kind(tmp_path: Path) -> None:
    write_profiles(tmp_path, TABLES, OPTIONS)
    pa.csv.write_csv(TABLES.items, tmp_path / "items.csv")
    pa.feather.write_feather(TABLES.history, tmp_path / "history.arrow")
    told = (
        '[profiles.other]\nitems = "items.csv"\nhistory = "history.arrow"\ncategory = "genres"\nseparator = "|"\nk = 5'
    )
    (tmp_path / "other.toml").write_text(f"{told}\ntrade_off = 0.4\n", encoding="utf-8")
    one, other = Client(application(tmp_path / "profiles.toml")), Client(application(tmp_path / "other.toml"))
    body = body_of(TABLES.candidates, 100)
    assert one.post("/rank/films", body).json["items"] == other.post("/rank/other", body).json["items"]


def test_a_table_may_be_a_folder_of_files_that_are_read_as_the_command_reads_them(tmp_path: Path) -> None:
    profiles = write_profiles(tmp_path, TABLES, OPTIONS)
    whole = Client(application(profiles))
    (tmp_path / "many").mkdir()
    for name, part in (("1.csv", TABLES.history[:40]), ("2.csv", TABLES.history[40:]), (".3.csv", TABLES.history)):
        pa.csv.write_csv(part, tmp_path / "many" / name)
    profiles.write_text(profiles.read_text().replace("history.parquet", "many"), encoding="utf-8")
    body = body_of(TABLES.candidates, 100)
    parted = Client(application(profiles)).post("/rank/films", body).json
    assert parted["policy"] == whole.post("/rank/films", body).json["policy"]


DEMO_OPTIONS = {"k": 10, "trade_off": 0.5, "time_limit": 0.05}


def test_the_invented_catalogue_is_served_where_no_profiles_are_named() -> None:
    client = Client(application())
    answer = client.post("/rank/demo", {"user": "Ada", "items": list(range(150)), "scores": [0.5] * 150}).json
    assert (len(answer["items"]), answer["policy"]["status"]) == (10, "ok")
    (profile,) = client.get("/profiles").json["profiles"]
    assert (profile["name"], profile["items"], profile["options"]) == ("demo", 600, DEMO_OPTIONS)


def test_a_profile_may_have_any_name_that_a_path_can_have(tmp_path: Path) -> None:
    client = Client(application(write_profiles(tmp_path, TABLES, OPTIONS, '"é 影"')))
    path = "/rank/é 影".encode().decode("latin-1")  # as WSGI has it
    assert client.post(path, body_of(TABLES.candidates, 100)).code == 200
    assert "'ö'" in client.post("/rank/ö".encode().decode("latin-1"), {}).message


def test_a_reload_swaps_all_profiles_in_one_step(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS)
    assert client.service.reload()
    write_profiles(tmp_path, TABLES, OPTIONS.replace("k = 5", "k = 3"), "others")
    assert client.service.reload()
    assert client.post("/rank/films", body_of(TABLES.candidates, 100)).code == 404
    assert len(client.post("/rank/others", body_of(TABLES.candidates, 100)).json["items"]) == 3


def test_a_bad_reload_changes_nothing_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS)
    before = client.post("/rank/films", body_of(TABLES.candidates, 100)).json["items"]
    (tmp_path / "items.parquet").write_bytes(b"PAR1 and then something else")
    assert not client.service.reload()
    assert "reload failed" in capsys.readouterr().err
    assert client.post("/rank/films", body_of(TABLES.candidates, 100)).json["items"] == before


def test_a_fault_of_ours_in_a_reload_leaves_the_profiles_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("'int' object is not iterable")

    client = client_of(tmp_path, TABLES, OPTIONS)
    monkeypatch.setattr("excalibr.service._application.read_profiles", broken)
    assert not client.service.reload()
    assert "TypeError: 'int' object is not iterable" in capsys.readouterr().err
    assert client.post("/rank/films", body_of(TABLES.candidates, 100)).code == 200


def test_users_of_a_targets_table_have_their_own(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    own = pa.table({"user_id": [100, 100, 101], "category": ["drama", "art", "epic"], "weight": [1.0, 1.0, 1.0]})
    pq.write_table(own, tmp_path / "targets.parquet")
    client = client_of(tmp_path, TABLES, 'targets = "targets.parquet"\nk = 5')
    told = {
        user: client.post("/rank/films", body_of(TABLES.candidates, user)).json["policy"] for user in (100, 101, 102)
    }
    assert told[100]["target"] == {"art": 0.5, "buddy": 0.0, "crime": 0.0, "drama": 0.5, "epic": 0.0}
    assert told[101]["target"]["epic"] == 1.0
    assert (told[102]["status"], told[102]["target"]) == ("no target", None)


@pytest.mark.parametrize("most", [2**63 - 1, 2**64 - 1])
def test_ids_may_be_as_large_as_their_column_has_them(tmp_path: Path, most: int) -> None:
    least = 0 if most > 2**63 else -(2**63)
    ids = pa.array([least, most], pa.uint64() if most > 2**63 else pa.int64())
    items = pa.table({"item_id": ids, "genres": ["a", "b"]})
    history = pa.table({"user_id": ids, "item_id": ids})
    client = client_of(tmp_path, Invented(TABLES.candidates, items, history), 'history = "history.parquet"')
    for user, category in ((least, "a"), (most, "b")):
        answer = client.post("/rank/films", {"user": user, "items": [least, most], "scores": [0.5, 0.5], "k": 1}).json
        assert (answer["items"][0]["item"], answer["policy"]["target"][category]) == (user, 1.0)
    assert (
        client.post("/rank/films", {"user": 1, "items": [most], "scores": [1]}).json["policy"]["status"] == "no target"
    )


def test_ids_that_are_neither_text_nor_whole_numbers_are_refused(tmp_path: Path) -> None:
    items = pa.table({"item_id": [0.5, 1.5], "genres": ["a", "b"]})
    with pytest.raises(ExcalibrError, match="item_id of items: has the type double, must have text or whole numbers"):
        read_profiles(write_profiles(tmp_path, Invented(TABLES.candidates, items, TABLES.history), "k = 1"))
