"""What runs in the worker process of :mod:`excalibr.paper._glop`: problems in, solutions out, CVXPY between."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from excalibr._problem import Problem
from excalibr._types import Floats
from excalibr.errors import SolverError
from excalibr.paper._solution import Solution, gave_up

__all__ = ["serve", "solve"]


def serve() -> None:
    """Answer (problem, full) from standard input with a Solution, or what went wrong, on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not mix with the answers
    hidden: Any = None
    sys.modules["highspy"] = hidden  # CVXPY then takes it for missing, and OR-Tools can load
    while True:
        try:
            problem, full = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_reply(problem, full), answers)
        answers.flush()


def solve(problem: Problem, full: bool) -> Solution:
    """Build the program in CVXPY, as the paper writes it, and solve it with GLOP."""
    cp: Any = import_module("cvxpy")
    import_module("ortools.linear_solver.pywraplp")  # before the clock starts
    started = perf_counter()
    model = _Model(cp, problem, full)
    data, chain, inverse = model.program.get_problem_data(cp.GLOP)
    built = perf_counter()
    raw = chain.solve_via_data(model.program, data)
    if raw["status"] == cp.SOLVER_ERROR:
        raw = chain.solve_via_data(model.program, data, solver_opts={"parameters_proto": _tighter()})
    if raw["status"] != cp.OPTIMAL:
        raise gave_up("glop", problem, raw["status"])
    model.program.unpack_results(raw, chain, inverse)
    solved = perf_counter()
    return Solution(
        matrix=model.matrix.value,
        excess=model.excess.value,
        shortfall=model.shortfall.value,
        objective=float(model.program.value),
        prices=model.not_above.dual_value - model.not_below.dual_value,
        program="full" if full else "reduced",
        solver="glop",
        status=model.program.status,
        seconds_building=built - started,
        seconds_solving=solved - built,
    )


def _tighter() -> Any:
    """For the few programs (3 in 1,000) whose optimum GLOP itself calls imprecise at its default tolerances."""
    parameters = import_module("ortools.glop.parameters_pb2").GlopParameters
    return parameters(primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-9)


def _reply(problem: Problem, full: bool) -> Solution | str:
    try:
        return solve(problem, full)
    except SolverError as error:
        return str(error)
    except Exception as error:  # whatever it is, the parent is waiting
        return f"glop failed in its worker process: {type(error).__name__}: {error}"


class _Model:
    """The program in CVXPY's terms; see :func:`excalibr.paper.solve_reduced`."""

    def __init__(self, cp: Any, problem: Problem, full: bool) -> None:
        penalty = problem.penalty
        slots = problem.n if full else problem.k
        weights = np.zeros(slots)
        weights[: problem.k] = problem.position_weights

        self.matrix = cp.Variable((problem.n, slots), nonneg=True)
        self.excess = cp.Variable(problem.r, bounds=[0, _caps(penalty.above)])
        self.shortfall = cp.Variable(problem.r, bounds=[0, _caps(penalty.below)])
        exposure = self.matrix @ weights
        shares = problem.memberships.dense().T @ exposure
        self.not_above = shares - self.excess <= penalty.high
        self.not_below = penalty.low <= shares + self.shortfall
        column_sums, row_sums = cp.sum(self.matrix, axis=0), cp.sum(self.matrix, axis=1)
        cost = _finite(penalty.above) @ self.excess + _finite(penalty.below) @ self.shortfall
        self.program = cp.Problem(
            cp.Maximize(problem.gains @ exposure - cost),
            [column_sums == 1, row_sums == 1 if full else row_sums <= 1, self.not_above, self.not_below],
        )


def _finite(slopes: Floats) -> Floats:
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _caps(slopes: Floats) -> Floats:
    """An infinite slope is a hard limit: the variable must be 0."""
    return np.where(np.isfinite(slopes), np.inf, 0.0)
