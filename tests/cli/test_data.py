import hashlib
from pathlib import Path

from typer.testing import CliRunner

from excalibr._cli.application import application
from tests.datasets.server import serving
from tests.datasets.sets import csv_files, write_folder, write_zip


def many_ratings() -> dict[str, bytes]:
    rows = [f"{user},{item},4.5,978300760" for user in (1, 2) for item in range(1, 7 - user + 1)]
    movies = [f"{item},Film (19{item}5),Drama" + "|Comedy" * (item % 2) for item in range(1, 7)]
    return {
        "ratings.csv": "\n".join(["userId,movieId,rating,timestamp", *rows, ""]).encode(),
        "movies.csv": "\n".join(["movieId,title,genres", *movies, ""]).encode(),
    }


def test_get_downloads_and_says_what_to_do_next(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "source.zip", "ml-1m", csv_files()).read_bytes()
    with serving({"/ml-1m.zip": archive}) as server:
        given = ["data", "get", "ml-1m", "--to", str(tmp_path), "--url", server.url]
        refused = CliRunner().invoke(application, [*given, "--accept-unverified"])
        assert "must begin with https:// where no checksum is known" in str(refused.exception)
        result = CliRunner().invoke(application, [*given, "--checksum", hashlib.sha256(archive).hexdigest()])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "ml-1m.zip").read_bytes() == archive
    assert result.stdout.startswith(f"{tmp_path / 'ml-1m.zip'} is there.")
    assert f"excalibr data show {tmp_path / 'ml-1m.zip'}" in result.stdout
    assert "Harper and Konstan (2015)" in result.stdout


def test_show_counts_what_the_experiment_would_use(tmp_path: Path) -> None:
    result = CliRunner().invoke(application, ["data", "show", str(write_folder(tmp_path / "mine", many_ratings()))])
    assert result.exit_code == 0, result.output
    shown = {
        words: figure for words, _, figure in (line.strip().rpartition("  ") for line in result.stdout.splitlines())
    }
    found = {words.strip(): figure.strip() for words, figure in shown.items()}
    assert found["ratings"] == "11"
    assert found["their users"] == "2"
    assert found["their items"] == "6"
    assert found["years"] == "1915 to 1965"
    assert found["genres an item, mean"] == "1.50"
    assert found["share of positives on the top 5 % of items"] == "18.2%"


def test_show_of_a_sample_must_be_asked_for(tmp_path: Path) -> None:
    path = str(write_folder(tmp_path / "ml-1m", many_ratings()))
    assert CliRunner().invoke(application, ["data", "show", path]).exit_code != 0
    assert CliRunner().invoke(application, ["data", "show", path, "--sample"]).exit_code == 0


def test_show_limits_what_a_zip_unpacks_to(tmp_path: Path) -> None:
    path = str(write_zip(tmp_path / "mine.zip", "mine", many_ratings()))
    refused = CliRunner().invoke(application, ["data", "show", path, "--max-bytes", "100"])
    assert "must unpack to at most 100 bytes" in str(refused.exception)
    assert CliRunner().invoke(application, ["data", "show", path]).exit_code == 0


def test_a_name_with_brackets_is_shown_as_it_is(tmp_path: Path) -> None:
    shown = CliRunner().invoke(application, ["data", "show", str(write_folder(tmp_path / "[bold]a", many_ratings()))])
    assert shown.exit_code == 0, shown.output
    assert "[bold]a" in shown.stdout
