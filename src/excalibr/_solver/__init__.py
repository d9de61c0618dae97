"""The exact solver: a problem in, the optimal lottery with its certificate out. The work is the compiled kernel's.

``solve`` takes one problem, at its trade-off or within a budget; ``Curve`` solves one problem at several trade-offs,
each from what the ones before found; ``proven_gap`` certifies any lottery. :mod:`excalibr._solver.frontier` traces the
whole frontier on a curve.
"""

from __future__ import annotations

from _thread import allocate_lock  # a Lock without the import of threading, which a first answer does not need
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._native import kernel
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr._solver.seam import (
    ENGINES,
    STATUSES,
    TIME_LIMIT_REACHED,
    answer_to,
    policy_of,
    question_of,
    questions_of,
    setting_of,
)
from excalibr._types import Floats, Integers

__all__ = [
    "ENGINES",
    "STATUSES",
    "TIME_LIMIT_REACHED",
    "Curve",
    "Point",
    "proven_gap",
    "questions_of",
    "setting_of",
    "solve",
    "solve_path",
]


def solve(problem: Problem, *, verbose: bool = False) -> Policy:
    """The optimal lottery of at most r + 1 rankings, with the gap that its rankings and prices prove.

    At λ = 0 and 1, where many lotteries are optimal, the best of them by the other aim.
    """
    return policy_of(problem, answer_to(problem, verbose), verbose)


def solve_path(problem: Problem, trade_offs: Sequence[float], *, verbose: bool = False) -> list[Policy]:
    """The policies of one user's problem at several trade-offs, in the order given.

    They are solved from the smallest trade-off up, so that each starts near its optimum.
    """
    curve = Curve(problem)
    order = sorted(range(len(trade_offs)), key=lambda place: trade_offs[place])
    policies = {place: curve.at(trade_offs[place], verbose=verbose).policy for place in order}
    return [policies[place] for place in range(len(trade_offs))]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What an optimal policy reaches, and the λ that it is optimal for; relevance counts from the best score."""

    relevance: float
    cost: float
    trade_off: float
    policy: Policy

    def value(self, trade_off: float) -> float:
        """Its objective at any λ, less (1 − λ) times the best score."""
        return (1.0 - trade_off) * self.relevance - trade_off * self.cost


class Curve:
    """The optimal points of a problem at any trade-offs, each solved from what the ones before found.

    Neighbouring trade-offs in a row cost least, but any order is allowed. Each policy is optimal by its own
    certificate, and the same calls in the same order give the same bits. The problem's options say how exactly.

    Threads may share a curve: one solves, and the others wait. A copy, and a curve that was pickled, starts afresh.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.solves, self.operations = 0, 0.0
        self._curve = kernel.Curve(question_of(problem), problem.user)
        self.categories = self._curve.categories  # that prices are of: :meth:`Problem._prices_of` has the others
        self._lock = allocate_lock()  # the kernel's curve has scratch of its own, and works on it without the GIL

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.problem,), {"solves": self.solves, "operations": self.operations}

    def at(
        self,
        trade_off: float,
        tolerance: float | None = None,
        prices: Floats | None = None,
        *,
        verbose: bool = False,
    ) -> Point:
        """The optimum at λ, to another tolerance than the curve's if one is given.

        ``prices`` of ``categories`` are near its own.
        """
        problem = self.problem.with_trade_off(trade_off)
        asked, sorts, seconds = problem.options.asked[4:]
        wanted = asked if tolerance is None else tolerance
        with self._lock:
            found, relevance, cost, operations = self._curve.solve(
                problem.trade_off, wanted, sorts, seconds, verbose, prices
            )
            self.solves += 1
            self.operations += operations
        return Point(relevance, cost, problem.trade_off, policy_of(problem, found, verbose))

    def gap_at(self, trade_off: float, rankings: Integers, weights: Floats, prices: Floats) -> float:
        """Upper bound at ``prices`` − objective of the lottery, ``rankings`` (L, k) with ``weights`` (L,), at λ.

        At least 0. Prices are those of ``categories``. Outside the penalty's slopes they are brought inside, which
        keeps the bound valid; those of categories that no candidate has are the best whatever they are.
        """
        places = np.ascontiguousarray(rankings, dtype=np.int64)
        numbers = (np.ascontiguousarray(values, dtype=np.float64) for values in (weights, prices))
        with self._lock:
            return self._curve.gap_at(trade_off, places, *numbers)


def proven_gap(problem: Problem, rankings: Integers, weights: Floats, prices: Floats) -> float:
    """:meth:`Curve.gap_at` for a lottery and prices (r,) of any method, at the problem's own trade-off."""
    curve = Curve(problem)
    return curve.gap_at(problem.trade_off, rankings, weights, prices[curve.categories])
