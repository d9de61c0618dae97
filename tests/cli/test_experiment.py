from pathlib import Path

import pytest
from typer.testing import CliRunner

from excalibr.cli.application import application
from excalibr.errors import InputError
from tests.experiments.invented import movielens_folder, own_tables

SMALL = [
    *("--users", "3", "--mip-users", "1", "--timed-users", "0", "--settings", "12/6", "--weightings", "log"),
    *("--trade-offs", "0.2", "--trade-offs", "0.8", "--methods", "greedy", "--methods", "excalibr"),
]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(application, ["experiment", *map(str, arguments), *SMALL])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_one_command_leads_from_a_folder_to_the_report(tmp_path: Path) -> None:
    data, out = movielens_folder(tmp_path), tmp_path / "out"
    printed = run("--data", data, "--out", out, "--page", tmp_path / "docs")
    assert "What the paper claims" in printed
    assert (out / "report.html").is_file()
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}
    page = (tmp_path / "docs" / "experiment.md").read_text(encoding="utf-8")
    assert "--data invented --users 3 --mip-users 1 --timed-users 0 --trade-offs 0.2 --trade-offs 0.8" in page
    assert str(tmp_path) not in page


def test_data_of_ones_own_needs_a_few_options(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    columns = ["--user-column", "listener", "--item-column", "track", "--rating-column", "stars", "--separator", ";"]
    own = ["--ratings", plays, "--items", tracks, "--category-column", "mood", *columns]
    run(*own, "--out", tmp_path / "out", "--no-figures")
    table = (tmp_path / "out" / "tables" / "equal-kl.csv").read_text(encoding="utf-8")
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {"mood", "popularity"}
    assert not (tmp_path / "out" / "figures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--data: is missing"),
        (["--data", "a", "--ratings", "b"], "--data: comes with tables of one's own"),
        (["--ratings", "a", "--items", "b"], "--category-column: is missing"),
        (["--data", "nowhere"], "nowhere: does not exist"),
        (["--data", "nowhere", "--seed", "1", "--attributes", "x"], "nowhere: does not exist"),
    ],
)
def test_bad_arguments_are_said_so(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments, "--out", tmp_path / "out")


def test_the_catalogue_may_be_too_small_for_a_setting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="settings: asks for 70 candidates"):
        run("--data", movielens_folder(tmp_path), "--out", tmp_path / "out", "--settings", "70/10")
