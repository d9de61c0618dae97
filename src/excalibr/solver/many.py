"""Many users in one call of the kernel: contiguous ranges of users in, their lotteries out, without the GIL.

Users' candidates lie one after another, and a candidate is a row of a shared table of items. For a plain problem with
a trade-off between 0 and 1 a user gets bit for bit what :func:`excalibr.solver.solve` gives: it is the same code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.solver.jit import FLOAT, FLOATS, INTEGER, INTEGERS, TABLE, compiled, entry, inner
from excalibr.solver.kernel import STALLED, close_program, solve_program
from excalibr.solver.ordering import sort_afresh

__all__ = ["BY_RELEVANCE", "LEFT_OUT", "SOLVED", "measure_range", "prepare_ranges", "solve_range"]

LEFT_OUT, SOLVED, BY_RELEVANCE = 0, 1, 2
"""What is asked for a user: nothing, the optimum, or the order of the scores."""

_solve_program = inner(solve_program)
_close_program = inner(close_program)

_USERS = (FLOATS, INTEGERS, INTEGERS, INTEGERS, INTEGERS, FLOATS, TABLE, FLOATS, INTEGERS, INTEGERS, FLOATS)


class Scratch(NamedTuple):
    """One user's problem, in buffers that are as long as the largest user of the range needs."""

    gains: Floats
    indptr: Integers
    indices: Integers
    values: Floats


@entry(*_USERS, INTEGERS, FLOAT, INTEGER, INTEGER, INTEGER, INTEGER)
def solve_range(
    scores: Floats,
    starts: Integers,
    items: Integers,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    targets: Floats,
    trade_offs: Floats,
    slots: Integers,
    weight_starts: Integers,
    position_weights: Floats,
    asked: Integers,
    tolerance: float,
    max_sorts: int,
    few_categories: int,
    first: int,
    last: int,
) -> tuple[Integers, Floats, Integers, Floats, Floats]:
    """Solve the users from ``first`` to ``last`` − 1.

    Returns their rankings, one after another; the rankings' weights; how many each user has; prices (users, r); gaps.
    """
    users = last - first
    counts = np.zeros(users, dtype=np.int64)
    prices = np.zeros((users, targets.shape[1]))
    gaps = np.full(users, np.nan)
    places = np.empty(4 * _total(slots, first, last), dtype=np.int64)
    weights = np.empty(4 * users)
    filled = 0
    drawn = 0
    scratch = _scratch(starts, items, indptr, first, last)
    for user in range(first, last):
        if asked[user] == LEFT_OUT:
            continue
        share = position_weights[weight_starts[user] : weight_starts[user] + slots[user]]
        _load(scores, starts, items, indptr, indices, values, trade_offs[user], user, scratch)
        n = starts[user + 1] - starts[user]
        if asked[user] == SOLVED:
            rankings, chances, paid, gap = _solve_one(
                scratch, n, targets[user], trade_offs[user], share, tolerance, max_sorts, few_categories
            )
            prices[user - first] = paid
            gaps[user - first] = gap
        else:
            rankings = np.empty((1, slots[user]), dtype=np.int64)
            _relevance_order(scores[starts[user] : starts[user + 1]], share, rankings[0])
            chances = np.ones(1)
        counts[user - first] = chances.size
        places = _with_room(places, filled, rankings.size)
        weights = _with_room(weights, drawn, chances.size)
        places[filled : filled + rankings.size] = rankings.ravel()
        weights[drawn : drawn + chances.size] = chances
        filled += rankings.size
        drawn += chances.size
    return places[:filled].copy(), weights[:drawn].copy(), counts, prices, gaps


@entry(*_USERS, INTEGERS, FLOATS, INTEGERS, INTEGER, INTEGER)
def measure_range(
    scores: Floats,
    starts: Integers,
    items: Integers,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    targets: Floats,
    trade_offs: Floats,
    slots: Integers,
    weight_starts: Integers,
    position_weights: Floats,
    places: Integers,
    weights: Floats,
    counts: Integers,
    first: int,
    last: int,
) -> Floats:
    """What the lotteries of :func:`solve_range` do, (users, 6).

    Columns: relevance and deviation of the order by scores; relevance and deviation of the lottery in expectation;
    the mean and the largest deviation of a draw. Users without a ranking have nan.
    """
    measured = np.full((last - first, 6), np.nan)
    r = targets.shape[1]
    expected = np.empty(r)
    shares = np.empty(r)
    filled = 0
    drawn = 0
    for user in range(first, last):
        if not counts[user - first]:
            continue
        row = measured[user - first]
        k = slots[user]
        begin = starts[user]
        share = position_weights[weight_starts[user] : weight_starts[user] + k]
        before = np.empty(k, dtype=np.int64)
        _relevance_order(scores[begin : starts[user + 1]], share, before)
        shares[:] = 0.0
        row[0] = _expose(scores, items, indptr, indices, values, begin, before, share, shares)
        row[1] = _distance(shares, targets[user])
        row[2] = 0.0
        row[4] = 0.0
        row[5] = 0.0
        expected[:] = 0.0
        for ranking in range(counts[user - first]):
            shown = places[filled + ranking * k : filled + (ranking + 1) * k]
            chance = weights[drawn + ranking]
            shares[:] = 0.0
            row[2] += chance * _expose(scores, items, indptr, indices, values, begin, shown, share, shares)
            for category in range(r):
                expected[category] += chance * shares[category]
            off = _distance(shares, targets[user])
            row[4] += chance * off
            row[5] = max(row[5], off)
        row[3] = _distance(expected, targets[user])
        filled += counts[user - first] * k
        drawn += counts[user - first]
    return measured


def prepare_ranges() -> None:
    """Have both compiled, or loaded from the machine's cache."""
    none, nothing, start = np.empty(0, dtype=np.int64), np.empty(0), np.zeros(1, dtype=np.int64)
    arrays = (nothing, start, none, start, none, nothing, np.empty((0, 1)), nothing, none, none, nothing)
    solve_range(*arrays, none, 1e-9, 1, 1, 0, 0)
    measure_range(*arrays, none, nothing, none, 0, 0)


@compiled
def _solve_one(
    scratch: Scratch,
    n: int,
    target: Floats,
    trade_off: float,
    share: Floats,
    tolerance: float,
    max_sorts: int,
    few_categories: int,
) -> tuple[Integers, Floats, Floats, float]:
    """The choice of ``engines.answer``, in the kernel: the quicker method, column generation where it stalls."""
    entries = scratch.indptr[n]
    gains, indptr = scratch.gains[:n], scratch.indptr[: n + 1]
    indices, values = scratch.indices[:entries], scratch.values[:entries]
    penalty = np.zeros((6, target.size))
    for category in range(target.size):
        penalty[0, category] = penalty[1, category] = target[category]
        penalty[2, category] = penalty[3, category] = trade_off
    rankings = np.empty((0, 0), dtype=np.int64)
    prices = np.empty(0)
    weights = np.empty(0)
    gap = np.inf
    status = STALLED
    sorts = 0
    if target.size > few_categories:
        rankings, weights, prices, gap, status, sorts = _solve_program(
            gains, indptr, indices, values, penalty, share, tolerance, max_sorts
        )
    if status == STALLED and sorts < max_sorts:
        closed = _close_program(
            gains, indptr, indices, values, penalty, share, tolerance, max_sorts - sorts, rankings, prices
        )
        if closed[3] < gap:
            return closed[0], closed[1], closed[2], closed[3]
    return rankings, weights, prices, gap


@compiled
def _scratch(starts: Integers, items: Integers, indptr: Integers, first: int, last: int) -> Scratch:
    """Buffers for the largest user of a range."""
    most = 0
    entries = 0
    for user in range(first, last):
        most = max(most, starts[user + 1] - starts[user])
        held = 0
        for candidate in range(starts[user], starts[user + 1]):
            held += indptr[items[candidate] + 1] - indptr[items[candidate]]
        entries = max(entries, held)
    return Scratch(
        np.empty(most), np.zeros(most + 1, dtype=np.int64), np.empty(entries, dtype=np.int64), np.empty(entries)
    )


@compiled
def _load(
    scores: Floats,
    starts: Integers,
    items: Integers,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    trade_off: float,
    user: int,
    scratch: Scratch,
) -> None:
    """Copy one user's gains and the rows of the user's items into the buffers."""
    begin = starts[user]
    held = 0
    for place in range(starts[user + 1] - begin):
        item = items[begin + place]
        scratch.gains[place] = (1.0 - trade_off) * scores[begin + place]
        for entry_of_item in range(indptr[item], indptr[item + 1]):
            scratch.indices[held] = indices[entry_of_item]
            scratch.values[held] = values[entry_of_item]
            held += 1
        scratch.indptr[place + 1] = held


@compiled
def _relevance_order(scores: Floats, share: Floats, ranking: Integers) -> None:
    """The best scores in the heaviest slots, ties by the lower index."""
    order = np.arange(scores.size)
    sort_afresh(scores, order, np.empty(scores.size, dtype=np.int64), scores.size)
    heaviest = np.arange(share.size)
    sort_afresh(share, heaviest, np.empty(share.size, dtype=np.int64), share.size)
    for rank in range(share.size):
        ranking[heaviest[rank]] = order[rank]


@compiled
def _expose(
    scores: Floats,
    items: Integers,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    begin: int,
    ranking: Integers,
    share: Floats,
    shares: Floats,
) -> float:
    """Add what a ranking shows of each category to ``shares``; returns its position-weighted score."""
    relevance = 0.0
    for slot in range(share.size):
        candidate = begin + ranking[slot]
        item = items[candidate]
        relevance += share[slot] * scores[candidate]
        for place in range(indptr[item], indptr[item + 1]):
            shares[indices[place]] += share[slot] * values[place]
    return relevance


@compiled
def _distance(shares: Floats, target: Floats) -> float:
    """Σ|p − q|."""
    total = 0.0
    for category in range(target.size):
        total += abs(shares[category] - target[category])
    return total


@compiled
def _total(slots: Integers, first: int, last: int) -> int:
    """Sum of the slots of a range of users."""
    total = 0
    for user in range(first, last):
        total += slots[user]
    return total


@compiled
def _with_room(buffer: Any, filled: int, more: int) -> Any:
    """The buffer, or a copy twice as long where ``more`` entries would not fit."""
    if filled + more <= buffer.size:
        return buffer
    longer = np.empty(2 * (filled + more), dtype=buffer.dtype)
    longer[:filled] = buffer[:filled]
    return longer
