"""The public names, and how files are named: those of callers, those of tests, those that a page draws."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import excalibr
from excalibr._experiments import ExperimentResults, run_experiment
from tests import public_names

ROOT = Path(__file__).parent.parent

PUBLIC = {*public_names.MODULES, *public_names.FRAMEWORKS}
DEPRECATED = {"experiments"}
"""The modules that callers import, and those that they no longer should; all others have a leading underscore."""


def test_all_is_what_is_public() -> None:
    """Modules that are imported on the way are not, unless they are listed."""
    public = {
        name for name, value in vars(excalibr).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    listed = {name for name in excalibr.__all__ if not inspect.ismodule(getattr(excalibr, name))}
    assert listed == public | set(excalibr._LAZY_NAMES) | {"__version__"}


def test_every_module_is_public_or_has_a_leading_underscore() -> None:
    package = ROOT / "src" / "excalibr"
    modules = [path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py")]
    named = {".".join(parts).removesuffix(".__init__") for parts in modules if parts != ("__init__",)}
    assert {name for name in named if not any(part.startswith("_") for part in name.split("."))} == PUBLIC | DEPRECATED


def test_the_old_name_of_a_module_still_works_for_a_version() -> None:
    module = importlib.import_module("excalibr.experiments")
    with pytest.warns(DeprecationWarning, match="excalibr.experiments goes with the next version"):
        assert module.run_experiment is run_experiment
    with pytest.warns(DeprecationWarning, match="excalibr.experiments goes with the next version"):
        assert module.Results is ExperimentResults
    with pytest.raises(AttributeError, match="no attribute 'run_experiments'"):
        _ = module.run_experiments


def test_the_tree_of_the_architecture_is_the_tree_on_disk() -> None:
    package, text = ROOT / "src" / "excalibr", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = text.partition("\nsrc/excalibr/\n")[2].partition("```")[0].splitlines()
    room, drawn = "", set()
    for line in tree:
        names = [word for word in line.split() if word.endswith((".py", "/"))] if line[:2] == "  " else []
        inside = line.startswith("    ")
        if not inside:
            room = names[0] if names and names[0].endswith("/") else ""
        drawn |= {f"{room}{name}" for name in names[: 1 if inside else None]} if inside else set(names)
    folders = {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    mapped = {name for name in folders if any(each.startswith(f"{name}/") and each != f"{name}/" for each in drawn)}
    there = {f"{name}/" for name in folders} | {path.name for path in package.glob("*.py")}
    there |= {f"{name}/{path.name}" for name in mapped for path in (package / name).glob("*.py")}
    within = {path for name in mapped for path in (package / name).iterdir() if path.is_dir()}
    there |= {f"{path.parent.name}/{path.name}/" for path in within if path.name != "__pycache__"}
    assert {each for each in drawn if not each.endswith("__init__.py")} == {
        each for each in there if not each.endswith("__init__.py")
    }


def test_the_places_where_to_change_what_are_there() -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("### Where to change what")[2]
    rows = "\n".join(line for line in section.partition("\n### ")[0].splitlines() if line.startswith("|"))
    named = re.findall(r"`([\w/]+(?:\.py|/))`", rows)
    package = ROOT / "src" / "excalibr"
    assert [name for name in named if not (package / name).exists()] == []
    assert len(named) > 30


def test_public_names_and_their_signatures_are_those_of_the_stored_list() -> None:
    stored = public_names.STORED.read_text(encoding="utf-8").splitlines()
    assert public_names.public_names() == stored, (
        "python -m tests.public_names > tests/public_names.txt, if it is meant"
    )


def test_every_room_has_a_room_of_tests() -> None:
    package, tests = ROOT / "src" / "excalibr", ROOT / "tests"
    rooms = {path.name.lstrip("_") for path in package.iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms | {"kernel"} if not list((tests / room).glob("test_*.py"))} == set()


def test_tests_of_a_room_are_named_for_a_module_of_it_or_say_what_they_are_of() -> None:
    package, tests = ROOT / "src" / "excalibr", ROOT / "tests"
    modules = {_plain(path.relative_to(package).with_suffix("")) for path in package.rglob("*.py")}
    packages = {names[:-1] for names in modules if names[-1] == "init" and len(names) > 1}
    modules |= packages | {(*names, names[-1]) for names in packages}
    modules |= {("kernel", path.stem) for path in (ROOT / "src" / "kernel").iterdir()}
    rooms = {names[0] for names in modules if len(names) > 1} | {path.name for path in tests.glob("test_*.py")}
    files = [path for path in tests.rglob("test_*.py") if path.relative_to(tests).parts[0] in rooms]
    others = [path for path in files if _plain(path.relative_to(tests).with_suffix("")) not in modules]
    assert [str(path.relative_to(tests)) for path in others if not ast.get_docstring(ast.parse(path.read_text()))] == []


def _plain(path: Path) -> tuple[str, ...]:
    """A module's names, or a test file's, without what marks them as private or as tests."""
    return tuple(part.strip("_") for part in (*path.parts[:-1], path.name.removeprefix("test_")))


def test_no_class_name_exists_twice() -> None:
    places: dict[str, list[str]] = {}
    for path in (ROOT / "src" / "excalibr").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(path.parent.name)
    twice = {name: sorted(where) for name, where in places.items() if len(where) > 1}
    in_both = sorted(public_names.FRAMEWORKS)  # each has its own form of them
    assert {name: where for name, where in twice.items() if where != in_both} == {}


@pytest.mark.parametrize(("old", "new"), [("Items", "ItemArrays"), ("Candidates", "CandidateArrays")])
def test_old_names_of_classes_still_work_for_a_version(old: str, new: str) -> None:
    with pytest.warns(
        DeprecationWarning, match=f"excalibr.tables.{old} goes with the next version. Hint: it is {new}"
    ) as given:
        assert getattr(excalibr.tables, old) is getattr(excalibr.tables, new)
    assert given[0].filename == __file__
    with pytest.raises(AttributeError, match="no attribute 'Item'"):
        _ = excalibr.tables.Item


def test_all_is_sorted_and_lists_nothing_twice() -> None:
    assert excalibr.__all__ == sorted(set(excalibr.__all__))


def test_every_listed_module_lists_names_that_it_has() -> None:
    modules = [value for name in excalibr.__all__ if isinstance(value := getattr(excalibr, name), ModuleType)]
    missing = [(module.__name__, name) for module in modules for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


def test_the_reference_names_everything_that_is_public() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in excalibr.__all__ if f"`{name}`" not in reference and f".{name}" not in reference] == []


def test_every_parameter_of_calibrate_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    names = inspect.signature(excalibr.calibrate).parameters
    assert [name for name in names if f"`{name}`" not in reference] == []


@pytest.mark.parametrize(
    "heavy",
    ["numba", "matplotlib", "pandas", "polars", "cvxpy", "ortools", "pyarrow", "typer", "rich", "secrets", "urllib"],
)
def test_importing_the_package_leaves_heavy_packages_alone(heavy: str) -> None:
    assert heavy not in modules_after_import()


def modules_after_import(cache: list[set[str]] = []) -> set[str]:  # noqa: B006 — one process serves all the names
    if not cache:
        program = "import excalibr, sys; print(*{name.partition('.')[0] for name in sys.modules})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        cache.append(set(done.stdout.split()))
    return cache[0]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_modules_can_be_imported_by_name(name: str) -> None:
    assert importlib.import_module(f"excalibr.{name}").__all__
