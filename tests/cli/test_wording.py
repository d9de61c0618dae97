"""Every error that reaches the command line says options as they are typed there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr._cli.balance import balance
from excalibr._cli.experiment import experiment
from excalibr._cli.options import WORDS
from excalibr._cli.rerank import rerank
from excalibr._cli.wording import words_of
from excalibr.errors import ExcalibrError
from excalibr.tables._options import Everyone
from tests.cli.rerank.test_notices import CANDIDATES, HISTORY, ITEMS
from tests.experiments.invented import movielens_folder, own_tables

PYTHON = re.compile(r"\b\w+=['\"…\[{\d]|\bNone\b|\bTrue\b|\bFalse\b|\b[a-z]+_[a-z_]+\b(?![']|`| of)")


def message(*arguments: object) -> str:
    result = CliRunner().invoke(application, [str(each) for each in arguments])
    assert isinstance(result.exception, ExcalibrError), result.output
    return str(result.exception)


def asked(folder: Path) -> list[str]:
    """Arguments that lack a number of slots and what the history is."""
    for name, table in {"candidates": CANDIDATES, "items": ITEMS, "history": HISTORY}.items():
        pa.csv.write_csv(table, folder / f"{name}.csv")
    return ["rerank", str(folder / "candidates.csv"), "--items", str(folder / "items.csv"), "-o", str(folder / "o.csv")]


WRONG = {
    "-k 0": "-k: is 0, must be a whole number of at least 1.",
    "--trade-off 7": "--trade-off: is 7.0, must be from 0 (relevance only) to 1 (calibration only).",
    "--trade-off 0.5 --relevance-loss 0.1": "--trade-off and --relevance-loss: are both given, must not go together. "
    "Hint: keep one of them.",
    "--threads 0": "--threads: is 0, must be a whole number of at least 1.",
    "--fallback errors": "--fallback: is 'errors', must be one of 'relevance', 'nothing', 'error'. "
    "Hint: did you mean 'error'?",
    "--fallback error -k 2 --score item_id --users USERS": "candidates: user 7 has bad trade off, must have only users "
    "who can be calibrated. Hint: see --fallback ….",
    "--strength 3": "--strength: is 3.0 without a prior, must be finite and at least 0, and 0 without a prior.",
    "--half-life 3": "column 'timestamp' not found in history. Hint: columns are ['user_id', 'item_id']; "
    "pass --timestamp … to name yours.",
    "--half-life 0 --timestamp item_id": "--half-life: is 0.0, must be above 0.",
    "--user-id userId": "column 'userId' not found in candidates. Hint: columns are ['user_id', 'item_id', 'score']; "
    "pass --user-id user_id.",
    "--history-user-id who": "column 'who' not found in history. Hint: columns are ['user_id', 'item_id']; "
    "pass --history-user-id user_id.",
    "--category genre": "column 'genre' not found in items. Hint: columns are ['item_id', 'category']; "
    "pass --category category.",
    "--category genre,decade": "2 things are wrong with items.\n"
    "(1) column 'genre' not found in items. Hint: columns are ['item_id', 'category']; "
    "pass --category … to name yours.\n"
    "(2) column 'decade' not found in items. Hint: columns are ['item_id', 'category']; "
    "pass --category … to name yours.",
    "--history-user-id who --history-item-id what": "2 things are wrong with history.\n"
    "(1) column 'who' not found in history. Hint: columns are ['user_id', 'item_id']; "
    "pass --history-user-id user_id.\n"
    "(2) column 'what' not found in history. Hint: columns are ['user_id', 'item_id']; pass --history-item-id item_id.",
    "--position-weights 0,0": "--position-weights: are all 0, must have at least one positive value.",
    "--attribute-weights genre=2": "--attribute-weights: is {'genre': 2}, must go with several attributes. "
    "Hint: name the columns of the attributes, --category genre,decade.",
    "--floors x=0.1": "--floors: is 'x', must be one of 'a', 'b'.",
    "--users ITEMS": "--users: has the columns ['item_id', 'category'], must have 'trade_off', 'k', 'visit' or "
    "'weight'. Hint: rename yours.",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_rerank_answers_in_its_own_words(tmp_path: Path, wrong: str) -> None:
    given = asked(tmp_path)
    pa.csv.write_csv(pa.table({"user_id": [7], "trade_off": [9.0]}), tmp_path / "users.csv")
    places = {"USERS": str(tmp_path / "users.csv"), "ITEMS": str(tmp_path / "items.csv")}
    words = [places.get(word, word) for word in wrong.split()]
    if "ITEMS" in wrong:
        words += ["--users-user-id", "item_id"]
    assert message(*given, "--history", tmp_path / "history.csv", *words) == WRONG[wrong]


def test_without_a_history_rerank_names_its_own_options(tmp_path: Path) -> None:
    assert message(*asked(tmp_path)) == (
        "--history: is missing, must be given, or --targets. "
        "Hint: --targets with a table of category and weight is one for all."
    )


def test_ids_of_two_types_are_said_without_a_cast(tmp_path: Path) -> None:
    given = asked(tmp_path)
    pq.write_table(pa.table({"item_id": ["1"], "category": ["a"]}), tmp_path / "text.parquet")
    given[3] = str(tmp_path / "text.parquet")
    assert message(*given, "--history", tmp_path / "history.csv") == (
        "item_id: is whole numbers in candidates and text in items, must be of one type. "
        "Hint: write both as Parquet, with ids of one type."
    )


def test_reasons_in_a_report_are_in_the_commands_words(tmp_path: Path) -> None:
    given = [*asked(tmp_path), "--history", str(tmp_path / "history.csv"), "--report", str(tmp_path / "report.csv")]
    limits = ["-k", "2", "--method", "greedy", "--max-per-category", "1"]
    assert CliRunner().invoke(application, [*given, *limits]).exit_code == 0
    statuses = pa.csv.read_csv(tmp_path / "report.csv")["status"].to_pylist()
    assert all("Hint: --method excalibr takes every option" in status for status in statuses)


def test_experiment_names_its_own_options(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    own = ["experiment", "--ratings", plays, "--items", tracks, "--category-column", "mood", "--out", tmp_path / "out"]
    assert message(*own, "--item-column", "track") == (
        f"column 'user_id' not found in {plays}. "
        "Hint: columns are ['listener', 'track', 'stars']; pass --user-column … to name yours."
    )
    several = message(*own).splitlines()
    assert several[0] == "3 things are wrong with the tables."
    assert [line.partition(" not found in ")[0] for line in several[1:]] == [
        "(1) column 'user_id'",
        "(2) column 'item_id'",
        "(3) column 'item_id'",
    ]
    assert several[1].endswith("pass --user-column … to name yours.")
    assert message(*own, "--category-column", "moods", "--user-column", "listener", "--item-column", "track").endswith(
        "pass --category-column mood."
    )
    named = [*own, "--user-column", "listener", "--item-column", "track", "--rating-column", "rating"]
    assert message(*named, "--above", "9").endswith("Pass --above … and --minimum ….")


@pytest.mark.parametrize(
    ("option", "wrong"), [("--methods", "greedyy"), ("--settings", "10/20"), ("--attributes", "genres")]
)
def test_experiment_says_lists_by_the_option_that_they_were_typed_after(
    tmp_path: Path, option: str, wrong: str
) -> None:
    said = message("experiment", "--data", movielens_folder(tmp_path), "--out", tmp_path / "out", option, wrong)
    assert said.startswith(f"{option}: is '{wrong}', must be ")


def test_a_set_of_another_size_is_answered_with_the_flag_of_the_command(tmp_path: Path) -> None:
    folder = movielens_folder(tmp_path).rename(tmp_path / "ml-1m")
    assert "or pass --sample if it is a sample on purpose" in message("data", "show", folder)
    asked_of = message("experiment", "--data", folder, "--out", tmp_path / "out")
    assert "or pass --part-of-set if it is a sample on purpose" in asked_of


def test_the_flags_are_those_that_the_commands_have() -> None:
    everybodys = {each.name for each in dataclasses.fields(Everyone)}
    for command, name, others in ((balance, "balance", set()), (rerank, "rerank", everybodys)):
        words = {option: flag for option, flag in WORDS.flags.items() if option not in others}
        assert {option: words_of(command).flags[option] for option in words} == words
        listed = CliRunner().invoke(application, [name, "--help"], env={"COLUMNS": "200"}).stdout
        assert [flag for flag in words.values() if flag not in listed] == []
    assert words_of(experiment).flags["user"] == "--user-column"


@pytest.mark.parametrize("wrong", [each for each in WRONG if "attribute" not in each])
def test_no_answer_speaks_python(wrong: str) -> None:
    said = re.sub(r"'[^']*'|\[[^]]*\]|--[a-z-]+( \w+)?", "", WRONG[wrong])
    assert PYTHON.search(said) is None
