"""Checked questions as the compiled kernel takes them: one user's problem, or flat arrays of many users.

The kernel reads the arrays where they lie; what is not asked is an empty array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from excalibr._arrays import frozen
from excalibr._native import kernel
from excalibr._problem import Limits, Problem
from excalibr._types import Booleans, Floats, Integers

__all__ = ["AIMS", "BY_RELEVANCE", "DRAWS", "LEFT_OUT", "SOLVED", "Aim", "UserArrays", "question_of", "questions_of"]

AIMS = {"trade_off": 0, "relevance_loss": 1, "max_deviation": 2}
DRAWS = {"lottery": 0, "single": 1, "even": 2}
LEFT_OUT, SOLVED, BY_RELEVANCE = 0, 1, 2
"""What is asked for a user: nothing, the solution, or the order of the scores."""

_NOTHING = frozen(np.empty(0))
_NOBODY = frozen(np.empty(0, dtype=np.int64))
_NO_FLAGS = frozen(np.empty(0, dtype=np.bool_))
_ZERO = frozen(np.zeros(1, dtype=np.int64))
_SOLVED = frozen(np.array([SOLVED], dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Aim:
    """What is asked of the solution: a trade-off, which each question has, or a budget in its place."""

    kind: str = "trade_off"
    budget: float = 0.0
    draws: str = "lottery"


TRADE_OFF = Aim()


@dataclass(frozen=True, slots=True, eq=False)
class UserArrays:
    """The questions of many users; arrays that are None are not asked.

    User u has the candidates ``starts[u]`` to ``starts[u + 1]``, candidate c the score ``scores[c]`` and the row
    ``items[c]`` of the sparse category shares. ``lows``, ``highs``, ``weights`` and ``bases`` have a row a user, see
    :class:`excalibr._problem.Terms`; ``weights`` may be one for all.
    """

    scores: Floats
    starts: Integers
    items: Integers
    indptr: Integers
    indices: Integers
    values: Floats
    lows: Floats
    highs: Floats
    weights: Floats
    trade_offs: Floats
    slots: Integers
    weight_starts: Integers
    position_weights: Floats
    asked: Integers
    smoothing: float = 0.0
    bases: Floats | None = None
    floors: Floats | None = None
    caps: Floats | None = None
    unavailable: Booleans | None = None
    pinned_starts: Integers | None = None
    pinned_slots: Integers | None = None
    pinned_candidates: Integers | None = None
    groups: Integers | None = None
    group_limits: Integers | None = None


def questions_of(users: UserArrays, limits: Limits, aim: Aim = TRADE_OFF) -> Any:
    """The questions of many users for the kernel."""
    return kernel.Questions(
        (
            *(users.scores, users.starts, users.items, users.indptr, users.indices, users.values),
            *(users.lows.reshape(-1), users.highs.reshape(-1), users.weights.reshape(-1)),
            _NOTHING if users.bases is None else users.bases.reshape(-1),
            _NOTHING if users.floors is None else users.floors,
            _NOTHING if users.caps is None else users.caps,
            _NO_FLAGS if users.unavailable is None else users.unavailable,
            _NOBODY if users.pinned_starts is None else users.pinned_starts,
            _NOBODY if users.pinned_slots is None else users.pinned_slots,
            _NOBODY if users.pinned_candidates is None else users.pinned_candidates,
            _NOBODY if users.groups is None else users.groups,
            _NOBODY if users.group_limits is None else users.group_limits,
            *(users.slots, users.weight_starts, users.position_weights, users.trade_offs, users.asked),
            *(users.smoothing, AIMS[aim.kind], aim.budget, DRAWS[aim.draws]),
            *(limits.tolerance, -1 if limits.max_sorts is None else int(limits.max_sorts), users.lows.shape[1]),
        )
    )


def question_of(problem: Problem, limits: Limits, aim: Aim = TRADE_OFF) -> Any:
    """One user's problem for the kernel, as the only one of many."""
    terms, rows, n, k, r = problem.terms, problem.memberships, problem.n, problem.k, problem.r
    starts, items = _numbers(n)
    high, weights, base, floors, caps, unavailable = problem.target, _ones(r), _NOTHING, _NOTHING, _NOTHING, _NO_FLAGS
    pins, groups, smoothing = (_NOBODY, _NOBODY, _NOBODY), (_NOBODY, _NOBODY), 0.0
    if terms is not None:
        high, weights, base, smoothing = terms.high, terms.weights, terms.base, terms.smoothing
        if terms.limited.size:
            floors, caps = terms.floors, terms.caps
        unavailable = terms.unavailable
        if terms.pinned_slots.size:
            pins = (np.array([0, terms.pinned_slots.size]), terms.pinned_slots, terms.pinned_candidates)
        if terms.group_limits.size:
            groups = (terms.groups, terms.group_limits)
    return kernel.Questions(
        (
            *(problem.scores, starts, items, rows.indptr, rows.indices, rows.values),
            *(problem.target, high, weights, base, floors, caps, unavailable, *pins, *groups),
            *(_number(k), _ZERO, problem.position_weights, np.array([problem.trade_off]), _SOLVED),
            *(smoothing, AIMS[aim.kind], aim.budget, DRAWS[aim.draws]),
            *(limits.tolerance, -1 if limits.max_sorts is None else int(limits.max_sorts), r),
        )
    )


@lru_cache(maxsize=256)
def _numbers(n: int) -> tuple[Integers, Integers]:
    """Where the candidates of one user begin and end, and their own numbers."""
    return frozen(np.array([0, n], dtype=np.int64)), frozen(np.arange(n, dtype=np.int64))


@lru_cache(maxsize=256)
def _number(k: int) -> Integers:
    return frozen(np.array([k], dtype=np.int64))


@lru_cache(maxsize=256)
def _ones(r: int) -> Floats:
    return frozen(np.ones(r))
