"""Settings that all tests share, and the kernel compiled once for all workers."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import settings

# The first example compiles or loads the kernel: a deadline for each example would measure that.
settings.register_profile("excalibr", deadline=None)
settings.load_profile("excalibr")

QUESTION = """
import numpy as np
from excalibr import calibrate
def ask(r, **options):
    return calibrate(np.arange(r + 2.0), np.eye(r)[np.arange(r + 2) % r], np.full(r, 1 / r), k=2, **options)
"""
KERNELS = (
    f"{QUESTION}ask(3, method='greedy'); ask(3); ask(3, max_per_category=1)",
    f"{QUESTION}ask(30); ask(30, draws='single'); ask(3, max_per_category=1, divergence='kl')",
)
"""Programs that between them compile most of what the tests need, in about the same time."""


def pytest_configure(config: pytest.Config) -> None:
    """Workers that start together would all compile the same code; so it is there before they start."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not getattr(config.option, "numprocesses", None):
        return
    running = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stderr=subprocess.DEVNULL)
        for program in KERNELS
    ]
    for process in running:
        process.wait()  # what fails here fails again in a test, where it can be read
