"""The paper's two linear programs, solved as they are written: the oracle that everything faster is compared with.

scipy's HiGHS solves them by default; :mod:`excalibr.paper._glop` has the paper's own stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from excalibr._options import one_of
from excalibr._problem import Problem
from excalibr._sparse import scipy_sparse
from excalibr._types import Floats
from excalibr.errors import InputError, SolverError


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum of the reduced or the full program.

    Attributes
    ----------
    matrix
        P̂ (n, k) or P (n, n): the probability of candidate i in slot j, with the solver's own rounding noise.
    excess, shortfall
        ε⁺ and ε⁻, (r,): how far each category is above its band, and below it, as the program has it. Where that
        costs nothing (λ = 0), it may be any number.
    objective
        The program's value, to be maximised.
    prices
        (r,) the dual values y of the category constraints: positive where more of the category would cost.
    program
        "reduced" or "full".
    solver
        The solver's name.
    status
        How the solver ended: an optimum, since anything else is an error.
    seconds_building, seconds_solving
        Time to put the program in the solver's form, and to solve it; with GLOP, measured in its own process.
    """

    matrix: Floats
    excess: Floats
    shortfall: Floats
    objective: float
    prices: Floats
    program: str
    solver: str
    status: str
    seconds_building: float
    seconds_solving: float

    @property
    def deviations(self) -> Floats:
        """ε = ε⁺ + ε⁻, (r,): the paper's single variable per category."""
        return self.excess + self.shortfall

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return (
            f"Solution({self.program}, {rows} × {columns}: objective {self.objective:.9g}, "
            f"{self.status} by {self.solver}, "
            f"built in {self.seconds_building:.3g} s, solved in {self.seconds_solving:.3g} s)"
        )


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
    InputError
        Where the problem asks for KL, floors or caps, pins, earlier pages or ``max_per_category``.
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
    one_of(SOLVERS)("solver", solver)
    _require_linear(problem)
    if solver != "glop":
        return _with_highs(problem, solver, full)
    from excalibr.paper import _glop as glop

    return glop.solve(problem, full)


def _require_linear(problem: Problem) -> None:
    """An error for what the programs have no constraint for; bands, weights and attributes are in the penalty."""
    problem.options.check_method("lp")
    terms = problem.batch.terms
    unsupported = {"divergence='kl'": problem.penalty.smoothing > 0.0}
    if terms is not None:
        unsupported["floors or caps"] = terms.floors is not None
        unsupported["pinned"] = terms.pins is not None
        unsupported["shown"] = terms.seen is not None or terms.unavailable is not None
        unsupported["max_per_category"] = terms.groups is not None
    found = [name for name, asked in unsupported.items() if asked]
    if found:
        must, hint = "leave it to the exact method", "the paper's programs have no constraint for it."
        raise InputError("problem", f"asks for {' and '.join(found)}", must, hint)


def _with_highs(problem: Problem, solver: str, full: bool) -> Solution:
    started = perf_counter()
    arguments, middle, scale = _build(problem, full)
    built = perf_counter()
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "ipm_optimality_tolerance")
    options = dict.fromkeys(names[: 3 if solver == "highs-ipm" else 2], TOLERANCE)
    from scipy.optimize import linprog

    solve: Any = linprog  # its stubs know neither sparse matrices nor a method that is a variable
    result = solve(**arguments, method=solver, options=options)
    solved = perf_counter()
    if result.status != 0:
        raise no_optimum(solver, problem, str(result.message))
    excess, shortfall = result.x[-2 * problem.r :].reshape(2, -1)
    above, below = -result.ineqlin.marginals[-2 * problem.r :].reshape(2, -1) * scale
    return Solution(
        matrix=result.x[: -2 * problem.r].reshape(problem.n, -1),
        excess=excess,
        shortfall=shortfall,
        objective=middle - float(result.fun) * scale,
        prices=above - below,
        program="full" if full else "reduced",
        solver=solver,
        status="optimal",
        seconds_building=built - started,
        seconds_solving=solved - built,
    )


def _build(problem: Problem, full: bool) -> tuple[dict[str, Any], float, float]:
    """A linear program over v = (P by rows, ε⁺, ε⁻) ≥ 0, as ``linprog`` takes it, with its middle and its scale.

    HiGHS's tolerances are absolute, and scores of any size should fare the same. So the costs are of scores less the
    middle, which every policy gets once (columns and position weights sum to 1), and are divided by the scale.
    """
    n, r, penalty, weights = problem.n, problem.r, problem.penalty, slot_weights(problem, full)
    columns = len(weights)
    slack_costs, slack_caps = slack_terms(np.concatenate((penalty.above, penalty.below)))
    gains = problem.gains
    middle = 0.5 * float(gains.max()) + 0.5 * float(gains.min())
    costs = np.concatenate((-np.outer(gains - middle, weights).ravel(), slack_costs))
    scale = float(np.abs(costs).max()) or 1.0

    sp = scipy_sparse()
    no_slack = sp.csr_array((n + columns, 2 * r))
    row_sums = sp.hstack((sp.kron(sp.eye_array(n), np.ones((1, columns))), no_slack[:n]))
    column_sums = sp.hstack((sp.kron(np.ones((1, n)), sp.eye_array(columns)), no_slack[n:]))
    shares = sp.kron(problem.memberships.sparse().T, weights[None, :])
    bands = sp.hstack((sp.vstack((shares, -shares)), -sp.eye_array(2 * r)))
    band_limits = np.concatenate((penalty.high, -penalty.low))
    caps = np.concatenate((np.full(n * columns, np.inf), slack_caps))
    arguments = {
        "c": costs / scale,
        "A_eq": sp.csr_array(sp.vstack((column_sums, row_sums)) if full else column_sums),
        "b_eq": np.ones(columns + n if full else columns),
        "A_ub": sp.csr_array(bands if full else sp.vstack((row_sums, bands))),
        "b_ub": band_limits if full else np.concatenate((np.ones(n), band_limits)),
        "bounds": np.column_stack((np.zeros_like(caps), caps)),
    }
    return arguments, middle, scale


def slot_weights(problem: Problem, full: bool) -> Floats:
    """The position weights, with n − k zeros behind them in the full program."""
    return np.pad(problem.position_weights, (0, problem.n - problem.k if full else 0))


def slack_terms(slopes: Floats) -> tuple[Floats, Floats]:
    """What a unit of each slack costs, and how much of it there may be: none where the slope is infinite."""
    soft = np.isfinite(slopes)
    return np.where(soft, slopes, 0.0), np.where(soft, np.inf, 0.0)


def no_optimum(solver: str, problem: Problem, said: str) -> SolverError:
    """The error for a program that a solver left without an optimum."""
    sizes = f"n={problem.n}, k={problem.k}, r={problem.r}, trade_off={problem.trade_off:g}"
    return SolverError(f"{solver} found no optimum of the linear program ({sizes}); it said: {said}")
