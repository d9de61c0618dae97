"""Modules for frameworks that are not installed have no examples to run; their tests skip, and say so."""

from importlib.util import find_spec

collect_ignore_glob = [
    path
    for framework in ("lenskit", "rectools")
    for path in (f"src/excalibr/{framework}/_*.py", f"tests/{framework}/invented.py", f"benchmarks/on_{framework}.py")
    if find_spec(framework) is None
]
