"""The exact solver: a problem in, the optimal lottery with its certificate out.

``solve`` takes one problem, ``solve_path`` the same problem at several trade-offs; ``Sweep`` keeps what it finds for
trade-offs that are chosen one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.engine import answer_to, policy_of
from excalibr.solver.sweep import Sweep

__all__ = ["Sweep", "prepare", "solve", "solve_path"]


def solve(problem: Problem, limits: Limits | None = None) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove."""
    limits = limits or Limits()
    return policy_of(problem, limits, answer_to(problem, limits))


def solve_path(problems: Sequence[Problem], limits: Limits | None = None) -> list[Policy]:
    """The policies of one user's problem at several trade-offs, in the order given.

    They are solved from the smallest trade-off up, so that each starts near its optimum.
    """
    if not problems:
        return []
    places = sorted(range(len(problems)), key=lambda place: problems[place].trade_off)
    found = Sweep(problems[0], limits).solve_all([problems[place] for place in places])
    policies = dict(zip(places, found, strict=True))
    return [policies[place] for place in range(len(problems))]


def prepare() -> None:
    """Have every part of the kernel compiled, or loaded from the machine's cache, before a request needs it."""
    for r in (1, 30):  # few categories and many: each method once
        solve(Problem.of(np.arange(r), np.eye(r), np.full(r, 1.0 / r), k=1))
