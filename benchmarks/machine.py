"""What a benchmark ran on: processor, cores, memory and the versions that matter, but no host names or paths."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["machine", "versions"]

PACKAGES = ("excalibr", "numpy", "scipy", "cvxpy", "ortools", "pyscipopt")


def machine() -> dict[str, str]:
    """The processor, its cores, memory and system."""
    memory = re.search(r"MemTotal:\s+(\d+) kB", _text("/proc/meminfo"))
    model = re.search(r"model name\s*:\s*(.+)", _text("/proc/cpuinfo"))
    return {
        "processor": model[1].strip() if model else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{int(memory[1]) / 1024**2:.1f} GiB" if memory else "not known",
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Python and the packages that are installed."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
