"""The pivots of the master program: a primal simplex method whose slacks may cross the kinks of their costs.

The entering variable moves on past a kink as long as the way is still worth it, so that a category's share goes from
below its target to above without a pivot. Rankings of the pool are priced all together only now and then; in between
the few that looked best are tried.
"""

from __future__ import annotations

from excalibr._jit import inlined
from excalibr._types import Booleans, Floats, Integers
from excalibr.solver.master import (
    ABOVE,
    BELOW,
    INSIDE,
    LONGEST_LIST,
    PIVOTS,
    PIVOTS_SINCE,
    RANKINGS_FOUND,
    Master,
    price_basis,
    refactorise,
)
from excalibr.solver.program import Program

__all__ = ["optimise"]

REFACTOR_EVERY = 40
SMALL_PIVOT = 1e-10
WORTH_ENTERING = 1e-11
WORTH_LISTING = 0.2
NO_END = 1e300

# what ends the way of an entering variable, other than a place of the basis
ENTERING = -1
NOBODY = -2


@inlined
def optimise(program: Program, master: Master, newest: int, max_pivots: int, passes: int) -> bool:
    """Pivot until no ranking of the pool and no slack is worth entering; False if that was not reached.

    ``newest`` is a ranking to try before the whole pool is priced, or -1. After ``passes`` pricings of the whole pool
    it is left at that: another sort is then worth more than the last pivots.
    """
    values, shares, basic, listed = master.values, master.shares, master.basic, master.listed
    prices, earns = master.prices, master.earns
    count = 0
    if newest >= 0:
        listed[0] = newest
        count = 1
    whole = newest < 0
    for _ in range(max_pivots):
        if whole:
            count = _list_best(values, shares, prices, basic, earns, listed, master.counts[RANKINGS_FOUND])
        entering, reduced = _best_listed(listed, count, values, shares, prices, basic)
        slack, direction, slack_reduced = _best_slack(
            program.low, program.high, program.below, program.above, prices, master.piece, master.slack_basic
        )
        if slack_reduced > reduced:
            entering = slack
            reduced = slack_reduced
        else:
            direction = 1.0
        if reduced > WORTH_ENTERING:
            whole = False
            if not _pivot(program, master, entering, direction, reduced):
                return False
        elif whole or passes == 0:
            return True
        else:
            passes -= 1
            whole = True
    return False


@inlined
def _pivot(program: Program, master: Master, entering: int, direction: float, reduced: float) -> bool:
    """Bring a variable into the basis; False if nothing ends its way or the basis is singular."""
    low, high = program.low, program.high
    basis, piece, edge = master.basis, master.piece, master.edge
    basic, slack_basic = master.basic, master.slack_basic
    prices, levels, column, inverse = master.prices, master.levels, master.column, master.inverse
    _entering_column(inverse, master.shares, entering, direction, column)
    leaving, length, reduced = _advance(
        *(low, high, program.below, program.above, basis, piece, edge, levels, column, inverse, prices),
        *(entering, direction, reduced),
    )
    if leaving == NOBODY:
        return False
    if leaving != ENTERING:
        _rest(low, high, basis[leaving], column[leaving], basic, slack_basic, piece, edge)
        levels[leaving] = length
        if entering >= 0:
            basic[entering] = True
        else:
            levels[leaving] = direction * length
            levels[leaving] += _unrest(low, high, -1 - entering, direction, slack_basic, piece, edge)
        basis[leaving] = entering
        _exchange(inverse, column, prices, leaving, direction, reduced)
    master.counts[PIVOTS] += 1
    master.counts[PIVOTS_SINCE] += 1
    regular = True
    if master.counts[PIVOTS_SINCE] >= REFACTOR_EVERY:
        regular = refactorise(master)
        price_basis(program, master)
    return regular


@inlined
def _list_best(
    values: Floats, shares: Floats, prices: Floats, basic: Booleans, earns: Floats, listed: Integers, found: int
) -> int:
    """Price the whole pool and list the rankings that earn nearly as much as the best; returns how many."""
    r = shares.shape[0]
    for ranking in range(found):
        earns[ranking] = values[ranking] - prices[r]
    for category in range(r):
        price = prices[category]
        if price != 0.0:
            for ranking in range(found):
                earns[ranking] -= price * shares[category, ranking]
    best = 0.0
    for ranking in range(found):
        best = max(best, earns[ranking])
    count = 0
    least = max(WORTH_LISTING * best, WORTH_ENTERING)
    for ranking in range(found):
        if earns[ranking] > least and not basic[ranking]:
            place = count
            while place > 0 and earns[listed[place - 1]] < earns[ranking]:
                listed[place] = listed[place - 1]
                place -= 1
            listed[place] = ranking
            count = min(count + 1, LONGEST_LIST)
    return count


@inlined
def _best_listed(
    listed: Integers, count: int, values: Floats, shares: Floats, prices: Floats, basic: Booleans
) -> tuple[int, float]:
    """The listed ranking that earns most a unit at the present prices, and what it earns."""
    r = shares.shape[0]
    best = 0.0
    entering = 0
    for place in range(count):
        ranking = listed[place]
        if basic[ranking]:
            continue
        earns = values[ranking] - prices[r]
        for category in range(r):
            earns -= prices[category] * shares[category, ranking]
        if earns > best:
            best = earns
            entering = ranking
    return entering, best


@inlined
def _best_slack(
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    prices: Floats,
    piece: Integers,
    slack_basic: Booleans,
) -> tuple[int, float, float]:
    """The resting slack that earns most a unit, the direction in which it does, and what it earns."""
    best = 0.0
    entering = -1
    direction = 1.0
    for category in range(piece.size):
        if not slack_basic[category]:
            price = prices[category]
            up = price - above[category]
            down = -price - below[category]
            if low[category] < high[category]:  # inside its band a share costs nothing
                if piece[category] == BELOW:
                    up = price
                else:
                    down = -price
            if max(up, down) > best:
                best = max(up, down)
                entering = -1 - category
                direction = 1.0 if up >= down else -1.0
    return entering, direction, best


@inlined
def _entering_column(inverse: Floats, shares: Floats, entering: int, direction: float, column: Floats) -> None:
    """How fast each basic variable falls as the entering one moves."""
    m = column.size
    row = m - 1 if entering >= 0 else -1 - entering
    sign = 1.0 if entering >= 0 else -direction
    for place in range(m):
        column[place] = sign * inverse[row, place]
    for category in range(m - 1 if entering >= 0 else 0):
        share = shares[category, entering]
        if share != 0.0:
            for place in range(m):
                column[place] += share * inverse[category, place]


@inlined
def _advance(
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
    basis: Integers,
    piece: Integers,
    edge: Floats,
    levels: Floats,
    column: Floats,
    inverse: Floats,
    prices: Floats,
    entering: int,
    direction: float,
    reduced: float,
) -> tuple[int, float, float]:
    """Move the entering variable as far as it is worth it, over kinks of the slacks' costs.

    Returns the place that it takes (ENTERING if it ends as a resting slack again, NOBODY if nothing ends its way), how
    far it went and what it still earned a unit there.
    """
    room = NO_END
    if entering < 0:  # a slack that enters its band ends at the band's other edge
        at_low = piece[-1 - entering] == BELOW
        if low[-1 - entering] < high[-1 - entering] and at_low == (direction > 0.0):
            room = high[-1 - entering] - low[-1 - entering]
    gone = 0.0
    while True:
        leaving, length = _leaving(low, high, basis, piece, levels, column)
        if leaving < 0 and room == NO_END:
            return NOBODY, gone, reduced
        crosses = gone + length >= room
        length = room - gone if crosses else length
        gone += length
        for place in range(column.size):
            levels[place] -= length * column[place]
        if crosses:
            piece[-1 - entering] = ABOVE if direction > 0.0 else BELOW
            edge[-1 - entering] = high[-1 - entering] if direction > 0.0 else low[-1 - entering]
            return ENTERING, gone, reduced
        if basis[leaving] >= 0:
            return leaving, gone, reduced
        category = -1 - basis[leaving]
        fall = column[leaving]
        kink = _kink(low[category], high[category], below[category], above[category], piece[category], fall > 0.0)
        if reduced - abs(fall) * kink <= WORTH_ENTERING:
            return leaving, gone, reduced
        reduced -= abs(fall) * kink
        change = kink if fall > 0.0 else -kink
        for row in range(column.size):
            prices[row] += change * inverse[row, leaving]
        levels[leaving] = _cross(low, high, category, fall > 0.0, piece, edge)


@inlined
def _leaving(
    low: Floats, high: Floats, basis: Integers, piece: Integers, levels: Floats, column: Floats
) -> tuple[int, float]:
    """The basic variable that first reaches the end of its piece, by the larger pivot in a tie; -1 if none does."""
    shortest = NO_END
    leaving = -1
    for place in range(basis.size):
        fall = column[place]
        if abs(fall) <= SMALL_PIVOT:
            continue
        variable = basis[place]
        if variable >= 0:
            room = _room(ABOVE, 0.0, levels[place], fall)
        else:
            category = -1 - variable
            room = _room(piece[category], high[category] - low[category], levels[place], fall)
        if room < 0.0:
            continue
        length = room / abs(fall)
        if length < shortest - 1e-14 or (length <= shortest + 1e-14 and abs(fall) > abs(column[leaving])):
            shortest = min(length, shortest)
            leaving = place
    return leaving, max(shortest, 0.0)


@inlined
def _room(piece: int, width: float, level: float, fall: float) -> float:
    """How far a basic variable can go in its direction before its piece ends; -1 for no end.

    A ranking's weight is like a slack above its edge: it ends at 0.
    """
    if piece == ABOVE:
        return max(level, 0.0) if fall > 0.0 else -1.0
    if piece == BELOW:
        return max(-level, 0.0) if fall < 0.0 else -1.0
    return max(width + level, 0.0) if fall > 0.0 else max(-level, 0.0)


@inlined
def _kink(low: float, high: float, below: float, above: float, piece: int, downwards: bool) -> float:
    """How much less a basic slack earns a unit of its way beyond the end of its piece."""
    if low == high:
        return below + above
    return above if piece == (ABOVE if downwards else INSIDE) else below


@inlined
def _cross(low: Floats, high: Floats, category: int, downwards: bool, piece: Integers, edge: Floats) -> float:
    """A basic slack goes over to the next piece; returns where it stands, counted from that piece's edge."""
    stands = 0.0
    if low[category] < high[category] and piece[category] != INSIDE:
        piece[category] = INSIDE
        edge[category] = high[category]
        stands = 0.0 if downwards else low[category] - high[category]
    else:
        piece[category] = BELOW if downwards else ABOVE
        edge[category] = low[category] if downwards else high[category]
    return stands


@inlined
def _exchange(inverse: Floats, column: Floats, prices: Floats, leaving: int, direction: float, reduced: float) -> None:
    """The entering variable takes the leaving one's place: inverse and prices follow. Changes ``column``."""
    m = column.size
    scale = direction / column[leaving]
    for place in range(m):
        column[place] *= direction
    column[leaving] = 0.0
    for row in range(m):
        factor = scale * inverse[row, leaving]
        if factor != 0.0:
            for place in range(m):
                inverse[row, place] -= factor * column[place]
            inverse[row, leaving] = factor
            prices[row] += direction * reduced * factor


@inlined
def _rest(
    low: Floats,
    high: Floats,
    variable: int,
    fall: float,
    basic: Booleans,
    slack_basic: Booleans,
    piece: Integers,
    edge: Floats,
) -> None:
    """A variable leaves the basis: a ranking at 0, a slack on the edge that it reached."""
    if variable >= 0:
        basic[variable] = False
    else:
        category = -1 - variable
        slack_basic[category] = False
        if piece[category] == INSIDE:
            piece[category] = BELOW if fall > 0.0 else ABOVE
            edge[category] = low[category] if fall > 0.0 else high[category]


@inlined
def _unrest(
    low: Floats,
    high: Floats,
    category: int,
    direction: float,
    slack_basic: Booleans,
    piece: Integers,
    edge: Floats,
) -> float:
    """A slack leaves its edge for the piece on that side; returns where it stood, counted from the piece's edge."""
    slack_basic[category] = True
    at_low = piece[category] == BELOW
    stood = 0.0
    if low[category] < high[category] and at_low == (direction > 0.0):
        piece[category] = INSIDE
        edge[category] = high[category]
        stood = low[category] - high[category] if at_low else 0.0
    else:
        piece[category] = ABOVE if direction > 0.0 else BELOW
        edge[category] = high[category] if direction > 0.0 else low[category]
    return stood
