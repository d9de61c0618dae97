import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.testing import CliRunner

import excalibr
from excalibr import _cli as cli
from excalibr._cli import main
from excalibr._cli.application import UsageError, application

WITHOUT = "import sys; sys.modules[{package!r}] = None; from excalibr._cli import main; main()"


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(application, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"excalibr {excalibr.__version__}\n")


@pytest.mark.parametrize(
    "command", ["", "demo", "rerank", "serve", "balance", "data", "data get", "data show", "experiment"]
)
def test_every_help_text_has_an_example(command: str) -> None:
    result = CliRunner().invoke(application, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert "Example: excalibr " in result.stdout


def test_the_help_lists_every_command() -> None:
    listed = CliRunner().invoke(application, ["--help"]).stdout
    assert all(name in listed for name in ("demo", "rerank", "serve", "balance", "data", "experiment"))
    assert "warmup" not in listed


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["rerank", "c.csv", "--items", "i.csv", "--history", "", "-o", "s.csv"], "--history"),
        (["rerank", "", "--items", "i.csv", "-o", "s.csv"], "candidates"),
        (["experiment", "--out="], "--out"),
        (["data", "get", "ml-1m", "--to", ""], "--to"),
        (["serve", ""], "profiles"),
    ],
)
def test_an_empty_path_is_refused_and_not_taken_for_the_current_folder(words: list[str], name: str) -> None:
    error = CliRunner().invoke(application, words, standalone_mode=False).exception
    assert isinstance(error, UsageError)
    assert name in error.format_message()
    assert "it is empty, and must be a path" in error.format_message()


def test_a_command_that_is_misspelt_is_suggested() -> None:
    result = CliRunner().invoke(application, ["serv"])
    assert result.exit_code == 2
    assert "Did you mean 'serve'?" in result.output


def test_a_command_is_called_without_importing_the_others() -> None:
    code = (
        "import sys; from excalibr._cli import main\n"
        "try: main()\n"
        "finally: print([each for each in sys.modules if 'rerank' in each])"
    )
    done = subprocess.run([sys.executable, "-c", code, "serve", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_an_error_of_ours_is_one_line_and_exit_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["excalibr", "demo", "--user", "Adda"])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr()
    assert stopped.value.code == 2
    assert printed.err.startswith("excalibr: --user: is 'Adda', must be one of 'Ada', ")
    assert printed.err.endswith("Hint: did you mean 'Ada'?\n")


def test_an_interrupt_before_a_command_begins_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code, capsys.readouterr().err) == (130, "excalibr: interrupted.\n")


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_names_the_extra(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(package=package)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"excalibr: {package} is not installed. Hint: pip install 'excalibr[cli]'.\n"


def test_an_interrupt_while_a_command_is_being_imported_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(excalibr._cli.application, "_import", interrupted)
    monkeypatch.setattr(sys, "argv", ["excalibr", "rerank", "candidates.parquet"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code, capsys.readouterr().err) == (130, "excalibr: interrupted.\n")


def test_an_interrupt_while_the_options_before_a_command_are_read_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TyperGroup, "make_context", interrupted)
    monkeypatch.setattr(sys, "argv", ["excalibr", "rerank", "candidates.parquet"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code, capsys.readouterr().err) == (130, "excalibr: interrupted.\n")


@pytest.mark.parametrize(("out", "code"), [(".", 2), ("picture.svg", 2), ("folder.png", 3)])
def test_a_picture_goes_to_a_png_file_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str, code: int
) -> None:
    (tmp_path / "folder.png").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["excalibr", "demo", "--out", out])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == code
    assert capsys.readouterr().err == (
        f"excalibr: --out: is '{out}', must end in .png.\n"
        if code == 2
        else "excalibr: [Errno 21] Is a directory: 'folder.png'\n"
    )


def test_several_files_in_place_of_one_are_answered_with_their_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["rerank", "parts/1.csv", "parts/2.csv", "--items", "items.csv", "-o", "out.csv"]
    monkeypatch.setattr(sys, "argv", ["excalibr", *given])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == (
        "excalibr: Got unexpected extra argument(s) (parts/2.csv). A table in several files is given as their folder. "
        "Hint: excalibr rerank --help says more.\n"
    )


def test_a_warning_is_one_line_without_a_place_in_our_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["excalibr", "demo", "-k", "150", "--out", str(tmp_path / "all.png")])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == 0
    assert capsys.readouterr().err == (
        "excalibr: warning: k = n = 150: with no candidates to spare, re-ranking can only change the order. "
        "Pass more candidates than slots.\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_an_output_has_no_characters_for_is_no_error(tmp_path: Path, encoding: str) -> None:
    """As in a pipe on Windows."""
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", "demo", "--out", str(tmp_path / "a.png")]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"After, one draw" in done.stdout


def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr(sys, "argv", ["excalibr", "demo", "--out", str(tmp_path / "folder.png")])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.err.count("\n")) == (3, 1)
    assert printed.err.startswith("excalibr: [Errno ")
    assert str(tmp_path / "folder.png") in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]
