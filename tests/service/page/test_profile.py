"""The page of a server shows what its profile serves: with prices of groups, after a reload, and as it is copied."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr import Reranker
from excalibr._cli.application import application as command
from excalibr.errors import ExcalibrError
from excalibr.service import application
from excalibr.service._page.profile import source_of
from tests.service.client import Client, body_of
from tests.service.page.explored import PageClient, write_tables
from tests.service.page.test_settings import ran, shown, slates_of
from tests.tables.invented import GENRE_COLUMNS

OPTIONS = "k = 6\ntrade_off = 0.3\nseed = 5"
WRITTEN = {"seller": {"big": 0.2, "tiny": -0.1}}
SEVERAL = {
    "pass": [1, 1, 2, 2, 1, 2],
    "probability": [0.7, 0.7, 0.3, 0.3, 0.5, 0.5],
    "attribute": ["seller"] * 4 + [""] * 2,
    "category": ["big", "tiny"] * 2 + [""] * 2,
    "price": [0.2, -0.1, 0.05, 0.0, 0.0, 0.0],
    "block": [""] * 4 + ["0/2"] * 2,
}
PRICES: dict[str, tuple[str, Any]] = {
    "written down": ("prices = { seller = { big = 0.2, tiny = -0.1 } }", WRITTEN),
    "several passes": ('prices = "prices.parquet"', pa.table(SEVERAL)),
}


def write_profile(folder: Path, options: str) -> Path:
    """Tables with sellers, and a profile of them whose users the page shows."""
    tables = write_tables(folder, 8)
    items = pq.read_table(tables["items"])
    sellers = pa.array([["big", "small", "tiny"][at % 3] for at in range(len(items))])
    pq.write_table(items.append_column("seller", sellers), tables["items"])
    pq.write_table(pa.table(SEVERAL), folder / "prices.parquet")
    named = "".join(f'{name} = "{name}.parquet"\n' for name in ("items", "history", "candidates"))
    path = folder / "profiles.toml"
    path.write_text(f'[profiles.films]\n{named}category = "genres"\nseparator = "|"\n{options}\n', encoding="utf-8")
    return path


def table(folder: Path, name: str) -> pa.Table:
    return pq.read_table(folder / f"{name}.parquet")


def served(folder: Path, profiles: Path) -> dict[str, list[str]]:
    """The slate of every user, as the profile serves it."""
    client, candidates = Client(application(profiles)), table(folder, "candidates")
    users = sorted(set(candidates["user_id"].to_pylist()))
    answers = {user: client.post("/rank/films", body_of(candidates, user)).json["items"] for user in users}
    return {str(user): [str(each["item"]) for each in items] for user, items in answers.items()}


@pytest.mark.parametrize("kind", PRICES)
def test_prices_of_groups_are_those_of_the_service_and_are_copied(tmp_path: Path, kind: str) -> None:
    line, prices = PRICES[kind]
    profiles = write_profile(tmp_path, f"{OPTIONS}\n{line}\nprior = {{ drama = 1.0 }}")
    client = PageClient(source_of(profiles))
    expected = shown(client, client.choices, client.aim)
    assert expected == served(tmp_path, profiles)
    assert client.about["understood"].count("prices of 2 groups (seller)") == 1
    tables = [table(tmp_path, name) for name in ("candidates", "items")]
    asked: dict[str, Any] = {"history": table(tmp_path, "history"), **GENRE_COLUMNS}
    report = Reranker(k=6, trade_off=0.3).report(*tables, prices=prices, **asked)
    columns = client.sample().json["columns"]
    for name in ("relevance", "deviation", "draw_deviation"):
        assert columns[name] == pytest.approx(report[name].to_pylist(), abs=2e-9)
    assert columns["relevance"] != Reranker(k=6, trade_off=0.3).report(*tables, **asked)["relevance"].to_pylist()

    settings = client.explore("settings", {"choices": client.choices, "aim": client.aim}).json
    assert ran(settings["python"]) == expected
    said, words = tmp_path / "said.toml", settings["command"]
    said.write_text(settings["profile"].replace("profiles.explored", "profiles.films"), encoding="utf-8")
    assert served(tmp_path, said) == expected
    for each in write_commented(tmp_path, words):
        words = words.replace(f" {each.name} ", f" {each} ")
    out = tmp_path / "slates.parquet"
    arguments = shlex.split(words, comments=True)[1:]
    arguments[-1] = str(out)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert slates_of(pq.read_table(out)) == expected


def write_commented(folder: Path, words: str) -> list[Path]:
    """The files that comments of a command say the lines of."""
    found: list[Path] = []
    for line in words.splitlines():
        said = line.removeprefix("# ")
        if said.endswith(".csv:"):
            found.append(folder / said.removesuffix(":"))
            found[-1].write_text("", encoding="utf-8")
        elif line.startswith("# "):
            found[-1].write_text(found[-1].read_text(encoding="utf-8") + f"{said}\n", encoding="utf-8")
    return found


def test_beside_prices_of_groups_there_is_no_budget(tmp_path: Path) -> None:
    client = PageClient(source_of(write_profile(tmp_path, f"{OPTIONS}\n{PRICES['written down'][0]}")))
    assert list(client.about["grids"]) == ["trade_off"]
    for reply in (
        client.sample(aim={"kind": "max_deviation", "value": 0.1}),
        client.person(0, aim={"kind": "relevance_loss", "value": 0.1}),
    ):
        assert reply.path == "$.choices.aim"
        assert "is given with prices of items, must be left out" in reply.message


def test_what_an_items_groups_cost_is_told_apart_from_its_categories(tmp_path: Path) -> None:
    client = PageClient(source_of(write_profile(tmp_path, f"{OPTIONS}\n{PRICES['written down'][0]}")))
    seen = set()
    for user in range(8):
        person = client.person(user).json
        for each in person["items"]:
            shares = np.array(each["categories"])
            paid = shares[:, 1] @ np.array(person["prices"])[shares[:, 0].astype(int)]
            assert each["group_price"] == [0.2, 0.0, -0.1][int(each["id"]) % 3]
            assert each["gain"] == pytest.approx(0.7 * each["score"])
            assert each["adjusted"] == pytest.approx(each["gain"] - each["group_price"] - paid, abs=1e-8)
            seen.add(each["group_price"])
    assert seen == {0.2, 0.0, -0.1}


def test_a_reload_brings_the_options_of_the_profile_to_the_page(tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, OPTIONS)
    client = PageClient(partial(source_of, profiles))
    assert client.about["choices"]["k"] == 6
    write_profile(tmp_path, OPTIONS.replace("k = 6", "k = 4"))
    assert client.service.reload()
    assert client.explore("about").json["choices"]["k"] == 4


def test_a_method_that_the_page_does_not_show_is_refused(tmp_path: Path) -> None:
    told = "page: its profile has method = 'greedy', must be of a profile with 'excalibr'"
    with pytest.raises(ExcalibrError, match=told):
        source_of(write_profile(tmp_path, 'method = "greedy"'))
