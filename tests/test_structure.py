"""How the package is laid out: sizes of modules, imports that contracts see, names and options declared once."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import typing
from pathlib import Path

import pytest

import excalibr
from excalibr._options import AIMS, DIVERGENCES, DRAWS, Options

ROOT = Path(__file__).parent.parent
PACKAGE, KERNEL = ROOT / "src" / "excalibr", ROOT / "src" / "kernel"

MOST_LINES, FEWEST_LINES = 400, 40

LONG = {"proximal.cpp", "simplex.cpp"}
"""Longer all the same: an engine's whole iteration is read in one file."""

SHORT = {
    "_types.py": "names of types, below everything",
    "experiments.py": "deprecated, and gone with the next version",
    "_cli/printing.py": "what every command says, and where",
    "_cli/warmup.py": "a command of its own, deprecated",
    "service/_reply.py": "a type that two modules make, neither of which imports the other",
    "service/_page/profile.py": "a profile from tables in memory, for the page alone",
}
"""The modules under 40 lines, with the reason of each; ``__init__.py`` lists what a room has, however little."""

NAMED_AT_RUN_TIME = {
    "__init__.py": {"f'excalibr.{name}'", "f'excalibr.{_LAZY_NAMES[name]}'"},
    "tables/_arrow.py": {"self._name"},
    "paper/_glop.py": {"package"},
    "_experiments/runtimes.py": {"package"},
}
"""Imports by a name that is put together: public modules and commands when asked for, and packages of others."""

IN_THE_KERNEL_TOO = {"Catalogue", "Curve", "Setting"}
"""Classes of the compiled part whose name a class in Python has as well: they are written ``kernel.Curve``."""

IMPORTERS = {"import_module", "__import__", "find_spec", "reload", "run_module", "exec", "eval"}


def modules() -> dict[str, Path]:
    return {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_is_too_long() -> None:
    kernel = [path for path in KERNEL.iterdir() if path.suffix in (".cpp", ".hpp")]
    page = (PACKAGE / "service" / "page").glob("*.*s")
    paths = [*modules().values(), *kernel, *page, *(ROOT / "tests").rglob("*.py")]
    assert {path.name for path in paths if lines_of(path) > MOST_LINES} == LONG


def test_a_short_module_has_a_reason() -> None:
    short = {name for name, path in modules().items() if lines_of(path) < FEWEST_LINES}
    assert {name for name in short if not name.endswith("/__init__.py")} == SHORT.keys()


@pytest.mark.parametrize("name", modules())
def test_imports_by_text_are_of_other_packages(name: str) -> None:
    tree, named = ast.parse(modules()[name].read_text(encoding="utf-8")), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("importlib"):
            assert not any(each.asname for each in node.names), "the test would not know it under another name"
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in IMPORTERS and node.args:
            named.add(node.args[0])
    texts = {each.value for each in named if isinstance(each, ast.Constant)}
    assert [text for text in texts if str(text).startswith(("excalibr", "."))] == []
    assert {ast.unparse(each) for each in named if not isinstance(each, ast.Constant)} == NAMED_AT_RUN_TIME.get(
        name, set()
    )


def test_classes_of_the_kernel_have_names_of_their_own() -> None:
    ours = {each.lstrip("_") for path in modules().values() for each in class_names(path)}
    assert ours & set(class_names(PACKAGE / "_kernel.pyi")) == IN_THE_KERNEL_TOO


def class_names(path: Path) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]


def test_the_map_of_the_kernel_names_every_file_that_there_is() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (KERNEL / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    patterns = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    found = {pattern: {path.name for path in KERNEL.glob(pattern)} for pattern in patterns}
    assert [pattern for pattern, names in found.items() if not names] == []
    sources = {path.name for path in KERNEL.iterdir() if path.suffix in (".cpp", ".hpp")}
    assert sources == set().union(*found.values())


def test_calibrate_has_the_types_that_options_declare() -> None:
    own = {name: each.annotation for name, each in inspect.signature(excalibr.calibrate).parameters.items()}
    declared = {each.name: str(each.type) for each in dataclasses.fields(Options)}
    by_category = {"attribute_weights", "category_weights", "floors", "caps", "max_per_category"}
    assert {name for name, kind in declared.items() if kind == "Any"} == by_category
    plain = declared.keys() - by_category
    assert {name: own[name] for name in plain} == {name: declared[name] for name in plain}


def test_requests_of_the_service_have_the_choices_of_the_options() -> None:
    pytest.importorskip("msgspec")
    from excalibr.service._requests import RankRequest

    hints = typing.get_type_hints(RankRequest)
    chosen = {name: typing.get_args(typing.get_args(hints[name])[0]) for name in ("divergence", "draws")}
    assert chosen == {"divergence": tuple(DIVERGENCES), "draws": DRAWS}
    assert {*AIMS, "k", "max_sorts"} <= hints.keys()
