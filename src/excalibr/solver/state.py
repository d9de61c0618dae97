"""The arrays that the proximal method works with: where it is, the best it found, and what one Newton step needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled
from excalibr._types import PLACE, Booleans, Floats, Integers, Places
from excalibr.solver.ordering import Spare, new_spare

__all__ = ["Best", "State", "Step", "new_best", "new_state", "new_step"]

LARGE = 1e300

# places in the small arrays of the state
BLOCKS, ACTIVE = 0, 1
OBJECTIVE, BOUND = 0, 1
DAMPING, RADIUS = 0, 1


class State(NamedTuple):
    """Where the solver is: arrays that every evaluation fills anew.

    ``order[:counts[ACTIVE]]`` are the candidates that are looked at, best first: those whose lifted score reaches
    ``threshold[0]``. ``starts[:counts[BLOCKS] + 1]`` are the ranks at which blocks of tied candidates begin.
    """

    centre: Floats
    adjusted: Floats
    lifted: Floats
    exposure: Floats
    shares: Floats
    order: Places
    ranked: Places
    spare: Spare
    inside: Booleans
    starts: Places
    means: Floats
    sums: Floats
    counts: Integers
    threshold: Floats


class Best(NamedTuple):
    """The best exposure so far, with the face that it lies on, and the best prices."""

    exposure: Floats
    order: Places
    starts: Places
    blocks: Integers
    prices: Floats
    values: Floats


class Step(NamedTuple):
    """What one Newton step works with."""

    gradient: Floats
    edges: Floats
    floors: Floats
    ceilings: Floats
    direction: Floats
    trial: Floats
    hessian: Floats
    factor: Floats
    right: Floats
    total: Floats
    free: Places
    pace: Floats


@compiled
def new_state(n: int, r: int) -> State:
    """Room for n candidates and r categories; everyone is looked at."""
    state = State(
        centre=np.zeros(n),
        adjusted=np.empty(n),
        lifted=np.empty(n),
        exposure=np.zeros(n),
        shares=np.zeros(r),
        order=np.arange(n, dtype=PLACE),
        ranked=np.arange(n, dtype=PLACE),
        spare=new_spare(n),
        inside=np.ones(n, dtype=np.bool_),
        starts=np.empty(n + 1, dtype=PLACE),
        means=np.empty(n),
        sums=np.empty(n),
        counts=np.zeros(2, dtype=np.int64),
        threshold=np.empty(1),
    )
    state.counts[ACTIVE] = n
    return state


@compiled
def new_best(n: int, r: int) -> Best:
    """Room for the best, and no best yet."""
    best = Best(
        exposure=np.zeros(n),
        order=np.empty(n, dtype=PLACE),
        starts=np.empty(n + 1, dtype=PLACE),
        blocks=np.zeros(1, dtype=np.int64),
        prices=np.zeros(r),
        values=np.empty(2),
    )
    best.values[OBJECTIVE] = -LARGE
    best.values[BOUND] = LARGE
    return best


@compiled
def new_step(r: int) -> Step:
    """Room for r categories."""
    return Step(
        gradient=np.empty(r),
        edges=np.empty(r),
        floors=np.empty(r),
        ceilings=np.empty(r),
        direction=np.empty(r),
        trial=np.empty(r),
        hessian=np.empty((r, r)),
        factor=np.empty((r, r)),
        right=np.empty(r),
        total=np.empty(r),
        free=np.empty(r, dtype=PLACE),
        pace=np.empty(2),
    )
