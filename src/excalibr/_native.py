"""The only module that imports the compiled part, ``excalibr._kernel``.

Beside the sources that it is built from (a clone, an editable install) it refuses a module that is not built from them:
what one reads there is what runs.
"""

from __future__ import annotations

import os

__all__ = ["kernel", "source_digest"]

_HINT = "Hint: run `make kernel`, or `pip install --editable .`, where pyproject.toml is."

try:
    import excalibr._kernel as kernel
except ImportError as error:
    raise ImportError(f"excalibr: its compiled part cannot be loaded ({error}). {_HINT}") from error


def source_digest(root: str | os.PathLike[str]) -> str:
    """The digest that the build writes into a module: of all sources of the kernel, and of how they are compiled."""
    from hashlib import sha256  # an installed package has no sources, and starts without it

    folder = os.path.join(root, "src", "kernel")
    names = [name for name in os.listdir(folder) if name.endswith((".cpp", ".hpp"))]
    paths = [os.path.join(root, "CMakeLists.txt"), *(os.path.join(folder, name) for name in names)]
    lines = sorted(f"{os.path.basename(path)} {sha256(_contents_of(path)).hexdigest()}" for path in paths)
    return sha256("\n".join(lines).encode()).hexdigest()


def _contents_of(path: str) -> bytes:
    """Without file objects, which would take as long again: every start in a clone does this."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    contents = os.read(descriptor, os.fstat(descriptor).st_size)
    os.close(descriptor)
    return contents


def _check_sources(root: str) -> None:
    sources = os.path.join(root, "src", "kernel")
    if os.path.exists(os.path.join(sources, "bindings.cpp")) and source_digest(root) != kernel.SOURCE_DIGEST:
        raise ImportError(f"excalibr: its compiled part is not built from the sources in {sources}. {_HINT}")


_check_sources(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
