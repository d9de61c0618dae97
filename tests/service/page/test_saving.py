"""The page as one file: everything within it, nothing from elsewhere, and the answers that the server would give."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from excalibr.service._page.files import MODULES, read_file
from excalibr.service._page.saving import bundle
from tests.service.page.explored import PageClient, source_of


def saved(client: PageClient) -> str:
    reply = client.explore("save", {"choices": client.choices, "aim": client.aim})
    assert reply.code == 200
    assert reply.headers["Content-Disposition"].startswith("attachment")
    return str(reply.body.decode())


def test_the_file_has_everything_and_refers_to_nothing(tmp_path: Path) -> None:
    page = saved(PageClient(source_of(tmp_path)))
    assert "<link" not in page
    assert " src=" not in page.partition('id="stored">')[0]
    assert not re.search(r"^import ", page, re.MULTILINE)


def test_hostile_titles_cannot_end_the_script_that_holds_them(tmp_path: Path) -> None:
    page = saved(PageClient(source_of(tmp_path)))
    stored = page.partition('id="stored">')[2].partition("</script>")[0]
    assert "<" not in stored
    assert json.loads(stored)["about"]["users"] == 24
    assert page.count("<script") == page.count("</script>") == 2


def test_it_holds_the_curve_and_some_users_at_each_of_its_points(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    stored = json.loads(saved(client).partition('id="stored">')[2].partition("</script>")[0])
    grid = stored["about"]["grids"]["trade_off"]
    here = grid.index(0.5)
    assert len(stored["figures"]) == len(stored["settings"]) == len(grid)
    assert stored["figures"][here] == client.sample().json
    assert len(stored["people"]) == 12
    user, answers = next(iter(stored["people"].items()))
    assert answers[here] == client.person(int(user)).json
    worst = client.sample().json["columns"]["deviation_before"]
    assert str(client.about["sample"][worst.index(max(worst))]) in stored["people"]


def test_users_who_cannot_be_calibrated_are_saved_with_the_reason(tmp_path: Path) -> None:
    source = source_of(tmp_path, users=2)
    history = pq.read_table(tmp_path / "history.parquet")
    pq.write_table(history.slice(0, 0), tmp_path / "history.parquet")
    client = PageClient(source)
    assert client.sample().json["refused"][0]["message"].startswith("user 100: has no target")
    stored = json.loads(saved(client).partition('id="stored">')[2].partition("</script>")[0])
    messages = {answer["error"]["message"] for answers in stored["people"].values() for answer in answers}
    assert messages == {f"user {user}: has no target, must be one who can be calibrated." for user in (100, 101)}


def test_users_whose_items_nobody_knows_and_scores_of_any_size_have_a_page(tmp_path: Path) -> None:
    source = source_of(tmp_path, users=2, relevance_loss=0.1)
    candidates = pq.read_table(tmp_path / "candidates.parquet")
    huge = candidates.set_column(2, "score", [np.asarray(candidates["score"]) * 1e100])
    pq.write_table(huge, tmp_path / "candidates.parquet")
    grid = PageClient(source).about["grids"]["trade_off"]
    assert grid == sorted(set(grid))
    unknown = candidates.set_column(1, "item_id", [np.asarray(candidates["item_id"]) + 1000])
    pq.write_table(unknown, tmp_path / "candidates.parquet")
    client = PageClient(source)
    assert client.about["understood"].startswith("2 users, 0 candidates each")
    assert client.sample().json["counted"] == 0


def test_no_two_modules_declare_the_same_name() -> None:
    declared = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", bundle(), re.MULTILINE)
    assert [name for name, count in Counter(declared).items() if count > 1] == []


def test_modules_import_only_from_those_before_them() -> None:
    for place, name in enumerate(MODULES):
        imported = re.findall(r'from "\./([\w.]+)";', read_file(name).decode())
        assert set(imported) <= set(MODULES[:place]), name
