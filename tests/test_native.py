"""The one module that imports the compiled part: what it refuses, and what it says."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from excalibr import _native

ROOT = Path(__file__).parents[1]

BY_PATH = (
    "import sys; "
    "sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != 'ScikitBuildRedirectingFinder']; "
)
"""An editable install finds the package before the path does; these programs look along the path alone."""


def test_the_module_is_built_from_the_sources_beside_it() -> None:
    assert _native.source_digest(ROOT) == _native.kernel.SOURCE_DIGEST


def test_the_parts_for_tests_are_built_from_the_same_sources() -> None:
    parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")
    assert parts.SOURCE_DIGEST == _native.kernel.SOURCE_DIGEST


@pytest.mark.parametrize("edited", ["src/kernel/order.cpp", "src/kernel/arrays.hpp", "CMakeLists.txt"])
def test_the_digest_changes_with_every_source_and_with_how_they_are_compiled(edited: str, tmp_path: Path) -> None:
    copy_of_the_sources(tmp_path)
    assert _native.source_digest(tmp_path) == _native.kernel.SOURCE_DIGEST
    with (tmp_path / edited).open("a") as file:
        file.write("\n")
    assert _native.source_digest(tmp_path) != _native.kernel.SOURCE_DIGEST


def test_a_module_that_is_not_built_from_the_sources_beside_it_is_refused(tmp_path: Path) -> None:
    copy_of_the_sources(tmp_path)
    (tmp_path / "src/kernel/new.hpp").write_text("// newer than the module\n")
    shutil.copytree(Path(_native.__file__).parent, tmp_path / "src/excalibr", ignore=shutil.ignore_patterns("*.pyc"))
    said = error_of("import excalibr", tmp_path)
    assert "not built from the sources" in said
    assert "make kernel" in said


def test_a_module_that_is_missing_says_how_to_build_it(tmp_path: Path) -> None:
    package = Path(_native.__file__).parent
    shutil.copytree(package, tmp_path / "src/excalibr", ignore=shutil.ignore_patterns("*.pyc", "*.so", "*.pyd"))
    assert "make kernel" in error_of("import excalibr", tmp_path)


def test_an_install_without_its_sources_and_without_a_home_works(tmp_path: Path) -> None:
    package = Path(_native.__file__).parent
    shutil.copytree(package, tmp_path / "site/excalibr", ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
    nowhere = tmp_path / "file"
    nowhere.touch()  # a home that is a file: nothing can be written in it, even by root
    program = BY_PATH + (
        "import excalibr; assert 'site' in excalibr.__file__; "
        "print(excalibr.calibrate([3.0, 2.0, 1.0], [[1, 0], [0, 1], [1, 0]], [0.5, 0.5], k=2).rankings.shape[1])"
    )
    environment = {**os.environ, "HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = str(tmp_path / "site")
    before = sorted((tmp_path / "site").rglob("*"))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.split() == ["2"]
    assert sorted((tmp_path / "site").rglob("*")) == before


def test_nobody_else_imports_the_compiled_part() -> None:
    package = Path(_native.__file__).parent
    importers = {path.name for path in package.rglob("*.py") if "excalibr._kernel" in path.read_text("utf-8")}
    assert importers == {"_native.py"}


def test_the_types_name_what_is_bound_with_as_many_arguments() -> None:
    bound = [each for each in vars(_native.kernel).values() if hasattr(each, "__nb_signature__")]
    signatures = [each.__doc__.splitlines()[0] for each in bound]
    stub = (ROOT / "src/excalibr/_kernel.pyi").read_text("utf-8")
    assert arguments_of(stub) == arguments_of("\n".join(f"def {signature}: ..." for signature in signatures))


def arguments_of(source: str) -> dict[str, int]:
    """How many arguments each function of a module takes."""
    functions = [each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    return {each.name: len(each.args.posonlyargs) + len(each.args.args) for each in functions}


def copy_of_the_sources(folder: Path) -> None:
    shutil.copytree(ROOT / "src/kernel", folder / "src/kernel")
    shutil.copy(ROOT / "CMakeLists.txt", folder)


def error_of(program: str, folder: Path) -> str:
    """The last line of what a program says that imports the package of a folder."""
    path = f"{BY_PATH}sys.path.insert(0, {str(folder / 'src')!r}); "
    run = subprocess.run([sys.executable, "-c", path + program], capture_output=True, text=True, check=False)
    assert run.returncode
    return run.stderr.strip().splitlines()[-1]
