"""How large an installation is: ``python -m benchmarks.workers.installed``.

Prints the megabytes of excalibr and of each distribution that it needs, and that these need, without extras.
"""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

__all__ = ["megabytes"]


def megabytes(name: str = "excalibr") -> dict[str, float]:
    """By distribution, what its files take."""
    found: dict[str, float] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found[one] = _folder(one) if one == name else 0.0
        try:
            installed = distribution(one)
        except PackageNotFoundError:  # needed on other systems only, or a tree that is not installed
            waiting += _asked_by_tree(one) if one == name else []
            continue
        found[one] += _files(installed)
        waiting += [_plain(needed) for needed in installed.requires or [] if "extra ==" not in needed]
    return {one: size for one, size in found.items() if size}


def _asked_by_tree(package: str) -> list[str]:
    """What the tree of a package that is not installed says that it needs."""
    spec = find_spec(package)
    above = Path(spec.origin).parents if spec and spec.origin else ()
    for folder in above:
        if (folder / "pyproject.toml").exists():
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            return [_plain(needed) for needed in project["dependencies"]]
    return []


def _plain(requirement: str) -> str:
    """The name in a requirement.

    >>> _plain("Scipy_Stubs>=1.12; python_version > '3.8'")
    'scipy-stubs'
    """
    named = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", named[0]).lower() if named else requirement


def _files(installed: Distribution) -> float:
    places = {Path(str(file.locate())) for file in installed.files or []}
    return sum(place.stat().st_size for place in places if place.is_file() and place.suffix != ".pyc") / 1e6


def _folder(package: str) -> float:
    """What an editable installation has outside the site's folder."""
    spec = find_spec(package)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or "site-packages" in folder.parts:
        return 0.0
    files = (place for place in folder.rglob("*") if place.is_file() and "__pycache__" not in place.parts)
    return sum(place.stat().st_size for place in files) / 1e6


if __name__ == "__main__":
    print(json.dumps(megabytes()))
