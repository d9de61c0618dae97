"""The paper's own stack: it works beside highspy, its worker is kept and replaced, and it finds the same optimum."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr import Problem
from excalibr._problem import Penalty
from excalibr.errors import MissingExtraError, SolverError
from excalibr.paper import _glop as glop
from excalibr.paper import augment, birkhoff, lp, lp_full, solve_full, solve_reduced

from .mixed import banded, problems, unit

HALVES = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, position_weights="uniform")

GLOP_TOLERANCE = 1e-6
"""GLOP runs at the defaults that the paper's authors had."""


@pytest.fixture(scope="module")
def stack() -> Iterator[None]:
    pytest.importorskip("ortools")
    pytest.importorskip("cvxpy")  # this loads highspy where it is installed, so all tests here run beside it
    yield
    glop.close()


@pytest.mark.usefixtures("stack")
@given(problems())
@settings(max_examples=40, deadline=None)
def test_glop_finds_the_same_optimum_as_highs(problem: Problem) -> None:
    for solve in (solve_reduced, solve_full):
        expected = pytest.approx(solve(problem).objective, abs=GLOP_TOLERANCE * unit(problem))
        assert solve(problem, "glop").objective == expected


@pytest.mark.usefixtures("stack")
@given(problems())
@settings(max_examples=40, deadline=None)
def test_its_solutions_are_decomposed_to_a_billionth(problem: Problem) -> None:
    for matrix in (augment(solve_reduced(problem, "glop").matrix).matrix, solve_full(problem, "glop").matrix):
        assert birkhoff(matrix).residual <= 1e-9


@pytest.mark.usefixtures("stack")
@given(problems())
@settings(max_examples=40, deadline=None)
def test_policies_through_glop_are_proven_optimal(problem: Problem) -> None:
    for method in (lp, lp_full):
        assert method(problem, solver="glop").gap <= GLOP_TOLERANCE * unit(problem)


@pytest.mark.usefixtures("stack")
def test_bands_and_hard_limits_hold_with_glop_too() -> None:
    band = Penalty(low=np.zeros(2), high=np.array([0.5, 1.0]), below=np.zeros(2), above=np.array([np.inf, 1.0]))
    asked = banded(HALVES, band)
    assert solve_reduced(asked, "glop").objective == pytest.approx(solve_reduced(asked).objective, abs=1e-9)


@pytest.mark.usefixtures("stack")
def test_a_program_without_a_solution_is_an_error_that_says_so() -> None:
    floor = Penalty(low=np.array([0.0, 0.9]), high=np.ones(2), below=np.full(2, np.inf), above=np.full(2, np.inf))
    with pytest.raises(SolverError, match=r"glop found no optimum .*n=3, k=2, r=2.*infeasible"):
        solve_reduced(banded(HALVES, floor), "glop")


@pytest.mark.usefixtures("stack")
def test_an_optimum_that_glop_calls_imprecise_is_sought_again() -> None:
    random = np.random.default_rng(17)  # GLOP's default tolerances are not enough for this one
    scores, categories = random.random(30), random.dirichlet(np.full(8, 0.3), 30)
    problem = Problem.of(scores, categories, random.dirichlet(np.full(8, 0.5)), k=20, trade_off=1.0)
    assert solve_reduced(problem, "glop").objective == pytest.approx(solve_reduced(problem).objective, abs=1e-8)


@pytest.mark.usefixtures("stack")
def test_it_works_in_a_process_that_has_loaded_highspy_and_solved_with_scipys_highs() -> None:
    highspy = pytest.importorskip("highspy")
    before = solve_reduced(HALVES).objective
    assert solve_reduced(HALVES, "glop").objective == pytest.approx(before)
    assert highspy.Highs().getNumCol() == 0
    assert solve_reduced(HALVES).objective == before


@pytest.mark.usefixtures("stack")
def test_a_plain_script_without_a_guard_can_use_it_beside_highspy() -> None:
    pytest.importorskip("highspy")
    script = """
import highspy, cvxpy
from excalibr import Problem, paper
problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
print(abs(paper.solve_reduced(problem, "glop").objective - paper.solve_reduced(problem).objective) < 1e-8)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (ran.stdout, ran.returncode) == ("True\n", 0), ran.stderr


@pytest.mark.usefixtures("stack")
def test_one_worker_serves_all_solves_and_a_new_one_takes_its_place_when_it_is_gone() -> None:
    solve_reduced(HALVES, "glop")
    worker = glop._running()
    solve_full(HALVES, "glop")
    assert glop._running() is worker
    worker.kill()
    worker.wait()
    assert solve_reduced(HALVES, "glop").status == "optimal"
    assert glop._running().pid != worker.pid


@pytest.mark.usefixtures("stack")
def test_threads_take_turns() -> None:
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda k=k: found.append(solve_reduced(of_size(k), "glop").matrix.sum()))
        for k in (1, 2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == pytest.approx([1.0, 2.0, 3.0])


def of_size(k: int) -> Problem:
    return Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=k)


@pytest.mark.parametrize("package", ["cvxpy", "ortools"])
def test_a_missing_package_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setattr(glop, "_is_installed", lambda name: name != package)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed.*excalibr\[paper\]"):
        solve_reduced(HALVES, "glop")


def test_a_hidden_package_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    assert not glop._is_installed("cvxpy")
