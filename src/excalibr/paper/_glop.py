"""The paper's own stack, CVXPY with OR-Tools' GLOP, in a process of its own.

OR-Tools and highspy each bring their own HiGHS and cannot be loaded together, and CVXPY loads highspy where it can.
So a worker that never loads highspy solves the programs, whatever this process has loaded. It starts at the first
solve, serves all that follow, and ends with this process.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from excalibr._problem import Problem
from excalibr.errors import SolverError, missing_extra
from excalibr.paper._program import Solution, no_optimum, slack_terms, slot_weights


def solve(problem: Problem, full: bool) -> Solution:
    """Solve the reduced or the full program with CVXPY and GLOP."""
    for package in ("cvxpy", "ortools"):
        if not _is_installed(package):
            raise missing_extra(package, "paper")
    with _LOCK:
        reply = _ask(problem, full)
    if isinstance(reply, str):
        raise SolverError(reply)
    return reply


def close() -> None:
    """End the worker now; the next solve starts a new one. Called when the process ends."""
    process = _WORKERS.pop(os.getpid(), None)
    if process is not None:
        process.kill()
        process.communicate()


_LOCK = threading.Lock()
_WORKERS: dict[int, subprocess.Popen[bytes]] = {}  # by the process that it serves: a fork must not share its parent's
atexit.register(close)


def _ask(problem: Problem, full: bool) -> Solution | str:
    process = _running()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump((problem, full), process.stdin)
        process.stdin.flush()
        reply: Solution | str = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        close()
        raise SolverError(
            f"the worker process of GLOP ended without an answer ({error!r}). Hint: 'highs' needs none."
        ) from error
    except BaseException:  # an interrupt: the answer that is still to come must not be taken for the next one
        close()
        raise
    return reply


def _running() -> subprocess.Popen[bytes]:
    process = _WORKERS.get(os.getpid())
    if process is None or process.poll() is not None:
        close()
        # Not multiprocessing's spawn, which runs the caller's script again: that may load highspy, or have no guard.
        code = f"import sys; sys.path[:] = {sys.path!r}; from excalibr.paper._glop import serve; serve()"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _WORKERS[os.getpid()] = process
    return process


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # hidden by None in sys.modules
        return False


def serve() -> None:
    """In the worker: answer (problem, full) from standard input on standard output: a Solution, or what went wrong."""
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


def solve_here(problem: Problem, full: bool) -> Solution:
    """In the worker: build the program in CVXPY, as the paper writes it, and solve it with GLOP."""
    cp: Any = import_module("cvxpy")
    import_module("ortools.linear_solver.pywraplp")  # before the clock starts
    started = perf_counter()
    penalty, weights = problem.penalty, slot_weights(problem, full)
    above, most_above = slack_terms(penalty.above)
    below, most_below = slack_terms(penalty.below)
    matrix = cp.Variable((problem.n, len(weights)), nonneg=True)
    excess = cp.Variable(problem.r, bounds=[0, most_above])
    shortfall = cp.Variable(problem.r, bounds=[0, most_below])
    exposure = matrix @ weights
    shares = problem.memberships.dense().T @ exposure
    not_above, not_below = shares - excess <= penalty.high, penalty.low <= shares + shortfall
    column_sums, row_sums = cp.sum(matrix, axis=0), cp.sum(matrix, axis=1)
    program = cp.Problem(
        cp.Maximize(problem.gains @ exposure - (above @ excess + below @ shortfall)),
        [column_sums == 1, row_sums == 1 if full else row_sums <= 1, not_above, not_below],
    )
    data, chain, inverse = program.get_problem_data(cp.GLOP)
    built = perf_counter()
    raw = chain.solve_via_data(program, data)
    if raw["status"] == cp.SOLVER_ERROR:  # GLOP calls 3 optima in 1,000 imprecise at its default tolerances
        parameters = import_module("ortools.glop.parameters_pb2").GlopParameters
        tighter = parameters(primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-9)
        raw = chain.solve_via_data(program, data, solver_opts={"parameters_proto": tighter})
    if raw["status"] != cp.OPTIMAL:
        raise no_optimum("glop", problem, raw["status"])
    program.unpack_results(raw, chain, inverse)
    solved = perf_counter()
    return Solution(
        matrix=matrix.value,
        excess=excess.value,
        shortfall=shortfall.value,
        objective=float(program.value),
        prices=not_above.dual_value - not_below.dual_value,
        program="full" if full else "reduced",
        solver="glop",
        status=program.status,
        seconds_building=built - started,
        seconds_solving=solved - built,
    )


def _reply(problem: Problem, full: bool) -> Solution | str:
    try:
        return solve_here(problem, full)
    except SolverError as error:
        return str(error)
    except Exception as error:  # whatever it is, the parent is waiting
        return f"glop failed in its worker process: {type(error).__name__}: {error}"
