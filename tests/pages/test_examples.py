"""Every code block of every page: run, and printing what the page shows below it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import excalibr
from tests.pages.blocks import PAGES, SHELL, blocks_of, text_of
from tests.pages.given import given
from tests.pages.running import commands_of, run_page, words_of

OWN_ENVIRONMENT = ("docs/lenskit.md", "docs/rectools.md")
"""Run by ``tests/lenskit`` and ``tests/rectools``, where the frameworks are installed."""

RUN = [page for page in PAGES if blocks_of(page) and page not in OWN_ENVIRONMENT]
NEEDY = [(page, block.needs) for page in RUN for block in blocks_of(page) if block.needs]
NOT_RUN = [(page, block) for page in PAGES for block in blocks_of(page) if block.not_run]


@pytest.mark.parametrize("page", RUN)
def test_every_example_runs_and_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    for package in ("pandas", "pyarrow", "scipy", "typer", "msgspec"):
        pytest.importorskip(package)
    pytest.importorskip("matplotlib").use("agg")
    run_page(page, tmp_path, given(page, tmp_path))


@pytest.mark.parametrize(("page", "package"), NEEDY)
@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
def test_an_example_runs_with_the_package_that_it_needs(page: str, package: str, tmp_path: Path) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for extra in ("pyarrow", "scipy"):
        pytest.importorskip(extra)
    names = run_page(page, tmp_path, given(page, tmp_path), package).names
    if page == "docs/recipes.md":
        slates = names["slates"]
        assert len(slates) == 30
        assert list(getattr(slates, "column_names", None) or slates.columns) == ["user_id", "rank", "item_id", "score"]


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_in_a_language_that_is_not_run(page: str) -> None:
    assert not SHELL.search(text_of(page)), "write ```console, with `$ ` before each command"


COMMANDS = [
    words
    for _, block in NOT_RUN
    if block.language == "console"
    for command, _ in commands_of(block.code)
    if (words := words_of(command))[0] == "excalibr"
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_that_is_not_run_has_the_options_that_it_names(words: list[str]) -> None:
    typer = pytest.importorskip("typer")

    from excalibr._cli.application import application

    group: Any = typer.main.get_command(application)
    with group.make_context("excalibr", words[1:]) as context:
        _, command, rest = group.resolve_command(context, words[1:])
        assert command.make_context(words[1], rest).params


SIGNATURES = [block.code for page, block in NOT_RUN if block.not_run == "a signature"]


@pytest.mark.parametrize("code", SIGNATURES, ids=lambda code: code.partition("(")[0])
def test_a_signature_is_that_of_the_function(code: str) -> None:
    name, _, rest = code.partition("(")
    shown = ast.parse(f"def function({rest.strip()}: ...").body[0]
    function = getattr(excalibr, name.removeprefix("excalibr."))
    assert isinstance(shown, ast.FunctionDef)
    assert parameters(shown.args) == parameters(source_of(function).args)


def source_of(function: Any) -> ast.FunctionDef:
    """The definition of a function as it stands in its module."""
    import inspect
    import textwrap

    found = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def parameters(given: ast.arguments) -> dict[str, str | None]:
    """Names with their defaults, in order."""
    plain = [each.arg for each in (*given.posonlyargs, *given.args)]
    defaults = [None] * (len(plain) - len(given.defaults)) + [ast.unparse(each) for each in given.defaults]
    keyed = [None if each is None else ast.unparse(each) for each in given.kw_defaults]
    return dict(zip(plain, defaults, strict=True)) | dict(
        zip([each.arg for each in given.kwonlyargs], keyed, strict=True)
    )
