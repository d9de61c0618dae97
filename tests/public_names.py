"""The public names with their signatures, as lines: ``python -m tests.public_names`` prints what the list should be."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "public_names.txt"

MODULES = (
    *(
        "baselines",
        "datasets",
        "errors",
        "methods",
        "metrics",
        "models",
        "paper",
        "positions",
        "ray",
        "service",
        "spark",
    ),
    *("tables", "targets"),
)
"""The modules that callers import."""

FRAMEWORKS = ("lenskit", "rectools")
"""Those that need a framework which the tests' environment need not have: their names are listed without signatures."""


def public_names() -> list[str]:
    """Everything that the package and its public modules list; of classes also their public methods."""
    listed = [line for module in ("", *MODULES) for line in _of_module(module)]
    return [*listed, *(f"excalibr.{each}.{name}" for each in FRAMEWORKS for name in _listed(each))]


def _listed(module: str) -> list[str]:
    return sorted(importlib.import_module(f"excalibr.{module}").__all__)


def _of_module(name: str) -> Iterator[str]:
    path = f"excalibr.{name}".rstrip(".")
    module = importlib.import_module(path)
    for each in sorted(module.__all__):
        value = getattr(module, each)
        if inspect.ismodule(value) or each.startswith("__"):
            continue
        yield f"{path}.{each}{_signature(value)}"
        if inspect.isclass(value) and not issubclass(value, BaseException):
            yield from (f"{path}.{each}.{line}" for line in _of_class(value))


def _of_class(kind: type) -> Iterator[str]:
    for name in sorted(vars(kind)):
        value = inspect.getattr_static(kind, name)
        if not name.startswith("_") and (callable(value) or isinstance(value, (classmethod, staticmethod))):
            yield f"{name}{_signature(getattr(kind, name))}"


def _signature(value: Any) -> str:
    if not callable(value) or (inspect.isclass(value) and issubclass(value, BaseException)):
        return ""
    try:
        found = inspect.signature(value)
    except ValueError:
        return ""
    bare = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


if __name__ == "__main__":
    print("\n".join(public_names()))
