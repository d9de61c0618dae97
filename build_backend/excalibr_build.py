"""The build backend: scikit-build-core's, with a C++ compiler from the package index where the machine has none.

``python build_backend/excalibr_build.py`` installs what a build in place needs, without building (``make`` does that).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ZIG = "ziglang>=0.13"
"""A C++ compiler that is a Python package; the first build with it takes two minutes, half of them for its library."""

PROBE = "#include <version>\n#if !defined(__cpp_lib_ranges) || !defined(__cpp_lib_span)\n#error no C++20\n#endif\n"


def __getattr__(name: str) -> Any:
    return getattr(_backend(), name)  # source distributions and metadata need no compiler


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a wheel's build needs beyond pyproject.toml on this machine."""
    return [*_backend().get_requires_for_build_wheel(config_settings), *_compiler_requirement()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """The same for a build in place."""
    return [*_backend().get_requires_for_build_editable(config_settings), *_compiler_requirement()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel and return its name."""
    with _compiler():
        return str(_backend().build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build in place and return the name of the wheel that refers to it."""
    with _compiler():
        return str(_backend().build_editable(wheel_directory, config_settings, metadata_directory))


def install_requirements() -> None:
    """Install what a build without isolation needs: of pyproject.toml first, then what this machine lacks."""
    _pip_install(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"])
    os.chdir(ROOT)
    _pip_install(get_requires_for_build_editable())


def _backend() -> Any:
    from scikit_build_core import build  # not there yet when its own installation is asked for

    return build


def _compiler_requirement() -> list[str]:
    return [] if _has_compiler() else [ZIG]


def _has_compiler() -> bool:
    """Whether CMake will find a compiler that knows C++20; one that was asked for by name is believed in."""
    if os.name == "nt" or "CXX" in os.environ or "CMAKE_TOOLCHAIN_FILE" in os.environ:
        return True
    found = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)  # in CMake's order
    return found is not None and _compiles(found)


def _compiles(compiler: str) -> bool:
    command = [compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    try:
        return subprocess.run(command, input=PROBE, text=True, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def _compiler() -> Iterator[None]:
    """Build with the machine's compiler or else with zig's; a build that fails says what it needs."""
    try:
        if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
            raise SystemExit("Python.h was not found")
        if not _has_compiler():
            os.environ["CXX"] = str(_zig_compiler())
        yield
    except (Exception, SystemExit) as error:
        print(_explanation(error), file=sys.stderr, flush=True)
        raise SystemExit(1) from error


def _zig_compiler() -> Path:
    """A script that calls zig's C++ compiler, with `ar` and `ranlib` beside it, where CMake looks for them."""
    if find_spec("ziglang") is None:
        raise SystemExit("no C++20 compiler was found")
    folder = ROOT / "build" / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    # zig would compile for this very processor; the baseline is what every machine of the kind can run. Optimising from
    # CMake's first test on, it compiles its C++ library once, and not a second time for debugging.
    for name, arguments in (("ar", "ar"), ("ranlib", "ranlib"), ("c++", "c++ -mcpu=baseline -O2")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ziglang {arguments} "$@"\n')
        script.chmod(0o755)
    return folder / "c++"


def _explanation(error: BaseException) -> str:
    reason = error if str(error) not in ("", "1") else "the reason is above"
    return (
        f"excalibr: the compiled part cannot be built: {reason}.\n"
        "It needs a C++20 compiler (g++ 11, clang 16, Visual Studio 2022 or ziglang) and Python's headers.\n"
        "Hint: `apt install g++ python3-dev`, `dnf install gcc-c++ python3-devel` or `xcode-select --install`."
    )


def _pip_install(requirements: list[str]) -> None:
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *requirements]
    if requirements and subprocess.run(command, check=False).returncode:
        listed = ", ".join(requirements)
        raise SystemExit(_explanation(SystemExit(f"the package index did not give {listed}")))


if __name__ == "__main__":
    install_requirements()
