"""What every baseline ends with: an order of selection becomes a policy of one ranking."""

from __future__ import annotations

import numpy as np

from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr._types import Floats, Integers
from excalibr.positions import slots_by_weight

__all__ = ["centred_gains", "falling_weights", "one_ranking"]


def one_ranking(problem: Problem, order: Integers, method: str) -> Policy:
    """The policy that always shows one ranking: the candidate selected first gets the heaviest slot, and so on.

    With weights that fall with the position, or are equal, the order of selection is the ranking itself.
    """
    ranking = np.empty(problem.k, dtype=np.int64)
    ranking[slots_by_weight(problem.position_weights)] = order
    return Policy(problem=problem, rankings=ranking[None, :], weights=np.ones(1), method=method)


def falling_weights(problem: Problem) -> Floats:
    """The position weights in the order in which slots are filled, heaviest first."""
    return problem.position_weights[slots_by_weight(problem.position_weights)]


def centred_gains(problem: Problem) -> Floats:
    """(1 − λ)·s less the middle of its range, so that an offset common to all scores changes nothing, ties included."""
    gains = problem.gains
    return np.asarray(gains - (0.5 * gains.max() + 0.5 * gains.min()))
