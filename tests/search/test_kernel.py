"""The search run in other ways: as plain Python and with bounds checked, and its inner functions by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from excalibr.search import best_ranking
from excalibr.search.single import local_optima
from tests.search.programs import larger_program, small_program, some_rankings


def answers() -> str:
    """What the search finds on mixed programs, to the bit."""
    lines = []
    for seed in range(25):
        program = larger_program(seed)
        rankings, values = local_optima(program, some_rankings(program, 3), 2, 2)
        lines.append(f"{rankings.tolist()} {[value.hex() for value in values.tolist()]}")
        found = best_ranking(small_program(seed), some_rankings(small_program(seed), 1))
        lines.append(f"{found.ranking.tolist()} {found.value.hex()}")
    return "\n".join(lines)


def run(command: list[str], **environment: str) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, *command], env=os.environ | environment, cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_finds_the_same_bits_with(setting: str, tmp_path: Path) -> None:
    script = "from tests.search.test_kernel import answers; print(answers())"
    assert run(["-c", script], **{setting: "1", "NUMBA_CACHE_DIR": str(tmp_path)}) == answers()


def test_every_move_gains_what_recomputation_says() -> None:
    assert run(["-m", "tests.search.plain_moves"], NUMBA_DISABLE_JIT="1") == ""  # every check of it passed
