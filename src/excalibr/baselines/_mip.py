"""MIP greedy (Seymen et al. 2021): a mixed-integer program chooses the set, the weighted greedy orders it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from excalibr._options import one_of, real_number, whole_number
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr._sparse import scipy_sparse
from excalibr._types import Floats, Integers
from excalibr.baselines._greedy import centred_gains, falling_weights, one_ranking, select
from excalibr.errors import GapWarning, InputError, SolverError, needs_extra

MAX_NODES = 10_000

_check_nodes = whole_number(1, or_none=False)
_check_gap = real_number("be at least 0 and below 1", lambda value: 0.0 <= value < 1.0)


def mip_greedy(
    problem: Problem, *, solver: str = "highs", max_nodes: int = MAX_NODES, relative_gap: float = 0.0
) -> Policy:
    r"""Choose a set of k candidates by a mixed-integer program, then order it with the weighted greedy.

    .. math::

        \max_{z \in \{0,1\}^n,\, \varepsilon \ge 0}\;
        \frac{1-\lambda}{k} s^\top z - \lambda\, \varepsilon^\top \mathbf 1
        \quad\text{s.t.}\quad -\varepsilon \le \tfrac1k A^\top z - q \le \varepsilon, \quad \mathbf 1^\top z = k

    The set is judged without positions. The paper does not give the scale of the score term; here it is the mean
    score, so that λ means about the same as for a ranking. The chosen set is ordered by
    :func:`excalibr.baselines.greedy`.

    Parameters
    ----------
    problem
        With n > k: with n = k there is one set only, and nothing to choose.
    solver
        "highs": scipy's HiGHS, or, where every candidate has one category only and no program is needed, the k largest
        additions to a set, which are the same optimum. "scip": SCIP through CVXPY, the paper's stack
        (``excalibr[paper]``).
    max_nodes
        Stop branch and bound after so many nodes, with the best set found so far and a
        :class:`~excalibr.errors.GapWarning`. Problems whose candidates have a few equally shared categories need
        one to some thousand nodes; shares that are arbitrary fractions can need millions. A count, unlike a time, gives
        the same answer on every machine.
    relative_gap
        Stop at a set that is proven to be within this fraction of the best objective; 0 asks for the best.

    Raises
    ------
    InputError, InputTypeError
        Where n = k, where an option has a wrong value or type, or as for :func:`excalibr.baselines.greedy`.
    MissingExtraError
        Where SCIP is asked for and the extra is not installed.
    SolverError
        When the solver ends without a set.

    Warns
    -----
    GapWarning
        When the solver stops at ``max_nodes``.

    References
    ----------
    Seymen, S., Abdollahpouri, H. and Malthouse, E. (2021). A constrained optimization approach for calibrated
    recommendations. RecSys.

    Examples
    --------
    >>> from excalibr import Problem
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> mip_greedy(problem).rankings.tolist()
    [[0, 2]]
    """
    one_of(_SOLVERS)("solver", solver)
    _check_nodes("max_nodes", max_nodes)
    _check_gap("relative_gap", relative_gap)
    if problem.n == problem.k:
        hint = "with n = k there is only one set to choose; pass more candidates, or order these with method='greedy'."
        raise InputError("k", f"is {problem.k}, the number of candidates", "be less than it for mip-greedy", hint)
    selection = _SOLVERS[solver](problem, int(max_nodes), float(relative_gap))
    best_first = np.argsort(-selection, kind="stable")  # solvers return 0 and 1 up to a tolerance only
    chosen = np.sort(best_first[: problem.k]).astype(np.int64)
    return one_ranking(problem, select(problem, falling_weights(problem), candidates=chosen), "mip-greedy")


def _scaled(problem: Problem) -> tuple[Floats, float]:
    """Gains and trade-off with the larger of them at 1: solvers stop at absolute gaps, whatever the scale of scores."""
    gains = centred_gains(problem)
    scale = max(float(np.abs(gains).max()), problem.trade_off) or 1.0
    return gains / scale, problem.trade_off / scale


def _by_highs(problem: Problem, max_nodes: int, relative_gap: float) -> Floats:
    rows = problem.memberships.dense()
    if (rows.max(axis=1) == 1.0).all():
        return _by_allocation(problem, rows.argmax(axis=1))
    program, options = _set_program(problem), {"node_limit": max_nodes, "mip_rel_gap": relative_gap}
    from scipy.optimize import milp

    solve: Any = milp  # its stubs know no arguments from a mapping
    result = solve(**program, options=options)
    if result.x is None:  # HiGHS's presolve fails on a few programs that it solves without it
        result = solve(**program, options=options | {"presolve": False})
    if result.x is None:
        raise SolverError(f"mip-greedy: HiGHS ended without a set ({result.message}).")
    if result.status:
        _warn_of_limit()
    return np.asarray(result.x[: problem.n])


def _by_allocation(problem: Problem, category: Integers) -> Floats:
    """The best set where every candidate has one category: what another one of a category adds only falls.

    A set's value is then a sum over categories of concave functions of how many it has of each, and the k largest
    additions make the best one.
    """
    gains, trade_off = _scaled(problem)
    order = np.lexsort((-gains, category))  # category after category, the best of each first
    own = category[order]
    place = np.arange(problem.n) - np.searchsorted(own, own)
    wanted = problem.k * problem.target[own]
    added = gains[order] + trade_off * (np.abs(place - wanted) - np.abs(place + 1 - wanted))
    selection = np.zeros(problem.n)
    selection[order[np.argsort(-added, kind="stable")[: problem.k]]] = 1.0
    return selection


def _set_program(problem: Problem) -> dict[str, Any]:
    """The program over (z, ε) as ``milp`` takes it: z in the set or not, ε deviations times k."""
    sp = scipy_sparse()
    from scipy.optimize import Bounds, LinearConstraint

    n, k, r = problem.n, problem.k, problem.r
    gains, trade_off = _scaled(problem)
    binary = np.arange(n + r) < n
    shares, slack, wanted = problem.memberships.sparse().T, sp.eye_array(r), k * problem.target
    count = sp.csr_array(binary[None, :].astype(np.float64))
    rows = sp.csr_array(sp.vstack((sp.hstack((shares, -slack)), sp.hstack((shares, slack)), count)))
    low = np.concatenate((np.full(r, -np.inf), wanted, [k]))
    high = np.concatenate((wanted, np.full(r, np.inf), [k]))
    return {
        "c": np.concatenate((-gains, np.full(r, trade_off))),
        "integrality": binary.astype(np.int64),
        "bounds": Bounds(0.0, np.where(binary, 1.0, np.inf)),
        "constraints": LinearConstraint(rows, low, high),
    }


def _by_scip(problem: Problem, max_nodes: int, relative_gap: float) -> Floats:
    with needs_extra("paper", "cvxpy", "pyscipopt"):
        import cvxpy
        import pyscipopt  # noqa: F401

    gains, trade_off = _scaled(problem)
    shares = problem.memberships.sparse().T
    selection = cvxpy.Variable(problem.n, boolean=True)
    deviation = cvxpy.norm1(shares @ selection - problem.k * problem.target)
    value = gains @ selection - trade_off * deviation
    program = cvxpy.Problem(cvxpy.Maximize(value), [cvxpy.sum(selection) == problem.k])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # CVXPY's words for a limit; ours are below
        program.solve(solver=cvxpy.SCIP, scip_params={"limits/totalnodes": max_nodes, "limits/gap": relative_gap})
    if selection.value is None:
        raise SolverError(f"mip-greedy: SCIP ended without a set (status {program.status}).")
    if program.status != cvxpy.OPTIMAL and not relative_gap:  # CVXPY calls a stop at the gap a limit as well
        _warn_of_limit()
    return np.asarray(selection.value)


def _warn_of_limit() -> None:
    warnings.warn(
        "mip-greedy stopped at its limit of nodes; the chosen set may not be the best. "
        "Hint: pass a larger max_nodes to excalibr.baselines.mip_greedy.",
        GapWarning,
        stacklevel=4,
    )


_SOLVERS = {"highs": _by_highs, "scip": _by_scip}
