"""One user's problem at many trade-offs: every solve starts from all that the ones before found.

Only the objective changes with the trade-off, so the rankings found so far stay useful and their basis stays feasible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excalibr._types import Floats
from excalibr.policy import Policy
from excalibr.problem import Limits, Problem
from excalibr.solver.arranged import policy_of, solve_arranged
from excalibr.solver.arrangement import arrange
from excalibr.solver.ends import at_end
from excalibr.solver.engines import Answer, close
from excalibr.solver.kernel import STALLED
from excalibr.solver.master import new_pool

__all__ = ["Sweep"]

TOO_MANY_CATEGORIES = 32
"""From so many on, neighbouring optima share too little: solving each from nothing is quicker."""


class Sweep:
    """Solves one problem at any trade-offs, each from the rankings and the basis of all before.

    Neighbouring trade-offs in a row cost least, but any order is allowed. Each policy is optimal by its own
    certificate, and the same calls in the same order give the same bits. KL and hard limits are solved one by one.

    Examples
    --------
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> sweep = Sweep(problem)
    >>> [round(sweep.solve(trade_off).deviation, 6) for trade_off in (0.0, 0.9)]
    [1.0, 0.0]
    """

    def __init__(self, problem: Problem, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._arrangement = arrange(problem)
        self._pool = new_pool(len(self._arrangement.slots), problem.r)
        self._together = (
            problem.r < TOO_MANY_CATEGORIES
            and not problem.penalty.smoothing
            and not self._arrangement.limited.size
            and self._arrangement.slots.size > 0
        )

    def solve(self, trade_off: float) -> Policy:
        """The optimum at one trade-off."""
        return self.solve_all([self._arrangement.problem.with_trade_off(trade_off)])[0]

    def solve_all(
        self, problems: Sequence[Problem], limits: Limits | None = None, prices: Floats | None = None
    ) -> list[Policy]:
        """The optima of the same problem at several trade-offs, found in this order, in one call of the kernel.

        ``prices`` (T, r) are near those of the optima, where that is known.
        """
        limits = limits or self._limits
        policies = self._solve(list(problems), limits, prices)
        for place, policy in enumerate(policies):
            if policy.problem.trade_off in (0.0, 1.0):
                policies[place] = at_end(policy, limits, self._solve_one)
        return policies

    def _solve_one(self, problem: Problem, limits: Limits) -> Policy:
        return self._solve([problem], limits)[0]

    def _solve(self, problems: list[Problem], limits: Limits, prices: Floats | None = None) -> list[Policy]:
        if not self._together or not problems:
            return [solve_arranged(problem, limits) for problem in problems]
        arrangement = self._arrangement
        trade_offs = [problem.trade_off for problem in problems]
        answers = close(
            arrangement.program(0.0),
            arrangement.penalties(trade_offs),
            1.0 - np.array(trade_offs),
            limits,
            self._pool,
            groups=arrangement.watched,
            prices=prices,
        )
        return [
            solve_arranged(problem, limits) if found.status == STALLED else self._policy(problem, found)
            for problem, found in zip(problems, answers, strict=True)
        ]

    def _policy(self, problem: Problem, found: Answer) -> Policy:
        if problem.terms is not None:
            return policy_of(problem, self._arrangement, found)
        return Policy(problem, found.rankings, found.weights, found.gap, found.prices)
