"""The kernel run in other ways: as plain Python, with bounds checked, on a read-only install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import excalibr
from excalibr.problem import Limits
from excalibr.solver import program_of
from excalibr.solver.kernel import solve_program
from tests.problems import movie_like_problem
from tests.solver.closing import closed

SOLVE = """
import numpy as np, sys
from tests.problems import mixed_problem
from excalibr import Problem
from excalibr.errors import InfeasibleError
from excalibr.solver import solve
for seed in range(int(sys.argv[1])):
    for size in ("small", "large"):
        problem = mixed_problem(np.random.default_rng(seed), size)
        if problem.n > 200 or problem.r > 20:
            continue
        curved = Problem.of(
            problem.scores, problem.memberships.dense(), problem.target, k=problem.k, trade_off=problem.trade_off,
            position_weights=problem.position_weights, divergence="kl", caps={0: 0.9},
        )
        for asked in (problem, curved):
            try:
                policy = solve(asked)
            except InfeasibleError:
                continue
            print(policy.rankings.tolist(), [w.hex() for w in policy.weights.tolist()], float(policy.gap).hex())
"""


SELECT = """
import excalibr, pathlib
policy = excalibr.calibrate([3.0, 2.0, 1.0], [[1, 0], [0, 1], [1, 0]], [0.5, 0.5], k=2, method="greedy")
assert pathlib.Path(excalibr.__file__).parent.parent.name == "site"
print("excalibr", policy.rankings.tolist())
"""
"""Greedy has the smallest kernel; what is tried is where compiled code goes, and that is the same for all."""


def _run(problems: int, environment: dict[str, str], folder: Path | None = None, program: str = SOLVE) -> str:
    root = Path(__file__).parent.parent.parent
    paths = [str(folder)] if folder else []
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(problems)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(root)]), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def compiled_answers() -> str:
    return _run(12, {})


def test_plain_python_gives_the_same_bits(compiled_answers: str) -> None:
    assert _run(12, {"NUMBA_DISABLE_JIT": "1"}) == compiled_answers


def test_no_index_is_out_of_bounds(compiled_answers: str, tmp_path: Path) -> None:
    assert _run(12, {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "NUMBA_CACHE_DIR": str(tmp_path)}) == compiled_answers


@pytest.mark.parametrize("max_sorts", [2, 3, 7, 20])
@pytest.mark.parametrize("r", [2, 20])
def test_no_more_sorts_are_made_than_allowed(r: int, max_sorts: int) -> None:
    problem = movie_like_problem(np.random.default_rng(6), 150, 50, r, 1, 0.5)
    assert solve_program(*program_of(problem), 1e-12, max_sorts)[5] <= max_sorts
    limits = Limits(tolerance=1e-12, max_sorts=max_sorts)
    path = [problem.with_trade_off(trade_off) for trade_off in (0.3, 0.5)]
    assert all(answer.sorts <= max_sorts for answer in closed(path, limits))


def test_a_read_only_install_without_a_home_works(tmp_path: Path) -> None:
    install = tmp_path / "site"
    package = Path(excalibr.__file__).parent
    shutil.copytree(package, install / "excalibr", ignore=shutil.ignore_patterns("__pycache__"))
    nowhere = tmp_path / "file"
    nowhere.touch()  # a home that is a file: no cache folder can be made in it, even by root
    for room in ("problem", "baselines"):
        (install / "excalibr" / room / "__pycache__").touch()
    environment = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "PYTHONDONTWRITEBYTECODE": "1"}
    assert _run(1, environment, install, SELECT).split() == ["excalibr", "[[0,", "1]]"]
