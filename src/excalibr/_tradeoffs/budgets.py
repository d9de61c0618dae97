"""Budgets instead of λ: the best calibrated within a loss of relevance, the most relevant within a deviation."""

from __future__ import annotations

import numpy as np

from excalibr._policy import Policy
from excalibr._problem import Limits, Problem, is_real
from excalibr._solver import Aim, Curve, solve
from excalibr.errors import InputError, explain

__all__ = ["most_relevant_within", "nearest_within", "relevance_floor"]


def nearest_within(
    problem: Problem, relevance_loss: object, limits: Limits | None = None, draws: str = "lottery"
) -> Policy:
    """The best calibrated policy that gives up at most this part of the relevance that plain sorting has."""
    return solve(problem, limits, Aim("relevance_loss", _read_loss(relevance_loss), draws))


def most_relevant_within(
    problem: Problem, max_deviation: object, limits: Limits | None = None, draws: str = "lottery"
) -> Policy:
    """The most relevant policy whose cost is at most this."""
    return solve(problem, limits, Aim("max_deviation", _read_deviation(max_deviation), draws))


def relevance_floor(problem: Problem, relevance_loss: float) -> float:
    """The least relevance that a budget allows, see :meth:`excalibr._solver.Curve.relevance_floor`."""
    return Curve(problem, Limits()).relevance_floor(_read_loss(relevance_loss))


def _read_loss(relevance_loss: object) -> float:
    """A part from 0 to 1."""
    if not is_real(relevance_loss) or not 0.0 <= float(relevance_loss) <= 1.0:  # type: ignore[arg-type]
        hint = "0.02 gives up at most 2 % of the relevance."
        raise InputError(explain("relevance_loss", f"is {relevance_loss!r}", "be a number from 0 to 1", hint))
    return float(relevance_loss)  # type: ignore[arg-type]


def _read_deviation(max_deviation: object) -> float:
    """A finite number of at least 0."""
    if not is_real(max_deviation) or not 0.0 <= float(max_deviation) < np.inf:  # type: ignore[arg-type]
        raise InputError(explain("max_deviation", f"is {max_deviation!r}", "be a finite number of at least 0"))
    return float(max_deviation)  # type: ignore[arg-type]
