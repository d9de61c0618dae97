"""The public names with their signatures, as lines: ``python -m tests.public_names`` prints what the list should be."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
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


RETURNED = (
    *("_policy.explanation.CategoryShares", "_policy.explanation.Explanation", "_policy.explanation.SlateItems"),
    *("_policy.policies.Policies", "_policy.policies.SolveInfo"),
    *("_propensities.Propensities", "_solver.frontier.Frontier", "tables._balance.Balance"),
)
"""What public functions answer with, and callers need not name: the attributes that a page or the class speaks of."""


def public_names() -> list[str]:
    """Everything that the package and its public modules list; of classes also their public methods and attributes."""
    listed = [line for module in ("", *MODULES) for line in _of_module(module)]
    listed += [line for path in RETURNED for line in _spoken_of(path)]
    return [*listed, *(f"excalibr.{each}.{name}" for each in FRAMEWORKS for name in _listed(each))]


def _spoken_of(path: str) -> Iterator[str]:
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(f"excalibr.{module}"), name)
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))) + (
        inspect.getdoc(kind) or ""
    )
    for line in _of_class(kind):
        if re.search(rf"[.`]{line.partition('(')[0]}\b|^{re.escape(line)}$", pages, re.MULTILINE):
            yield f"{name}.{line}"


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
    named = {*vars(kind), *inspect.get_annotations(kind), *vars(kind).get("__slots__", ())}
    for name in sorted(name for name in named if not name.startswith("_")):
        value = inspect.getattr_static(kind, name, None)
        method = callable(value) or isinstance(value, (classmethod, staticmethod))
        yield f"{name}{_signature(getattr(kind, name))}" if method else name


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
