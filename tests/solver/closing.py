"""The simplex engine by itself, for one problem at one or several trade-offs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excalibr.problem import Limits, Problem
from excalibr.solver import program_of
from excalibr.solver.engines import Answer, Groups, close
from excalibr.solver.master import new_pool

NO_GROUPS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def closed(problems: Sequence[Problem], limits: Limits, groups: Groups = NO_GROUPS) -> Sequence[Answer]:
    """What the simplex finds for one problem at several trade-offs, in this order."""
    problem = problems[0]
    _, indptr, indices, values, penalty, position_weights = program_of(problem)
    return close(
        (problem.scores, indptr, indices, values, penalty, position_weights),
        np.array([each.penalty.table() for each in problems]),
        np.array([1.0 - each.trade_off for each in problems]),
        limits,
        new_pool(problem.k, problem.r),
        groups=groups,
    )
