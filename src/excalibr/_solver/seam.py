"""Checked questions handed to the compiled kernel, and its answers as policies, or as errors that say why not.

The kernel reads the arrays where they lie. The order of tuples is that of ``bindings_solver.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from excalibr._arrays import frozen
from excalibr._messages import Message, Option
from excalibr._native import kernel
from excalibr._options import AIMS, Options
from excalibr._policy import Policy, SolveInfo
from excalibr._problem import NEVER_RANKED, AttributeSpan, Batch, Problem, too_few_candidates
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError, InfeasibleError, InputError, SolverError

ENGINES = ("none", "simplex", "proximal", "interior")
TIME_LIMIT_REACHED = "time limit reached"
STATUSES = ("converged", "sorts spent", "stalled", TIME_LIMIT_REACHED)
"""What the kernel's numbers mean, see :class:`SolveInfo`."""

LEFT_OUT, SOLVED, BY_RELEVANCE = 0, 1, 2
"""What is asked for a user: nothing, the solution, or the order of the scores."""

_NOTHING = frozen(np.empty(0))
_SOLVED = frozen(np.array([SOLVED], dtype=np.int64))


def answer_to(problem: Problem, verbose: bool = False) -> tuple[Any, ...]:
    """What the kernel finds for one user."""
    batch, options = problem.batch, problem.batch.options
    slots = batch.slots
    plain = batch.terms is None and batch.item_prices is None and problem.trade_off == options.asked_trade_off
    if plain and len(slots) == 1 and not verbose:
        return kernel.solve_alone(batch.checked, setting_of(options, slots.item(0)))
    return kernel.solve_user(question_of(problem), problem.user, verbose)


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


def policy_of(problem: Problem, found: tuple[Any, ...], verbose: bool = False) -> Policy:
    """What the kernel found for one user as a policy, or the error that says why it found nothing."""
    rankings, weights, prices, gap, trade_off, (engine, sorts, steps, status, seconds, allowed), failure = found
    if failure is not None:
        raise error_of(problem.batch, *failure)
    if trade_off != problem.trade_off and trade_off == trade_off:  # a budget finds its own
        problem = Problem(problem.batch, problem.user, trade_off)
    info = tuple.__new__(SolveInfo, (ENGINES[engine], sorts, steps, STATUSES[status], seconds, allowed))  # quicker
    policy = Policy._solved(problem, rankings, weights, gap, prices, info)
    if verbose:
        print(
            f"{info.status}: objective {policy.objective:.10g}, gap {gap:.2g}, {len(weights)} rankings; "
            f"{sorts} sorts, {steps} steps, {seconds:.3g} seconds"
        )
    return policy


FLOOR_OUT_OF_REACH, CAP_OUT_OF_REACH, LIMITS_CONFLICT, LIMITS_NEED_SORTS, PINNED_BREAK_LIMITS = range(1, 6)
RELEVANCE_OUT_OF_REACH, DEVIATION_OUT_OF_REACH, DEVIATION_NOT_FOUND = range(6, 9)
NO_SINGLE_RANKING, SINGLE_NOT_FOUND, OUT_OF_MEMORY, TOO_FEW_CANDIDATES, NUMBERS_TOO_LARGE = range(9, 14)
LIMITS_NEED_TIME, BUDGET_NEEDS_TIME, SINGLE_NEEDS_TIME = range(14, 17)
"""Why a user has no answer, in the kernel's numbers."""

_MISSED = {1: "floors and caps", 2: "relevance_loss", 4: "max_deviation"}


def error_of(
    batch: Batch, kind: int, category: int, wanted: float, reached: float, limit_prices: tuple[Integers, Floats]
) -> ExcalibrError:
    """The error that says why a user of a batch has no answer; ``limit_prices`` of categories tell which conflict."""
    name, budget, max_sorts = _name(batch.attributes, category), batch.options.budget, batch.options.max_sorts
    more = "weights that are more alike leave more digits." if max_sorts is None else "allow more sorts."
    texts = {
        FLOOR_OUT_OF_REACH: f"floors: category {name} cannot reach {wanted:g}; "
        f"the most that any policy shows of it is {reached:.6g}.",
        CAP_OUT_OF_REACH: f"caps: category {name} cannot stay within {wanted:g}; "
        f"the least that any policy shows of it is {reached:.6g}.",
        LIMITS_NEED_SORTS: f"floors and caps: no policy that keeps them was found within max_sorts={max_sorts}, "
        "and there is one. Hint: allow more sorts.",
        PINNED_BREAK_LIMITS: "floors and caps: every slot is pinned, and the pinned items do not keep them.",
        RELEVANCE_OUT_OF_REACH: f"relevance_loss: is {budget:g}, and the other limits alone cost more: the relevance "
        f"within them is at most {reached:.6g}, and {wanted:.6g} was asked.",
        DEVIATION_OUT_OF_REACH: f"max_deviation: is {wanted:g}, and no policy comes nearer than {reached:.6g}.",
        DEVIATION_NOT_FOUND: f"max_deviation: is {wanted:g}, and the nearest policy that was found is at "
        f"{reached:.6g}; that none is nearer is not proven. Hint: {more}",
    }
    if kind in texts:
        return InfeasibleError(texts[kind])
    if kind in (LIMITS_NEED_TIME, BUDGET_NEEDS_TIME, SINGLE_NEEDS_TIME):
        return _needs_time(batch, kind, name, wanted, reached)
    if kind == LIMITS_CONFLICT:
        return _conflict(batch, reached, *limit_prices)
    if kind in (NO_SINGLE_RANKING, SINGLE_NOT_FOUND):
        return _no_single(missed=int(wanted), proven=kind == NO_SINGLE_RANKING)
    if kind == TOO_FEW_CANDIDATES:
        return too_few_candidates(wanted, reached)
    if kind == NUMBERS_TOO_LARGE:
        return InputError("scores, weights and targets", "overflow", f"be numbers of at most {wanted:g}")
    return SolverError("the solver ran out of memory. Hint: fewer candidates, slots or categories need less.")


def _needs_time(batch: Batch, kind: int, name: str, wanted: float, reached: float) -> InfeasibleError:
    """What the best that was found within ``time_limit`` misses."""
    if kind == LIMITS_NEED_TIME:
        limit = "floors" if reached < wanted else "caps"
        what, found = f"{limit}: {wanted:g} of category {name} was", f"category {name} is at {reached:.6g}"
    elif kind == BUDGET_NEEDS_TIME:
        aim = AIMS[batch.options.asked[1]]
        measure = "relevance" if aim == "relevance_loss" else "deviation"
        what, found = (
            f"{aim}: {batch.options.budget:g} was",
            f"{measure} is at {reached:.6g}, and {wanted:.6g} was asked",
        )
    else:
        what, found = (
            f"draws: {_missed(int(wanted))} by a single ranking were",
            "a lottery may keep them in expectation",
        )
    hint = "Hint: allow more time."
    return InfeasibleError(f"{what} not met within time_limit={batch.options.asked[6]:g}: {found}. {hint}")


def _conflict(batch: Batch, missed: float, categories: Integers, prices: Floats) -> InfeasibleError:
    """The limits that stand against one another: those with a price when nothing but the limits counts."""
    floors: Any = batch.terms and batch.terms.floors
    caps: Any = batch.terms and batch.terms.caps
    priced = [
        f"{'floor' if price < 0 else 'cap'} "
        f"{(floors if price < 0 else caps)[category]:g} of category {_name(batch.attributes, category)}"
        for category, price in zip(categories.tolist(), prices.tolist(), strict=True)
        if abs(price) > 1e-6
    ]
    return InfeasibleError(
        f"floors and caps: no policy keeps all of them; these conflict: {', '.join(priced)}. "
        f"Together they miss by at least {missed:.6g}."
    )


def _no_single(missed: int, proven: bool) -> InfeasibleError:
    found = "no single ranking keeps it" if proven else "no single ranking that keeps it was found"
    said = f"{_missed(missed)}: {found}; a lottery does, in expectation. Hint: "
    return InfeasibleError(Message(said, Option("draws", "lottery"), " or wider limits."))


def _missed(parts: int) -> str:
    return " and ".join(text for part, text in _MISSED.items() if parts & part)


def _name(attributes: Sequence[AttributeSpan], category: int) -> str:
    for attribute in attributes:
        if attribute.start <= category < attribute.stop:
            return f"{category - attribute.start} of {attribute.name!r}"
    return str(category)
