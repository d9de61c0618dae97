"""The paper's two linear programs, solved as they are written: the oracle that everything faster is compared with.

scipy's HiGHS solves them by default; :mod:`excalibr.paper._glop` has the paper's own stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._problem import Problem
from excalibr._sparse import scipy_sparse
from excalibr._types import Floats
from excalibr.errors import unknown_name
from excalibr.paper import _glop as glop
from excalibr.paper._solution import Solution, gave_up

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["SOLVERS", "solve_full", "solve_reduced"]

SOLVERS = ("highs", "highs-ds", "highs-ipm", "glop")

TOLERANCE = 1e-10
"""HiGHS's, of feasibility and optimality, the tightest it takes: its default 1e-7 can leave the optimum off by 1e-6."""


def solve_reduced(problem: Problem, solver: str = "highs") -> Solution:
    r"""Solve the reduced program, over n × k matrices.

    .. math::

        \max_{\hat P, \varepsilon^+, \varepsilon^- \ge 0}\quad & (1-\lambda)\, s^\top \hat P e
            - {w^+}^\top \varepsilon^+ - {w^-}^\top \varepsilon^- \\
        \text{subject to}\quad & \hat P^\top 1 = 1, \quad \hat P 1 \le 1, \\
            & l - \varepsilon^- \le A^\top \hat P e \le u + \varepsilon^+

    where

    - :math:`s` (n,) are the scores, :math:`A` (n, r) the categories, :math:`e` (k,) the position weights;
    - :math:`\hat P` (n, k) holds the probability of each candidate in each slot;
    - :math:`l, u, w^-, w^+` (r,) are the band and the slopes of ``problem.penalty``. The paper's program has
      :math:`l = u = q` and :math:`w^\pm = \lambda`, and its :math:`\varepsilon` is
      :math:`\varepsilon^+ + \varepsilon^-`. An infinite slope is a hard limit.

    Parameters
    ----------
    problem
        What is asked.
    solver
        "highs" (scipy, HiGHS's choice of algorithm), "highs-ds" (dual simplex), "highs-ipm" (interior point, then
        crossover) or "glop" (CVXPY and OR-Tools, extra ``excalibr[paper]``). The paper does not say which solver of
        OR-Tools it used; we read it as GLOP, the simplex that CVXPY reaches, at its default tolerances: its optimum
        may be off by about 1e-6.

    Raises
    ------
    SolverError
        When the solver ends without an optimum.

    Examples
    --------
    One slot, half of each category wanted, and calibration weighs more than the scores: a fair coin.

    >>> from excalibr import Problem
    >>> problem = Problem.of([3.0, 1.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> solution = solve_reduced(problem)
    >>> solution.matrix.round(6).tolist(), round(solution.objective, 6)
    ([[0.5], [0.0], [0.5]], 1.475)
    """
    return _solve(problem, solver, full=False)


def solve_full(problem: Problem, solver: str = "highs") -> Solution:
    r"""Solve the full program, over n × n doubly stochastic matrices.

    The same as :func:`solve_reduced` with :math:`P` (n, n), :math:`P 1 = 1` in place of :math:`\hat P 1 \le 1`, and
    :math:`e` padded with n − k zeros: what stands in the slots after k is decided too, and counts for nothing.

    Parameters
    ----------
    problem, solver
        As in :func:`solve_reduced`.

    Examples
    --------
    >>> from excalibr import Problem
    >>> problem = Problem.of([3.0, 1.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> solution = solve_full(problem)
    >>> solution.matrix.shape, solution.matrix[:, 0].round(6).tolist()
    ((3, 3), [0.5, 0.0, 0.5])
    """
    return _solve(problem, solver, full=True)


def _solve(problem: Problem, solver: str, *, full: bool) -> Solution:
    if solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    return glop.solve(problem, full) if solver == "glop" else _with_highs(problem, solver, full)


def _with_highs(problem: Problem, solver: str, full: bool) -> Solution:
    started = perf_counter()
    program = _build(problem, full)
    built = perf_counter()
    result = _linprog(program, solver)
    solved = perf_counter()
    if result.status != 0:
        raise gave_up(solver, problem, str(result.message))
    size = program.rows * program.columns
    above, below = -result.ineqlin.marginals[-2 * problem.r :].reshape(2, -1) * program.scale
    return Solution(
        matrix=result.x[:size].reshape(program.rows, program.columns),
        excess=result.x[size : size + problem.r],
        shortfall=result.x[size + problem.r :],
        objective=program.middle - float(result.fun) * program.scale,
        prices=above - below,
        program="full" if full else "reduced",
        solver=solver,
        status="optimal",
        seconds_building=built - started,
        seconds_solving=solved - built,
    )


@dataclass(frozen=True, eq=False)
class _Program:
    """Minimise costs·v over equal·v = 1, at_most·v ≤ limits, 0 ≤ v ≤ caps, where v = (P by rows, ε⁺, ε⁻).

    HiGHS's tolerances are absolute, and scores of any size should fare the same. So the costs are of scores less
    ``middle``, which every policy gets once (columns and position weights sum to 1), and are divided by ``scale``.
    """

    rows: int
    columns: int
    costs: Floats
    middle: float
    scale: float
    equal: sp.csr_array
    at_most: sp.csr_array
    limits: Floats
    caps: Floats


def _build(problem: Problem, full: bool) -> _Program:
    n, r, penalty = problem.n, problem.r, problem.penalty
    columns = n if full else problem.k
    weights = np.zeros(columns)
    weights[: problem.k] = problem.position_weights
    slopes = np.concatenate((penalty.above, penalty.below))
    soft = np.isfinite(slopes)
    gains = problem.gains
    middle = 0.5 * float(gains.max()) + 0.5 * float(gains.min())
    costs = np.concatenate((-np.outer(gains - middle, weights).ravel(), np.where(soft, slopes, 0.0)))
    scale = float(np.abs(costs).max()) or 1.0

    sp = scipy_sparse()
    no_slack = sp.csr_array((n + columns, 2 * r))
    row_sums = sp.hstack((sp.kron(sp.eye_array(n), np.ones((1, columns))), no_slack[:n]))
    column_sums = sp.hstack((sp.kron(np.ones((1, n)), sp.eye_array(columns)), no_slack[n:]))
    shares = sp.kron(problem.memberships.sparse().T, weights[None, :])
    bands = sp.hstack((sp.vstack((shares, -shares)), -sp.eye_array(2 * r)))
    band_limits = np.concatenate((penalty.high, -penalty.low))

    return _Program(
        rows=n,
        columns=columns,
        costs=costs / scale,
        middle=middle,
        scale=scale,
        equal=sp.csr_array(sp.vstack((column_sums, row_sums)) if full else column_sums),
        at_most=sp.csr_array(bands if full else sp.vstack((row_sums, bands))),
        limits=band_limits if full else np.concatenate((np.ones(n), band_limits)),
        caps=np.concatenate((np.full(n * columns, np.inf), np.where(soft, np.inf, 0.0))),
    )


def _linprog(program: _Program, solver: str) -> Any:
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    if solver == "highs-ipm":
        options["ipm_optimality_tolerance"] = TOLERANCE
    from scipy.optimize import linprog

    solve: Any = linprog  # its stubs know neither sparse matrices nor a method that is a variable
    return solve(
        program.costs,
        A_ub=program.at_most,
        b_ub=program.limits,
        A_eq=program.equal,
        b_eq=np.ones(program.equal.shape[0]),
        bounds=np.column_stack((np.zeros_like(program.caps), program.caps)),
        method=solver,
        options=options,
    )
