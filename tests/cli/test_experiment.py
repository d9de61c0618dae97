import csv
import re
import signal
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr._cli import experiment as commands
from excalibr._cli.application import application
from excalibr._cli.lock import InUseError
from excalibr._experiments import processes
from excalibr.errors import InputError
from tests.cli.reranking import before_call
from tests.experiments.invented import ITEMS, movielens_folder, own_tables

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
    printed = run("--data", data, "--part-of-set", "--out", out, "--page", tmp_path / "docs")
    assert "What the paper claims" in printed
    assert (out / "report.html").is_file()
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}
    page = (tmp_path / "docs" / "experiment.md").read_text(encoding="utf-8")
    assert "--data invented --users 3 --mip-users 1 --timed-users 0 --trade-offs 0.2 --trade-offs 0.8" in page
    assert "--part-of-set --out out --page docs" in page
    assert str(tmp_path) not in page


def test_data_of_ones_own_needs_a_few_options(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    columns = ["--user-column", "listener", "--item-column", "track", "--rating-column", "stars", "--separator", ";"]
    own = ["--ratings", plays, "--items", tracks, "--category-column", "mood", *columns]
    printed = run(*own, "--out", tmp_path / "out", "--no-figures")
    assert re.search(r"to repeat it: excalibr experiment --ratings .* --out out\n", printed)
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
        (["--data", "nowhere", "--threads", "0"], "threads: is 0, must be a whole number of at least 1"),
        (["--data", "nowhere", "--regularisations", "-1"], r"regularisations: are \[-1.0\], must be finite"),
        (["--data", "nowhere", "--time", "15x"], "--time: is '15x', must be .* or minutes such as 15"),
        (["--data", "nowhere", "--seed", "1", "--attributes", "x"], "nowhere: does not exist"),
    ],
)
def test_bad_arguments_are_said_so(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments, "--out", tmp_path / "out")


def test_two_runs_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["experiment", "--data", str(movielens_folder(tmp_path)), "--part-of-set", *SMALL, "--no-figures"]
    asked += ["--out", str(tmp_path / "out")]
    second = []
    before_call(monkeypatch, commands, "write_files", 1, lambda: second.append(CliRunner().invoke(application, asked)))
    assert CliRunner().invoke(application, asked).exit_code == 0
    assert second[0].exit_code == 1
    assert isinstance(second[0].exception, InUseError)
    assert str(second[0].exception).startswith(f"{tmp_path / 'out' / 'experiment'}: is being written by another run")
    assert not (tmp_path / "out" / "experiment.lock").exists()


def test_the_catalogue_may_be_too_small_for_a_setting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="settings: asks for 70 candidates"):
        run("--data", movielens_folder(tmp_path), "--out", tmp_path / "out", "--settings", "70/10")


NASTY = ["a b", "a/b", "<script>alert(1)</script>", "=HYPERLINK(1)", "$_{b$", "[/x] `c` | **d**"]
"""Names of columns that mean something to a file system, a browser, a spreadsheet, mathtext, rich or Markdown."""


def nasty_tables(folder: Path) -> list[object]:
    plays, _ = own_tables(folder)
    labels = ["$_{b$", "<img src=x>", "=1+1", "@cmd", "x|y"]
    rows = [[f"t{item}", *(labels[(item + shift) % 5] for shift in range(len(NASTY)))] for item in range(1, ITEMS + 1)]
    with (folder / "items.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["track", *NASTY], *rows])
    columns = ["--user-column", "listener", "--item-column", "track", "--rating-column", "stars", "--separator", ";"]
    own: list[object] = ["--ratings", plays, "--items", folder / "items.csv", *columns]
    return [*own, *(word for name in NASTY for word in ("--category-column", name))]


def test_any_name_is_shown_as_text_in_every_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = run(*nasty_tables(tmp_path), "--out", out, "--page", tmp_path / "docs", "--timed-users", "1")
    assert "What the paper claims" in printed
    pages = [*(out / "tables").glob("*.md"), tmp_path / "docs" / "experiment.md"]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        shown = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert "<script>" not in shown, path
        assert "&lt;script&gt;" in shown or "script" not in shown
        assert not re.search(r"(?<!\\)`c`", shown)
        for table in re.findall(r"(?:^\|.*\n)+", shown, flags=re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, path
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "<script>" not in report
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in report
    for path in (out / "tables").glob("*.csv"):
        for cell in (cell for row in csv.reader(path.read_text(encoding="utf-8").splitlines()) for cell in row):
            assert cell[:1] not in ("=", "+", "-", "@") or cell.strip("%+-").replace(".", "").isdigit(), cell
    assert "'=HYPERLINK(1)" in (out / "tables" / "equal-kl.csv").read_text(encoding="utf-8")
    assert len(list((out / "figures").glob("*.svg"))) > 0


def test_attributes_that_differ_only_in_punctuation_have_results_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(*nasty_tables(tmp_path), "--out", out, "--no-figures")
    results = pq.read_table(out / "results.parquet")
    assert set(results["attribute"].to_pylist()) == {*NASTY, "popularity"}
    ours = [results.filter(pc.equal(results["attribute"], name)).drop_columns("attribute") for name in ("a b", "a/b")]
    assert not ours[0].equals(ours[1])
    assert all(re.fullmatch("[0-9a-f]{32}.parquet", path.name) for path in (out / "parts").iterdir())


def test_a_column_called_popularity_or_named_twice_is_refused(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    own = ["--ratings", plays, "--items", tracks, "--out", tmp_path / "out", "--category-column", "mood"]
    for name, message in (("popularity", "which comes by itself"), ("mood", "'mood' twice")):
        with pytest.raises(InputError, match=message):
            run(*own, "--category-column", name)


@pytest.mark.parametrize("name", ["results.parquet", "summary.parquet", "parts/mine.parquet"])
def test_an_input_that_would_be_written_over_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"mine")
    with pytest.raises(InputError, match="is one of the files that are written there, must be another folder"):
        run("--ratings", path, "--items", path, "--category-column", "x", "--out", tmp_path)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_it_and_started_again_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    given = ["--data", movielens_folder(tmp_path), "--out", tmp_path / "out", "--no-figures", "--threads", 1]
    with monkeypatch.context() as stopped:
        before_call(stopped, processes, "measure_users", 3, lambda: signal.raise_signal(number))
        result = CliRunner().invoke(application, ["experiment", *map(str, given), *SMALL])
    assert result.exit_code == code
    assert "Interrupted. Started again with the same arguments, it goes on where it stopped." in result.output
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "parts").iterdir()}
    assert kept
    run(*given)
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
