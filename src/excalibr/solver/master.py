"""The master program of column generation: the best lottery over the rankings found so far, by a small simplex method.

    maximise Σ_t θ_t v_t − Σ_j penalty_j(p_j)   with  Σ_t θ_t p_t = p,  Σ_t θ_t = 1,  θ ≥ 0

A row a category and one for Σθ. Row j has a slack s_j = p_j − (an edge of its band) with a piecewise linear cost:
outside the basis it rests on an edge (p_j = low_j or high_j), inside it lies on one piece. The basis inverse is updated
by pivots and factorised anew on a schedule, because updates drift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from excalibr._types import Booleans, Floats, Integers
from excalibr.solver.jit import compiled
from excalibr.solver.program import Program

__all__ = ["Master", "keep_basic", "new_master", "optimise", "refactorise", "start"]

REFACTOR_EVERY = 30
SMALL_PIVOT = 1e-10
WORTH_ENTERING = 1e-11
NO_END = 1e300

BELOW = -1
INSIDE = 0
ABOVE = 1


class Master(NamedTuple):
    """The pool of rankings and the simplex method's state.

    ``shares[j, t]`` and ``values[t]`` are what ranking t does; a row a category, so that pricing runs along memory.
    ``basis[i]`` is a ranking t ≥ 0, or −1 − j for slack j.
    """

    rankings: Integers
    shares: Floats
    earns: Floats
    values: Floats
    basis: Integers
    basic: Booleans
    slack_basic: Booleans
    piece: Integers
    edge: Floats
    inverse: Floats
    levels: Floats
    prices: Floats
    column: Floats
    work: Floats
    counts: Integers


RANKINGS_FOUND = 0
PIVOTS_SINCE = 1


@compiled
def new_master(capacity: int, r: int, k: int) -> Master:
    """Room for ``capacity`` rankings of k slots and r categories."""
    m = r + 1
    return Master(
        rankings=np.empty((capacity, k), dtype=np.int64),
        shares=np.empty((r, capacity)),
        earns=np.empty(capacity),
        values=np.empty(capacity),
        basis=np.empty(m, dtype=np.int64),
        basic=np.zeros(capacity, dtype=np.bool_),
        slack_basic=np.ones(r, dtype=np.bool_),
        piece=np.zeros(r, dtype=np.int64),
        edge=np.empty(r),
        inverse=np.empty((m, m)),
        levels=np.empty(m),
        prices=np.empty(m),
        column=np.empty(m),
        work=np.empty((m, 2 * m)),
        counts=np.zeros(2, dtype=np.int64),
    )


@compiled
def start(program: Program, master: Master) -> bool:
    """The first basis: the pool's first ranking, and every category's slack on the piece where that ranking puts it."""
    r = master.edge.size
    master.basis[r] = 0
    master.basic[0] = True
    for category in range(r):
        share = master.shares[category, 0]
        master.basis[category] = -1 - category
        _set_piece(program, master, category, BELOW if share < program.low[category] else INSIDE)
        if share > program.high[category] or program.low[category] == program.high[category] <= share:
            _set_piece(program, master, category, ABOVE)
    return refactorise(master)


@compiled
def _set_piece(program: Program, master: Master, category: int, piece: int) -> None:
    """Slacks count from the band's lower edge below it, from its upper edge inside and above."""
    master.piece[category] = piece
    master.edge[category] = program.low[category] if piece == BELOW else program.high[category]


@compiled
def optimise(program: Program, master: Master, max_pivots: int) -> bool:
    """Pivot until no ranking of the pool and no slack is worth entering; False if that was not reached."""
    for _ in range(max_pivots):
        _price(program, master)
        entering, direction, reduced = _entering(program, master)
        if reduced <= WORTH_ENTERING:
            return True
        _entering_column(master, entering, direction)
        leaving, length = _leaving(program, master)
        if length > _own_room(program, master, entering, direction):
            _cross_band(program, master, -1 - entering, direction)
        elif leaving < 0:
            return False
        else:
            _exchange(program, master, entering, direction, leaving, length)
        master.counts[PIVOTS_SINCE] += 1
        if master.counts[PIVOTS_SINCE] >= REFACTOR_EVERY and not refactorise(master):
            return False
    return False


@compiled
def _price(program: Program, master: Master) -> None:
    """prices = (profit of the basic variables) · inverse."""
    m = master.basis.size
    for row in range(m):
        master.prices[row] = 0.0
    for place in range(m):
        variable = master.basis[place]
        if variable >= 0:
            profit = master.values[variable]
        else:
            category = -1 - variable
            profit = _slope(master.piece[category], program.below[category], program.above[category])
        if profit != 0.0:
            for row in range(m):
                master.prices[row] += profit * master.inverse[place, row]


@compiled
def _slope(piece: int, below: float, above: float) -> float:
    """What one more unit of a basic slack earns on its piece."""
    if piece == BELOW:
        return below
    return -above if piece == ABOVE else 0.0


@compiled
def _entering(program: Program, master: Master) -> tuple[int, float, float]:
    """The variable that earns most a unit, the direction it moves in (slacks go both ways), and what it earns."""
    r = master.edge.size
    best = 0.0
    entering = 0
    direction = 1.0
    found = master.counts[RANKINGS_FOUND]
    for ranking in range(found):
        master.earns[ranking] = master.values[ranking] - master.prices[r]
    for category in range(r):
        price = master.prices[category]
        for ranking in range(found):
            master.earns[ranking] -= price * master.shares[category, ranking]
    for ranking in range(found):
        if master.earns[ranking] > best and not master.basic[ranking]:
            best = master.earns[ranking]
            entering = ranking
    for category in range(r):
        if not master.slack_basic[category]:
            low = program.low[category]
            at_low = low < program.high[category] and master.edge[category] == low
            at_high_of_band = low < program.high[category] and not at_low
            price = master.prices[category]
            up = price if at_low else price - program.above[category]
            down = -price if at_high_of_band else -price - program.below[category]
            if max(up, down) > best:
                best = max(up, down)
                entering = -1 - category
                direction = 1.0 if up >= down else -1.0
    return entering, direction if entering < 0 else 1.0, best


@compiled
def _entering_column(master: Master, entering: int, direction: float) -> None:
    """How fast each basic variable falls as the entering one moves."""
    m = master.basis.size
    for place in range(m):
        if entering >= 0:
            value = master.inverse[place, m - 1]
            for category in range(m - 1):
                value += master.inverse[place, category] * master.shares[category, entering]
        else:
            value = -direction * master.inverse[place, -1 - entering]
        master.column[place] = value


@compiled
def _leaving(program: Program, master: Master) -> tuple[int, float]:
    """The basic variable that first reaches its end, by the larger pivot in a tie; -1 if none does."""
    shortest = NO_END
    leaving = -1
    for place in range(master.basis.size):
        fall = master.column[place]
        if abs(fall) <= SMALL_PIVOT:
            continue
        variable = master.basis[place]
        if variable >= 0:
            room = _room(ABOVE, 0.0, master.levels[place], fall)
        else:
            category = -1 - variable
            width = program.high[category] - program.low[category]
            room = _room(master.piece[category], width, master.levels[place], fall)
        if room < 0.0:
            continue
        length = room / abs(fall)
        if length < shortest - 1e-14 or (length <= shortest + 1e-14 and abs(fall) > abs(master.column[leaving])):
            shortest = min(length, shortest)
            leaving = place
    return leaving, max(shortest, 0.0)


@compiled
def _room(piece: int, width: float, level: float, fall: float) -> float:
    """How far a basic variable can go in its direction before its piece ends; -1 for no end.

    A ranking's weight is like a slack above its edge: it ends at 0. Few scalars, because this runs in the inner loop.
    """
    if piece == ABOVE:
        return max(level, 0.0) if fall > 0.0 else -1.0
    if piece == BELOW:
        return max(-level, 0.0) if fall < 0.0 else -1.0
    return max(width + level, 0.0) if fall > 0.0 else max(-level, 0.0)


@compiled
def _own_room(program: Program, master: Master, entering: int, direction: float) -> float:
    """How far the entering variable itself may go: a slack that enters its band, to the band's other edge."""
    if entering >= 0:
        return NO_END
    low = program.low[-1 - entering]
    high = program.high[-1 - entering]
    at_low = low < high and master.edge[-1 - entering] == low
    enters_band = low < high and at_low == (direction > 0.0)
    return float(high - low) if enters_band else NO_END


@compiled
def _cross_band(program: Program, master: Master, category: int, direction: float) -> None:
    """A resting slack goes from one edge of its band to the other before any basic variable ends; the basis stays."""
    low = program.low[category]
    high = program.high[category]
    for place in range(master.basis.size):
        master.levels[place] -= (high - low) * master.column[place]
    master.edge[category] = high if direction > 0.0 else low


@compiled
def _exchange(program: Program, master: Master, entering: int, direction: float, leaving: int, length: float) -> None:
    """Move along, put the entering variable in the leaving one's place and update the inverse."""
    m = master.basis.size
    for place in range(m):
        master.levels[place] -= length * master.column[place]
    _rest(program, master, master.basis[leaving], master.column[leaving])
    if entering >= 0:
        master.basic[entering] = True
        master.levels[leaving] = length
    else:
        master.levels[leaving] = _unrest(program, master, -1 - entering, direction) + direction * length
        for place in range(m):
            master.column[place] *= direction
    master.basis[leaving] = entering
    scale = 1.0 / master.column[leaving]
    for row in range(m):
        master.inverse[leaving, row] *= scale
    for place in range(m):
        factor = master.column[place]
        if place != leaving and factor != 0.0:
            for row in range(m):
                master.inverse[place, row] -= factor * master.inverse[leaving, row]


@compiled
def _rest(program: Program, master: Master, variable: int, fall: float) -> None:
    """A variable leaves the basis: a ranking at 0, a slack on the edge that it reached."""
    if variable >= 0:
        master.basic[variable] = False
        return
    category = -1 - variable
    master.slack_basic[category] = False
    if master.piece[category] == INSIDE and fall > 0.0:
        master.edge[category] = program.low[category]


@compiled
def _unrest(program: Program, master: Master, category: int, direction: float) -> float:
    """A slack leaves its edge for the piece on that side; returns where it stands, counted from the piece's edge."""
    master.slack_basic[category] = True
    low = program.low[category]
    high = program.high[category]
    at_low = low < high and master.edge[category] == low
    if direction > 0.0:
        _set_piece(program, master, category, INSIDE if at_low else ABOVE)
        return low - high if at_low else 0.0
    _set_piece(program, master, category, BELOW if at_low or low == high else INSIDE)
    return 0.0


@compiled
def keep_basic(master: Master) -> None:
    """Make room in a full pool: the rankings in the basis stay, the others can be found again."""
    kept = 0
    for ranking in range(master.counts[RANKINGS_FOUND]):
        if master.basic[ranking]:
            for place in range(master.basis.size):
                if master.basis[place] == ranking:
                    master.basis[place] = kept
            for rank in range(master.rankings.shape[1]):
                master.rankings[kept, rank] = master.rankings[ranking, rank]
            for category in range(master.edge.size):
                master.shares[category, kept] = master.shares[category, ranking]
            master.values[kept] = master.values[ranking]
            kept += 1
    for ranking in range(master.counts[RANKINGS_FOUND]):
        master.basic[ranking] = ranking < kept
    master.counts[RANKINGS_FOUND] = kept


@compiled
def refactorise(master: Master) -> bool:
    """Invert the basis anew by Gauss–Jordan with row pivots, and recompute the levels; False if it is singular."""
    m = master.basis.size
    work = master.work
    for row in range(m):
        for place in range(m):
            work[row, place] = _entry(master, row, place)
            work[row, m + place] = 1.0 if row == place else 0.0
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
            master.inverse[place, row] = work[place, m + row]
            level += work[place, m + row] * (master.edge[row] if row < m - 1 else 1.0)
        master.levels[place] = level
    master.counts[PIVOTS_SINCE] = 0
    return True


@compiled
def _entry(master: Master, row: int, place: int) -> float:
    """The basis matrix: a ranking's shares and 1, or −1 in a slack's own row."""
    variable = master.basis[place]
    if variable >= 0:
        return 1.0 if row == master.edge.size else float(master.shares[row, variable])
    return -1.0 if row == -1 - variable else 0.0


@compiled
def _eliminate(work: Floats, pivot: int, largest: int) -> None:
    m = work.shape[0]
    for column in range(2 * m):
        kept = work[pivot, column]
        work[pivot, column] = work[largest, column]
        work[largest, column] = kept
    scale = 1.0 / work[pivot, pivot]
    for column in range(2 * m):
        work[pivot, column] *= scale
    for row in range(m):
        factor = work[row, pivot]
        if row != pivot and factor != 0.0:
            for column in range(2 * m):
                work[row, column] -= factor * work[pivot, column]
