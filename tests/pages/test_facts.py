"""What pages say of names, options and defaults in their text, beside their examples."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from excalibr import Reranker
from excalibr.tables import Tables
from tests.pages.blocks import PAGES, text_of

OTHERS = {
    "--help",
    "--version",
    "--install-completion",
    "--problems",
    "--no-cache-dir",
    "--retry",
    "--retry-connrefused",
}
"""Options of what is not a command of ours, and those that every command has."""


def options_of_commands() -> dict[str, dict[str, Any]]:
    """By command the names of its options, with their defaults."""
    typer = pytest.importorskip("typer")
    pytest.importorskip("msgspec")
    from excalibr._cli.application import application

    found: dict[str, dict[str, Any]] = {}

    def add(group: Any, context: Any) -> None:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if hasattr(command, "list_commands"):
                add(command, context)
            else:
                found[name] = {option: each.default for each in command.params for option in each.opts}

    group = typer.main.get_command(application)
    add(group, group.make_context("excalibr", [], resilient_parsing=True))
    return found


def test_options_that_pages_name_are_options_of_a_command() -> None:
    known = {name for options in options_of_commands().values() for name in options} | OTHERS
    pages = [page for page in PAGES if page == "README.md" or (page.startswith("docs/") and "/site/" not in page)]
    named = {name for page in pages for name in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text_of(page))}
    assert named - known == set()


def test_the_page_of_the_service_has_every_option_with_its_default() -> None:
    options = options_of_commands()["serve"]
    table = text_of("docs/serve.md").partition("| option | default | |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in row.split("|")[1:3]] for row in table.splitlines()[2:]]
    said = {name: default for names, default in cells for name in re.findall(r"--[a-z-]+", names)}
    assert said.keys() == options.keys() - {"--help", "profiles"}
    for names, shown in cells:
        defaults = [options[name] for name in re.findall(r"--[a-z-]+", names)]
        if shown and shown != "processors":
            assert ", ".join(map(written, defaults)) == shown


def written(default: Any) -> str:
    """A default as the page has it."""
    if isinstance(default, int) and default % 1_000_000 == 0:
        return f"{default // 1_000_000} MB"
    return f"{default:,}" if default == 10_000 else str(default).removesuffix(".0")


def test_the_guide_to_tables_has_every_usual_name_and_every_option_for_one_table() -> None:
    from excalibr.tables._columns import USUAL

    guide = text_of("docs/tables.md").partition("### Column names")[2].partition("\n### ")[0]
    named = set(re.findall(r"`(\w+)`", guide))
    plain = {name.replace("_", "") for name in named}
    assert {name for role in USUAL if role != "rating" for name in USUAL[role]} - plain == set()
    tables = ("items", "history", "targets", "prior", "users", "pinned", "shown")
    own = {field.name for field in fields(Tables) if field.name.partition("_")[0] in tables and "_" in field.name}
    assert own - named == set()


ITEMS = {"item_id": [0, 1, 2, 3], "category": ["drama", "drama", "comedy", "comedy"]}
USERS_OF_A_CASE: dict[str, dict[str, Any]] = {
    "a negative or infinite weight": {
        "targets": {"user_id": ["ada"] * 2, "category": ["drama", "comedy"], "weight": [-1.0, 1]}
    },
    "a band with `low` above `high`": {
        "targets": {"user_id": ["ada"] * 2, "category": ["drama", "comedy"], "low": [0.8, 0.1], "high": [0.5, 0.9]}
    },
    "`trade_off` outside 0 to 1": {"users": {"user_id": ["ada"], "trade_off": [1.5]}},
    "a pin of an item that is not among": {"pinned": {"user_id": ["ada"], "rank": [1], "item_id": [77]}},
    "a pin beyond the user's last slot": {"pinned": {"user_id": ["ada"], "rank": [3], "item_id": [1]}},
    "a user who has seen all candidates": {"shown": {"user_id": ["ada"] * 4, "item_id": [0, 1, 2, 3]}},
}
"""Tables of one user for cases of the guide to tables, by words of its rows."""


@pytest.mark.filterwarnings("ignore::excalibr.errors.BatchWarning")
@pytest.mark.parametrize("case", USERS_OF_A_CASE)
def test_an_edge_case_has_the_status_that_the_guide_to_tables_says(case: str) -> None:
    pa = pytest.importorskip("pyarrow")
    candidates = pa.table({"user_id": ["ada"] * 4, "item_id": [0, 1, 2, 3], "score": [0.9, 0.8, 0.7, 0.6]})
    tables = {name: pa.table(table) for name, table in USERS_OF_A_CASE[case].items()}
    rows = [row for row in text_of("docs/tables.md").splitlines() if row.startswith("|") and case in row]
    assert len(rows) == 1
    said = re.findall(r"status `(.+?)`", rows[0])
    report = Reranker(k=2).report(candidates, pa.table(ITEMS), **({"targets": {"drama": 0.5, "comedy": 0.5}} | tables))
    status = report["status"].to_pylist()[0]
    assert any(status.startswith(each) for each in said), (status, said)
