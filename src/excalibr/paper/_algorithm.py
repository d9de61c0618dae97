"""Algorithm 3 of the paper, end to end: solve a program, decompose its matrix, keep the first k places.

``calibrate(method="lp")`` and ``calibrate(method="lp-full")`` come here.
"""

from __future__ import annotations

import numpy as np

from excalibr._arrays import require_shape
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr._solver import proven_gap
from excalibr.paper._augmentation import augment
from excalibr.paper._decomposition import birkhoff
from excalibr.paper._program import Solution, solve_full, solve_reduced


def lp(problem: Problem, solver: str = "highs", matching: str = "any") -> Policy:
    """The paper's method: the reduced program, augmentation, Birkhoff–von Neumann, the first k places.

    Parameters
    ----------
    problem
        What is asked.
    solver
        As in :func:`excalibr.paper.solve_reduced`.
    matching
        As in :func:`excalibr.paper.birkhoff`.

    Returns
    -------
    Policy
        As from :func:`lottery`.

    Raises
    ------
    InputError
        Where the problem asks for what the programs have no constraint for; see :func:`excalibr.paper.solve_reduced`.
    SolverError
        When the solver ends without an optimum.

    Examples
    --------
    >>> from excalibr import Problem
    >>> policy = lp(Problem.of([3.0, 1.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1))
    >>> policy.rankings.tolist(), policy.weights.round(6).tolist(), policy.gap < 1e-9
    ([[0], [2]], [0.5, 0.5], True)
    """
    return lottery(problem, solve_reduced(problem, solver), matching)


def lp_full(problem: Problem, solver: str = "highs", matching: str = "any") -> Policy:
    """The full program and Birkhoff–von Neumann on its n × n solution itself; all else as in :func:`lp`.

    Examples
    --------
    >>> from excalibr import Problem
    >>> lp_full(Problem.of([1.0, 2.0, 3.0], [[1], [1], [1]], [1.0], k=2)).rankings.tolist()
    [[2, 1]]
    """
    return lottery(problem, solve_full(problem, solver), matching)


def lottery(problem: Problem, solution: Solution, matching: str = "any") -> Policy:
    """Decompose a solved program into a policy: what is left of Algorithm 3 after its first step.

    Parameters
    ----------
    problem, solution
        What was asked, and what :func:`excalibr.paper.solve_reduced` or :func:`excalibr.paper.solve_full` found.
    matching
        As in :func:`excalibr.paper.birkhoff`.

    Returns
    -------
    Policy
        Rankings that agree in their first k places are merged. The gap is proven by the program's dual values: they are
        taken as category prices and the bound is computed anew from them, so it does not rest on the LP solver.

    Raises
    ------
    InputError
        Where the solution is of a problem of another size, its matrix is not stochastic, or ``matching`` is not a name.

    Examples
    --------
    >>> from excalibr import Problem
    >>> problem = Problem.of([3.0, 1.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> lottery(problem, solve_reduced(problem)).rankings.tolist()
    [[0], [2]]
    """
    candidates, matrix = np.arange(problem.n), solution.matrix
    shape = (problem.n, problem.k if solution.program == "reduced" else problem.n)
    require_shape("solution.matrix", matrix.shape, shape, "as this problem has")
    if solution.program == "reduced":
        augmented = augment(matrix)
        candidates, matrix = augmented.kept, augmented.matrix
    terms = birkhoff(matrix, matching)
    places = np.argsort(terms.permutations, axis=1)[:, : problem.k]  # which row stands in each column
    rankings, group = np.unique(candidates[places], axis=0, return_inverse=True)
    weights = np.bincount(group.ravel(), weights=terms.weights)
    order = np.argsort(-weights, kind="stable")
    rankings, weights = rankings[order], weights[order] / weights.sum()
    penalty = problem.penalty
    prices = np.clip(solution.prices, -penalty.below, penalty.above)  # they may be out by the solver's tolerance
    gap = proven_gap(problem, rankings, weights, prices)
    return Policy(problem, rankings, weights, gap, prices, "lp" if solution.program == "reduced" else "lp-full")
