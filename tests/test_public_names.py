import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import excalibr

ROOT = Path(__file__).parent.parent


def test_all_is_what_is_public() -> None:
    """Modules that are imported on the way are not, unless they are listed."""
    public = {
        name for name, value in vars(excalibr).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    listed = {name for name in excalibr.__all__ if not inspect.ismodule(getattr(excalibr, name))}
    assert listed == public | set(excalibr._NAMES_WHEN_ASKED) | {"__version__"}


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
    "heavy", ["numba", "matplotlib", "pandas", "polars", "cvxpy", "ortools", "pyarrow", "typer", "rich"]
)
def test_importing_the_package_leaves_heavy_packages_alone(heavy: str) -> None:
    assert heavy not in modules_after_import()


def modules_after_import(cache: list[set[str]] = []) -> set[str]:  # noqa: B006 — one process serves all the names
    if not cache:
        program = "import excalibr, sys; print(*{name.partition('.')[0] for name in sys.modules})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        cache.append(set(done.stdout.split()))
    return cache[0]


@pytest.mark.parametrize("name", ["errors", "methods", "positions", "datasets", "targets", "models", "cli"])
def test_public_modules_can_be_imported_by_name(name: str) -> None:
    assert importlib.import_module(f"excalibr.{name}").__doc__
