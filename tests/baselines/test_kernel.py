"""The compiled loops, run as plain Python and with checked bounds, select the same candidates."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from excalibr import baselines
from tests.baselines.problems import mixed_problems

METHODS = (baselines.greedy, baselines.greedy_simple, baselines.greedy_projected, baselines.mmr)


def selections() -> str:
    return "\n".join(str(method(p).rankings.tolist()) for p in mixed_problems(40, seed=11) for method in METHODS)


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_selects_the_same_candidates_with(setting: str, tmp_path: Path) -> None:
    environment = os.environ | {setting: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "from tests.baselines.test_kernel import selections; print(selections())"]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == selections()
