"""The page within the application: a fixed list of files, its own headers, and nothing for anybody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from excalibr.service import application
from excalibr.service._page import routes
from excalibr.service._page.files import MODULES
from excalibr.service._page.prepared import prepare
from tests.service.client import Client
from tests.service.page.explored import PageClient, source_of, write_tables

JSON = {"CONTENT_TYPE": "application/json"}


@pytest.fixture
def client(tmp_path: Path) -> PageClient:
    return PageClient(source_of(tmp_path))


def test_the_page_and_its_files_come_with_a_policy_that_allows_only_itself(client: PageClient) -> None:
    files = ["/", "/favicon.ico", "/page/favicon.svg", "/page/style.css", *(f"/page/{name}" for name in MODULES)]
    for path in files:
        reply = client.get(path)
        assert reply.code == 200, path
        assert reply.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/").headers["Content-Type"] == "text/html; charset=utf-8"
    assert client.get("/page/main.js").headers["Content-Type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    ["/page/../_server.py", "/page/%2e%2e/_server.py", "/page//etc/passwd", "/page/", "/page/index.html", "/explore"],
)
def test_no_other_file_is_had(client: PageClient, path: str) -> None:
    assert client.get(path).code == 404


def test_no_file_fetches_anything_from_anywhere() -> None:
    from excalibr.service._page.files import read_file

    for name in ("index.html", "style.css", *MODULES):
        text = read_file(name).decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, name
        assert " style=" not in text
        assert "innerHTML" not in text


def test_other_hosts_and_origins_are_refused(client: PageClient) -> None:
    assert client.get("/", HTTP_HOST="evil.example:8000").code == 403
    assert client.get("/", HTTP_HOST="127.0.0.1:8000").code == 200
    assert client.explore("about", HTTP_ORIGIN="http://evil.example").code == 403
    assert client.explore("about", HTTP_ORIGIN="http://localhost:8000").code == 200


def test_questions_are_json_posts_of_a_known_form(client: PageClient) -> None:
    assert client.get("/explore/about").code == 405
    assert client.post("/", {}).code == 405
    assert client.post("/explore/about", {}, CONTENT_TYPE="text/plain").code == 400
    assert client.explore("about", b"{").code == 400
    assert client.explore("about", b" " * 200_000).code == 413
    reply = client.sample(choices=client.choices | {"method": "lp"})
    assert (reply.code, reply.path) == (422, "$.choices")
    assert client.sample(first=3, last=3).code == 422
    assert client.sample(last=25).code == 422


def test_a_choice_that_cannot_be_is_told_in_the_librarys_words_with_its_place(client: PageClient) -> None:
    for changes, path, words in [
        ({"k": 0}, "$.choices.k", "k: is 0, must be a whole number of at least 1"),
        ({"divergence": "l2"}, "$.choices.divergence", "divergence: is 'l2', must be one of"),
        ({"floors": [{"category": "none", "amount": 0.1}]}, "$.choices.floors", "floors: is 'none', must be one of"),
    ]:
        reply = client.sample(choices=client.choices | changes)
        assert (reply.code, reply.path) == (200, path)
        assert reply.message.startswith(words)
    reply = client.sample(aim={"kind": "trade_off", "value": 1.5})
    assert (reply.code, reply.path) == (200, "$.choices.aim")


def test_without_the_page_the_service_has_none_of_its_paths() -> None:
    client = Client(application())
    assert client.get("/").code == 404
    assert client.post("/explore/about", {}, **JSON).code == 404


def test_before_the_tables_are_loaded_the_page_says_so(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    assert client.service.page is not None
    client.service.page.explored = None
    assert client.explore("about").code == 503


def test_figures_are_of_the_tables_that_a_reload_brought_while_others_were_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = PageClient(source_of(tmp_path))

    def prepared_while_tables_change(*given: Any) -> Any:
        made = prepare(*given)
        monkeypatch.setattr(routes, "prepare", prepare)
        write_tables(tmp_path, users=12)
        assert client.service.reload()
        return made

    monkeypatch.setattr(routes, "prepare", prepared_while_tables_change)
    assert client.sample().json["counted"] == 24  # of the tables that it was asked of
    assert client.sample(last=12).json == PageClient(source_of(tmp_path, users=12)).sample().json
