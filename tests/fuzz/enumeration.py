"""All rankings that there are, where there are few."""

from __future__ import annotations

from itertools import permutations
from math import perm

import numpy as np

from tests.fuzz.program import Program
from tests.fuzz.questions import Floats

FEW = 400


def every_ranking(program: Program, most: int = FEW) -> Floats | None:
    """(L, k) every allowed ranking; None where there are too many to list."""
    candidates, slots = np.flatnonzero(program.open_candidates), program.open_slots
    if perm(len(candidates), len(slots)) > most:
        return None
    arranged = np.array(list(permutations(candidates.tolist(), len(slots))), dtype=np.int64)
    rankings = np.empty((len(arranged), program.k), dtype=np.int64)
    rankings[:, slots] = arranged.reshape(len(arranged), len(slots))
    for slot, candidate in program.pinned.items():
        rankings[:, slot] = candidate
    if not len(program.group_limits):
        return rankings
    members = program.groups[rankings][:, :, None] == np.arange(len(program.group_limits))
    return np.asarray(rankings[(members.sum(axis=1) <= program.group_limits).all(axis=1)])
