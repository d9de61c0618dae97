"""One user's problem at many trade-offs: every solve starts from all that the ones before found.

Only the objective changes with the trade-off. The rankings found so far stay feasible, and so does the basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.problem import Problem
from excalibr.solver.kernel import close_program


class Pool(NamedTuple):
    rankings: Integers
    shares: Floats
    relevance: Floats
    basis: Integers
    piece: Integers
    counts: Integers

def new_pool(capacity: int, k: int, r: int) -> Pool:
    return Pool(
        np.empty((capacity, k), dtype=np.int64),
        np.empty((r, capacity)),
        np.empty(capacity),
        np.zeros(r + 1, dtype=np.int64),
        np.zeros(r, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )
