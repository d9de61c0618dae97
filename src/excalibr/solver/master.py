"""The master program of column generation: the best lottery over the rankings found so far, as a small linear program.

    maximise Σ_t θ_t v_t − Σ_j penalty_j(p_j)   with  Σ_t θ_t p_t = p,  Σ_t θ_t = 1,  θ ≥ 0

A row a category and one for Σθ. This module holds the pool of rankings, the basis and its inverse, which is factorised
anew on a schedule because pivots let it drift; :mod:`excalibr.solver.simplex` makes the pivots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._jit import compiled, inlined, lean
from excalibr._types import PLACE, Booleans, Floats, Integers, Places
from excalibr.solver.ordering import Spare, key_at_rank, new_spare
from excalibr.solver.program import Program, ranking_effect

__all__ = [
    "ABOVE",
    "BELOW",
    "INSIDE",
    "PIVOTS",
    "PIVOTS_SINCE",
    "RANKINGS_FOUND",
    "Master",
    "Pool",
    "add_ranking",
    "lottery_value",
    "make_room",
    "new_master",
    "new_pool",
    "price_basis",
    "refactorise",
    "renew",
    "resume",
    "slope_of",
]

BELOW = -1
INSIDE = 0
ABOVE = 1

# places in the counts
RANKINGS_FOUND = 0
PIVOTS_SINCE = 1
PIVOTS = 2

LONGEST_LIST = 8
ROOM = 64
ROOM_A_CATEGORY = 6


class Pool(NamedTuple):
    """What the simplex carries from solve to solve, and writes to: rankings, what they do, and a basis."""

    rankings: Integers
    shares: Floats
    relevance: Floats
    basis: Integers
    piece: Integers
    counts: Integers


def new_pool(k: int, rows: int, rankings: int = 0) -> Pool:
    """An empty pool for k slots and so many rows, with room for so many rankings to start with."""
    capacity = rankings + ROOM + ROOM_A_CATEGORY * rows
    return Pool(
        rankings=np.empty((capacity, k), dtype=np.int64),
        shares=np.empty((rows, capacity)),
        relevance=np.empty(capacity),
        basis=np.zeros(rows + 1, dtype=np.int64),
        piece=np.zeros(rows, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


class Master(NamedTuple):
    """The pool of rankings and the simplex method's state.

    ``shares[j, t]`` and ``relevance[t]`` are what ranking t does; a row a category, so that pricing runs along memory.
    ``values`` are the relevances in the program's unit. ``basis[i]`` is a ranking t ≥ 0, or −1 − j for slack j, which
    is p_j minus an edge of its band and has a piecewise linear cost: outside the basis it rests on an edge (``piece``
    is the one on that side, ``edge`` where it stands), inside it lies on one piece and counts from that piece's edge.
    ``inverse`` is transposed, ``inverse[row, place]``, so that pivots too run along memory.
    """

    rankings: Integers
    shares: Floats
    relevance: Floats
    basis: Integers
    piece: Integers
    counts: Integers
    values: Floats
    earns: Floats
    basic: Booleans
    slack_basic: Booleans
    edge: Floats
    inverse: Floats
    levels: Floats
    prices: Floats
    column: Floats
    work: Floats
    listed: Integers
    heaviest: Places
    spare: Spare


@compiled
def new_master(pool: Pool) -> Master:
    """The simplex method's room around a pool that may hold rankings, and a basis of them, already."""
    capacity = pool.relevance.size
    r = pool.piece.size
    m = r + 1
    return Master(
        rankings=pool.rankings,
        shares=pool.shares,
        relevance=pool.relevance,
        basis=pool.basis,
        piece=pool.piece,
        counts=pool.counts,
        values=np.empty(capacity),
        earns=np.empty(capacity),
        basic=np.zeros(capacity, dtype=np.bool_),
        slack_basic=np.zeros(r, dtype=np.bool_),
        edge=np.empty(r),
        inverse=np.empty((m, m)),
        levels=np.empty(m),
        prices=np.empty(m),
        column=np.empty(m),
        work=np.empty((m, 2 * m)),
        listed=np.empty(LONGEST_LIST + 1, dtype=np.int64),
        heaviest=np.empty(m, dtype=PLACE),
        spare=new_spare(capacity),
    )


@inlined
def add_ranking(program: Program, master: Master, centred: Floats, factor: float, ranking: Places) -> int:
    """Put a ranking (by rank) into the pool, which must have room; returns its place."""
    place = int(master.counts[RANKINGS_FOUND])
    _copy_row(ranking, master.rankings, place)
    relevance = ranking_effect(program, centred, ranking, master.column)
    _copy_column(master.column, master.shares, place)
    master.relevance[place] = relevance
    master.values[place] = factor * relevance
    master.basic[place] = False
    master.counts[RANKINGS_FOUND] = place + 1
    return place


@inlined
def _copy_row(source: Places, target: Integers, row: int) -> None:
    for place in range(target.shape[1]):
        target[row, place] = source[place]


@inlined
def _copy_column(source: Floats, target: Floats, column: int) -> None:
    for row in range(target.shape[0]):
        target[row, column] = source[row]


@lean
def resume(program: Program, master: Master, factor: float, fresh: bool) -> bool:
    """Set the master up on its pool for these gains and slopes: on the basis that it had, or else on a first one.

    Only the objective depends on the trade-off, so that a basis for one is feasible for every other; ``fresh`` says
    that it is factorised already.
    """
    for ranking in range(master.counts[RANKINGS_FOUND]):
        master.values[ranking] = factor * master.relevance[ranking]
    has_basis = master.basis[0] != master.basis[master.basis.size - 1]
    if not fresh and not (has_basis and _take_basis(program, master)):
        _first_basis(program, master)
        if not _take_basis(program, master):
            return False
    price_basis(program, master)
    return True


@lean
def _first_basis(program: Program, master: Master) -> None:
    """The pool's first ranking, and every category's slack on the piece where that ranking puts it."""
    r = master.piece.size
    master.basis[r] = 0
    for category in range(r):
        share = master.shares[category, 0]
        low = program.low[category]
        high = program.high[category]
        master.basis[category] = -1 - category
        master.piece[category] = BELOW if share < low else INSIDE
        if share > high or low == high <= share:
            master.piece[category] = ABOVE


@lean
def _take_basis(program: Program, master: Master) -> bool:
    """Mark what is basic, put every slack on its edge, and factorise."""
    for ranking in range(master.counts[RANKINGS_FOUND]):
        master.basic[ranking] = False
    for category in range(master.piece.size):
        master.slack_basic[category] = False
        # slacks count from the band's lower edge below it, from its upper edge inside and above
        below = master.piece[category] == BELOW
        master.edge[category] = program.low[category] if below else program.high[category]
    for place in range(master.basis.size):
        variable = master.basis[place]
        if variable >= 0:
            master.basic[variable] = True
        else:
            master.slack_basic[-1 - variable] = True
    return refactorise(master)


@lean
def slope_of(piece: int, below: float, above: float) -> float:
    """What one more unit of a basic slack earns on its piece."""
    if piece == BELOW:
        return below
    return -above if piece == ABOVE else 0.0


@lean
def price_basis(program: Program, master: Master) -> None:
    """prices = (profit of the basic variables) · inverse."""
    m = master.basis.size
    for place in range(m):
        variable = master.basis[place]
        if variable >= 0:
            master.column[place] = master.values[variable]
        else:
            category = -1 - variable
            master.column[place] = slope_of(master.piece[category], program.below[category], program.above[category])
    for row in range(m):
        price = 0.0
        for place in range(m):
            price += master.column[place] * master.inverse[row, place]
        master.prices[row] = price


@lean
def lottery_value(program: Program, master: Master) -> float:
    """The objective of the basic lottery, from its rankings and weights."""
    value = 0.0
    shares = master.column
    for category in range(master.piece.size):
        shares[category] = 0.0
    for place in range(master.basis.size):
        ranking = master.basis[place]
        if ranking >= 0:
            weight = master.levels[place]
            value += weight * master.values[ranking]
            for category in range(master.piece.size):
                shares[category] += weight * master.shares[category, ranking]
    for category in range(master.piece.size):
        value -= program.below[category] * max(program.low[category] - shares[category], 0.0)
        value -= program.above[category] * max(shares[category] - program.high[category], 0.0)
    return value


@lean
def make_room(master: Master) -> None:
    """Halve a full pool: basic rankings stay, and of the others those that earn most at the master's prices."""
    capacity = master.relevance.size
    for ranking in range(capacity):
        earns = master.values[ranking]
        for category in range(master.piece.size):
            earns -= master.prices[category] * master.shares[category, ranking]
        master.earns[ranking] = earns
    least = key_at_rank(master.earns, capacity // 2, master.spare.places)
    kept = 0
    for ranking in range(capacity):
        if master.basic[ranking] or (master.earns[ranking] >= least and kept < capacity // 2):
            _move(master, ranking, kept)
            kept += 1
    master.counts[RANKINGS_FOUND] = kept


@lean
def _move(master: Master, ranking: int, target: int) -> None:
    """Move a ranking to an earlier place of the pool."""
    if master.basic[ranking]:
        for place in range(master.basis.size):
            if master.basis[place] == ranking:
                master.basis[place] = target
    for rank in range(master.rankings.shape[1]):
        master.rankings[target, rank] = master.rankings[ranking, rank]
    for category in range(master.piece.size):
        master.shares[category, target] = master.shares[category, ranking]
    master.relevance[target] = master.relevance[ranking]
    master.values[target] = master.values[ranking]
    master.basic[target] = master.basic[ranking]


@lean
def refactorise(master: Master) -> bool:
    """Invert the basis anew by Gauss–Jordan with row pivots, and recompute the levels; False if it is singular."""
    m = master.basis.size
    work = master.work
    for place in range(m):
        for row in range(2 * m):
            work[place, row] = 0.0
        work[place, m + place] = 1.0
    for place in range(m):  # the basis matrix: a ranking's shares and 1, or −1 in a slack's own row
        variable = master.basis[place]
        if variable < 0:
            work[-1 - variable, place] = -1.0
        else:
            for row in range(m - 1):
                work[row, place] = master.shares[row, variable]
            work[m - 1, place] = 1.0
    for pivot in range(m):
        largest = pivot
        for row in range(pivot + 1, m):
            if abs(work[row, pivot]) > abs(work[largest, pivot]):
                largest = row
        if abs(work[largest, pivot]) < 1e-14:
            return False
        _eliminate(work, pivot, largest)
    for place in range(m):
        level = 0.0
        for row in range(m):
            master.inverse[row, place] = work[place, m + row]
            level += work[place, m + row] * (master.edge[row] if row < m - 1 else 1.0)
        master.levels[place] = level
    master.counts[PIVOTS_SINCE] = 0
    return True


@lean
def renew(program: Program, master: Master) -> bool:
    """Factorise and price anew, unless that was the last thing done; False if the basis is singular."""
    regular = master.counts[PIVOTS_SINCE] == 0 or refactorise(master)
    price_basis(program, master)
    return regular


@lean
def _eliminate(work: Floats, pivot: int, largest: int) -> None:
    m = work.shape[0]
    for column in range(pivot, 2 * m):
        kept = work[pivot, column]
        work[pivot, column] = work[largest, column]
        work[largest, column] = kept
    scale = 1.0 / work[pivot, pivot]
    for column in range(pivot, 2 * m):
        work[pivot, column] *= scale
    for row in range(m):
        factor = work[row, pivot]
        if row != pivot and factor != 0.0:
            for column in range(pivot, 2 * m):
                work[row, column] -= factor * work[pivot, column]
