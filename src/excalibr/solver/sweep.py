"""One user's problem at many trade-offs: every solve starts from all that the ones before found.

Only the objective changes with the trade-off, so the rankings found so far stay useful and their basis stays feasible.
"""

from __future__ import annotations

from collections.abc import Sequence

from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.engine import Answer, answer_to, close, new_pool, policy_of
from excalibr.solver.kernel import STALLED

__all__ = ["Sweep"]

TOO_MANY_CATEGORIES = 32
"""From so many on, neighbouring optima share too little: solving each from nothing is quicker."""


class Sweep:
    """Solves one problem at any trade-offs, each from the rankings and the basis of all before.

    Neighbouring trade-offs in a row cost least, but any order is allowed. Each policy is optimal by its own
    certificate, and the same calls in the same order give the same bits.

    Examples
    --------
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> sweep = Sweep(problem)
    >>> [round(sweep.solve(trade_off).deviation, 6) for trade_off in (0.0, 0.9)]
    [1.0, 0.0]
    """

    def __init__(self, problem: Problem, limits: Limits | None = None) -> None:
        self._problem = problem
        self._limits = limits or Limits()
        self._pool = new_pool(problem.k, problem.r)

    def solve(self, trade_off: float) -> Policy:
        """The optimum at one trade-off."""
        return self.solve_all([self._problem.with_trade_off(trade_off)])[0]

    def solve_all(self, problems: Sequence[Problem]) -> list[Policy]:
        """The optima of the same problem at several trade-offs, found in this order, in one call of the kernel."""
        limits = self._limits
        return [
            policy_of(problem, limits, answer)
            for problem, answer in zip(problems, self._answers(list(problems)), strict=True)
        ]

    def _answers(self, problems: list[Problem]) -> list[Answer]:
        limits = self._limits
        if not problems:
            return []
        if self._problem.r >= TOO_MANY_CATEGORIES:
            return [answer_to(problem, limits) for problem in problems]
        answers = close(self._problem, problems, limits, self._pool)
        return [
            min(answer, answer_to(problem, limits), key=_gap) if answer.status == STALLED else answer
            for problem, answer in zip(problems, answers, strict=True)
        ]


def _gap(answer: Answer) -> float:
    return answer.gap
