"""``excalibr explore`` and ``excalibr serve --page``: what they begin with, and what they refuse."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr.errors import ExcalibrError
from excalibr.service._page.profile import source_of
from excalibr.service._page.routes import Page
from tests.service.page.explored import write_tables


def asked(*words: object) -> Any:
    return CliRunner().invoke(application, ["explore", *map(str, words)])


def refusal(*words: object) -> str:
    result = asked(*words)
    assert isinstance(result.exception, ExcalibrError), result.output
    return str(result.exception)


def stored_in(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8").partition('id="stored">')[2].partition("</script>")[0])


def test_the_page_is_saved_with_the_options_it_was_asked_with(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    named = [f"--{name}={tables[name]}" for name in ("items", "history", "truth")]
    out = tmp_path / "report.html"
    options = ["-k", 4, "--relevance-loss", 0.05, "--floors", "art=0.05", "--sample", 9, "--category", "genres"]
    result = asked(tables["candidates"], *named, *options, "--save", out)
    assert result.exit_code == 0, result.output
    about = stored_in(out)["about"]
    assert about["choices"]["k"] == 4
    assert about["choices"]["floors"] == [{"category": "art", "amount": 0.05, "attribute": ""}]
    assert about["aim"] == {"kind": "relevance_loss", "value": 0.05}
    assert len(about["sample"]) == 9
    assert about["truth"] is True


def test_without_tables_it_is_the_invented_catalogue(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert asked("--save", out).exit_code == 0
    assert stored_in(out)["about"]["labels"][0] == "Ada"
    assert re.search(r"<title>excalibr", out.read_text(encoding="utf-8"))


def test_mistakes_are_told_in_the_commands_own_words(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    items = f"--items={tables['items']}"
    assert refusal(tables["candidates"]) == "--items: are missing, must be given with the other tables."
    assert "--history: is missing, must be given, or --targets" in refusal(
        tables["candidates"], items, "--save", tmp_path / "out.html"
    )
    history = f"--history={tables['history']}"
    told = refusal(tables["candidates"], items, history, "--score", "points", "--save", tmp_path / "out.html")
    assert "--score" in told
    assert "score=" not in told
    assert "-k: is 0, must be" in refusal("-k", 0)
    assert "does not exist" in refusal(tmp_path / "none.parquet", items, history, "--save", tmp_path / "out.html")


def test_a_table_that_is_not_there_is_refused_before_the_page_says_that_it_reads_them(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    result = asked(tables["candidates"], f"--items={tables['items']}", f"--history={tmp_path}/none.csv", "--no-browser")
    assert str(result.exception) == f"--history: {tmp_path}/none.csv does not exist, must be a file or a folder."
    assert result.output == ""


def test_the_page_ranks_with_prices_of_groups(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    prices = tmp_path / "prices.csv"
    prices.write_text("attribute,category,price\ndecade,1950s,0.2\n", encoding="utf-8")
    named = [f"--{name}={tables[name]}" for name in ("items", "history")]
    out = tmp_path / "report.html"
    assert asked(tables["candidates"], *named, "--category=genres", f"--prices={prices}", "--save", out).exit_code == 0
    assert "prices of 1 group (decade)" in stored_in(out)["about"]["understood"]


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refusal("--no-browser", "--port", port)
    assert told == f"--port: {port} of 127.0.0.1 is taken, must be free. Hint: pass --port … with another."


def test_a_profile_names_what_the_page_of_a_server_shows(tmp_path: Path) -> None:
    write_tables(tmp_path)
    profiles = tmp_path / "profiles.toml"
    text = '[profiles.films]\nitems = "items.parquet"\nhistory = "history.parquet"\ncategory = "genres"\nk = 5\n'
    profiles.write_text(text, encoding="utf-8")
    with pytest.raises(ExcalibrError, match="names no candidates"):
        source_of(profiles)
    profiles.write_text(text + 'candidates = "candidates.parquet"\ntruth = "truth.parquet"\n', encoding="utf-8")
    page = Page(source_of(profiles))
    page.load()
    assert page.explored is not None
    assert page.explored.truth is not None
    assert page.explored.source.reranker.k == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[profiles", "{path}: is not TOML"),
        (
            '[profiles.films]\ncandidates = "c.csv"\nhistory = 7',
            "{path}: [profiles.films]: history: is 7, must be the name",
        ),
        ('[profiles.films]\ncandidates = "c.csv"\nk = 0', "{path}: [profiles.films]: k: is 0, must be"),
    ],
)
def test_what_is_wrong_with_the_profile_of_a_page_is_told_with_its_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExcalibrError) as caught:
        source_of(path)
    assert str(caught.value).startswith(message.format(path=path))


@pytest.mark.parametrize("words", [["--host", "0.0.0.0"], ["--token-file", "token"]])
def test_a_server_shows_the_page_to_this_machine_alone(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "token").write_text("secret", encoding="utf-8")
    result = CliRunner().invoke(
        application, ["serve", "--page", words[0], words[1].replace("token", f"{tmp_path}/token")]
    )
    assert isinstance(result.exception, ExcalibrError)
    assert "--page: is asked for with" in str(result.exception)


def test_items_without_titles_are_shown_by_id_and_another_column_by_name(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    items = pq.read_table(tables["items"])
    pq.write_table(items.drop_columns(["title"]), tables["items"])
    named = [tables["candidates"], f"--items={tables['items']}", f"--history={tables['history']}", "--category=genres"]
    out = tmp_path / "report.html"
    for more, title in (([], r"\d+"), (["--title", "decade"], r"\d{4}s")):
        assert asked(*named, *more, "--save", out).exit_code == 0
        person = next(iter(stored_in(out)["people"].values()))[0]
        assert all(re.fullmatch(title, item["title"]) for item in person["items"])
