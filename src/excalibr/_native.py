"""The only module that imports the compiled part, ``excalibr._kernel``.

Beside the sources that it is built from (a clone, an editable install) it refuses a module that is not built from them:
what one reads there is what runs.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["kernel", "source_digest"]

_HINT = "Hint: run `make kernel`, or `pip install --editable .`, where pyproject.toml is."

try:
    import excalibr._kernel as kernel
except ImportError as error:
    raise ImportError(f"excalibr: its compiled part cannot be loaded ({error}). {_HINT}") from error


def source_digest(root: Path) -> str:
    """The digest that the build writes into a module: of all sources of the kernel, and of how they are compiled."""
    names = [name for name in os.listdir(root / "src/kernel") if name.endswith((".cpp", ".hpp"))]  # noqa: PTH208
    paths = [f"{root}/CMakeLists.txt", *(f"{root}/src/kernel/{name}" for name in names)]
    lines = sorted(f"{os.path.basename(path)} {_digest_of(path)}" for path in paths)  # noqa: PTH119
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _digest_of(
    path: str,
) -> str:  # without file objects, which would take as long again: every start in a clone does this
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    contents = os.read(descriptor, os.fstat(descriptor).st_size)
    os.close(descriptor)
    return hashlib.sha256(contents).hexdigest()


def _check_sources(root: Path) -> None:
    if (root / "src/kernel/bindings.cpp").exists() and source_digest(root) != kernel.SOURCE_DIGEST:
        raise ImportError(
            f"excalibr: its compiled part is not built from the sources in {root / 'src/kernel'}. {_HINT}"
        )


_check_sources(Path(__file__).parents[2])
