"""Checked questions handed to the compiled kernel, and its answers as policies.

The kernel reads the arrays where they lie. The order of tuples is that of ``bindings_solver.cpp``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from excalibr._arrays import frozen
from excalibr._native import kernel
from excalibr._options import Options
from excalibr._policy import Policy, SolveInfo
from excalibr._problem import NEVER_RANKED, Batch, Problem
from excalibr._solver.failures import Failure, error_of
from excalibr._types import Booleans, Integers

__all__ = ["ENGINES", "STATUSES", "answer_to", "policy_of", "question_of", "questions_of", "setting_of"]

ENGINES = ("none", "simplex", "proximal", "interior")
STATUSES = ("converged", "sorts spent", "stalled")
"""What the kernel's numbers mean, see :class:`SolveInfo`."""

LEFT_OUT, SOLVED, BY_RELEVANCE = 0, 1, 2
"""What is asked for a user: nothing, the solution, or the order of the scores."""

_NOTHING = frozen(np.empty(0))
_SOLVED = frozen(np.array([SOLVED], dtype=np.int64))


def answer_to(problem: Problem) -> tuple[Any, ...]:
    """What the kernel finds for one user."""
    batch, options = problem.batch, problem.batch.options
    slots = batch.slots
    plain = batch.terms is None and batch.item_prices is None and problem.trade_off == options.asked_trade_off
    if plain and len(slots) == 1:
        return kernel.solve_alone(batch.checked, setting_of(options, slots.item(0)))
    return kernel.solve_user(question_of(problem), problem.user)


@lru_cache(maxsize=512)
def setting_of(options: Options, k: int) -> kernel.Setting:
    """What one user with k slots asks, for all that ask it: a call then makes no arrays of one number."""
    return kernel.Setting(options.weights_of(k), options.asked_trade_off, options.asked)


def questions_of(
    batch: Batch, *, solve: bool = True, fall_back: bool = False, wanted: Booleans | None = None
) -> kernel.Questions:
    """The questions of all users; with ``fall_back``, whoever is not solved asks for an order by scores.

    Where it says who is ``wanted``, nothing is asked for the others.
    """
    otherwise = np.where(np.isin(batch.statuses, NEVER_RANKED) | (not fall_back), LEFT_OUT, BY_RELEVANCE)
    asked = np.where(batch.good & solve, SOLVED, otherwise).astype(np.int64)
    asked = asked if wanted is None else np.where(wanted, asked, LEFT_OUT)
    return _questions(batch, batch.trade_offs, asked)


def question_of(problem: Problem) -> kernel.Questions:
    """The questions of a problem's batch, of which only the problem's own is asked."""
    batch = problem.batch
    if len(batch.slots) == 1:
        own = batch.trade_offs.item(0) == problem.trade_off
        return _questions(batch, batch.trade_offs if own else np.array([problem.trade_off]), _SOLVED)
    asked = np.full(batch.users, LEFT_OUT, dtype=np.int64)
    asked[problem.user] = SOLVED
    return _questions(batch, np.full(batch.users, problem.trade_off), asked)


def _questions(batch: Batch, trade_offs: Any, asked: Integers) -> kernel.Questions:
    prices = _NOTHING if batch.item_prices is None else batch.item_prices
    by_user = (batch.slots, batch.weight_starts, batch.position_weights, trade_offs, asked, prices)
    terms = None if batch.terms is None else batch.terms.arrays
    return kernel.Questions(batch.checked, by_user, batch.options.asked, terms)


def policy_of(problem: Problem, found: tuple[Any, ...]) -> Policy:
    """What the kernel found for one user as a policy, or the error that says why it found nothing."""
    rankings, weights, prices, gap, trade_off, (engine, sorts, steps, status, seconds, allowed), failure = found
    if failure is not None:
        raise error_of(Failure(*failure), problem.batch)
    if trade_off != problem.trade_off and trade_off == trade_off:  # a budget finds its own
        problem = Problem(problem.batch, problem.user, trade_off)
    info = tuple.__new__(SolveInfo, (ENGINES[engine], sorts, steps, STATUSES[status], seconds, allowed))  # quicker
    return Policy._solved(problem, rankings, weights, gap, prices, info)
