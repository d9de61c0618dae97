"""What is copied from the page runs, and gives the slates that the page shows."""

from __future__ import annotations

import dataclasses
import io
import shlex
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr.service import read_profiles
from excalibr.service._page import PageSource
from tests.service.page.explored import PageClient, source_of

CHOICES: list[dict[str, Any]] = [
    {},
    {"k": 4, "divergence": "kl", "position_weights": "sqrt"},
    {"draws": "single"},
    {"floors": [{"category": "art", "amount": 0.05}], "at_most": [{"category": "art", "amount": 3}]},
]
AIMS = [{"kind": "trade_off", "value": 0.3}, {"kind": "relevance_loss", "value": 0.05}]


def shown(client: PageClient, choices: Mapping[str, Any], aim: Any) -> dict[str, list[str]]:
    """The slate of every user, as the page shows it."""
    found = {}
    for user in range(client.about["users"]):
        person = client.person(user, choices=choices, aim=aim).json
        ids = {each["candidate"]: each["id"] for each in person["items"]}
        found[person["id"]] = [ids[candidate] for candidate in person["rankings"][person["drawn"]]]
    return found


def slates_of(table: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in table.to_pylist():
        found.setdefault(str(row["user_id"]), []).append(str(row["item_id"]))
    return found


def ran(python: str) -> dict[str, list[str]]:
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        exec(compile(python, "copied", "exec"), names)
    return slates_of(names["slates"])


@pytest.mark.parametrize("aim", AIMS, ids=lambda aim: aim["kind"])
@pytest.mark.parametrize("changes", CHOICES, ids=lambda choices: "-".join(choices) or "plain")
def test_every_form_gives_the_slates_of_the_page(tmp_path: Path, changes: dict[str, Any], aim: Any) -> None:
    if "at_most" in changes:  # it is for items of one category only
        changes = {"floors": changes["floors"]}
    client = PageClient(source_of(tmp_path, users=8, seed=5))
    choices = client.choices | changes
    expected = shown(client, choices, aim)
    settings = client.explore("settings", {"choices": choices, "aim": aim}).json
    assert ran(settings["python"]) == expected
    out = tmp_path / "slates.parquet"
    words = shlex.split(settings["command"])[1:]
    words[words.index("slates.parquet")] = str(out)
    result = CliRunner().invoke(application, words)
    assert result.exit_code == 0, result.output
    assert slates_of(pq.read_table(out)) == expected
    (tmp_path / "profiles.toml").write_text(settings["profile"], encoding="utf-8")
    profile = read_profiles(tmp_path / "profiles.toml")["explored"]
    assert (profile.reranker.k, profile.reranker.seed) == (choices["k"], 5)
    assert getattr(profile.reranker, aim["kind"]) == aim["value"]


def test_a_pinned_item_is_part_of_the_python_and_told_to_the_others(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path, users=8))
    choices = client.choices | {"pinned": {"item": 4, "rank": 2}}
    settings = client.explore("settings", {"choices": choices, "aim": client.aim}).json
    assert ran(settings["python"]) == shown(client, choices, client.aim)
    assert "--pinned pinned.parquet" in settings["command"]
    assert '"pinned": [{"item": 4, "rank": 2}]' in settings["profile"]


def test_the_invented_catalogue_has_python_that_runs() -> None:
    client = PageClient(PageSource())
    settings = client.explore("settings", {"choices": client.choices, "aim": client.aim}).json
    assert ran(settings["python"]) == shown(client, client.choices, client.aim)
    assert tomllib.loads(settings["profile"])["profiles"]["explored"]["k"] == 10


def test_a_profile_of_relative_paths_says_where_it_is_to_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(tmp_path, users=4)
    monkeypatch.chdir(tmp_path)
    relative = {name: path.relative_to(tmp_path) for name, path in source.tables.items() if isinstance(path, Path)}
    client = PageClient(dataclasses.replace(source, tables=relative))
    profile = client.explore("settings", {"choices": client.choices, "aim": client.aim}).json["profile"]
    assert profile.startswith("# Paths count from the folder of this file: save it where the page was started.\n[")
    (tmp_path / "profiles.toml").write_text(profile, encoding="utf-8")
    assert read_profiles(tmp_path / "profiles.toml")["explored"].reranker.k == 6


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_folders_of_csv_files_are_copied_as_they_are_read_without_hidden_files(tmp_path: Path, delimiter: str) -> None:
    source = source_of(tmp_path, users=4)
    parts = tmp_path / "parts"
    parts.mkdir()
    table, written = pq.read_table(source.tables["candidates"]), pa.csv.WriteOptions(delimiter=delimiter)
    for name, part in (("1.csv", table[:60]), ("2.csv", table[60:])):
        pa.csv.write_csv(part, parts / name, written)
    (parts / "._0.parquet").write_text("of another system", encoding="utf-8")
    client = PageClient(dataclasses.replace(source, tables={**source.tables, "candidates": parts}))
    settings = client.explore("settings", {"choices": client.choices, "aim": client.aim}).json
    assert ran(settings["python"]) == shown(client, client.choices, client.aim)


def test_ids_that_are_text_in_one_csv_file_of_a_folder_are_text_in_all(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number, user in (("1", "007"), ("2", "ada")):
        rows = f"user_id,item_id,score\n{user},1,0.5\n{user},2,0.4\n"
        (tmp_path / "many" / f"{number}.csv").write_text(rows, encoding="utf-8")
    items: dict[str, Any] = {"item_id": [1, 2], "category": ["a", "b"]}
    pq.write_table(pa.table(items), tmp_path / "items.parquet")
    tables: dict[str, Any] = {
        "candidates": tmp_path / "many",
        "items": tmp_path / "items.parquet",
        "targets": {"a": 1.0, "b": 1.0},
    }
    assert PageClient(PageSource(tables=tables)).about["labels"] == ["007", "ada"]


def test_categories_and_paths_with_any_character_are_quoted(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "here" & there'
    folder.mkdir()
    client = PageClient(source_of(folder, users=4))
    settings = client.explore("settings", {"choices": client.choices, "aim": client.aim}).json
    assert ran(settings["python"]) == shown(client, client.choices, client.aim)
    assert str(folder / "items.parquet") in shlex.split(settings["command"])
    assert tomllib.loads(settings["profile"])["profiles"]["explored"]["items"] == str(folder / "items.parquet")
