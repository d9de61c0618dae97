"""One answer in a fresh process: ``python -m benchmarks.workers.first_answer``; prints the peak of its memory in MB."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import excalibr

__all__ = ["answer", "peak"]


def answer() -> float:
    """The objective of a problem with 150 candidates, 100 slots and 20 categories."""
    random = np.random.default_rng(1)
    rows = np.eye(20)[random.integers(0, 20, 150)]
    return float(excalibr.calibrate(random.random(150), rows, np.full(20, 0.05), k=100).objective)


def peak() -> float:
    """Megabytes that this process had at most; that of ``resource`` would begin with its parent's."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    return int(found[1]) / 1024 if found else float("nan")


if __name__ == "__main__":
    answer()
    print(peak() if Path("/proc/self/status").exists() else "NaN")
