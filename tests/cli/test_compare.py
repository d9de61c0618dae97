"""``excalibr compare``: two folders on the terminal and in a file."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr._experiments import run_experiment
from excalibr._experiments.sources import movielens_source
from excalibr.errors import InputError
from tests.experiments.invented import movielens_folder, small_plan


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compared")
    source = movielens_source(movielens_folder(folder))
    for name, trade_offs in (("before", (0.1, 0.9)), ("after", (0.2, 0.9))):
        plan = small_plan(arms=("excalibr",), attributes=("genre",), weightings=("log",), trade_offs=trade_offs)
        run_experiment(source, plan, folder / name)
    return folder / "before", folder / "after"


def compare(*arguments: object) -> str:
    result = CliRunner().invoke(application, ["compare", *map(str, arguments)])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_columns_line_up(folders: tuple[Path, Path]) -> None:
    lines = compare(*folders).splitlines()
    assert lines[0] == "after less before"
    assert "trade_offs: 0.1, 0.9 → 0.2, 0.9" in lines
    head = next(line for line in lines if line.startswith("attribute"))
    rows = [line for line in lines if line.startswith("genre")]
    assert len(rows) == 4  # relevance only and ExCalibR in two settings
    for heading in ("weights", "n/k", "method", "users", "new is"):
        at = head.index(heading)
        assert all(line[at - 1] == " " and line[at] != " " for line in rows)


@pytest.mark.parametrize(
    ("ending", "said"), [("md", "| genre | log | 20/10 | ExCalibR |"), ("csv", "genre,log,20/10,ExC")]
)
def test_it_can_be_kept_in_a_file(folders: tuple[Path, Path], tmp_path: Path, ending: str, said: str) -> None:
    compare(*folders, "-o", tmp_path / f"compared.{ending}")
    assert said in (tmp_path / f"compared.{ending}").read_text(encoding="utf-8")


def test_a_file_of_another_kind_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"-o: is .*compared.xls, must end in .md or .csv"):
        compare(tmp_path, tmp_path, "-o", tmp_path / "compared.xls")


def test_folders_that_are_no_results_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results of an experiment"):
        compare(tmp_path, tmp_path)
