"""Many users in one call of the kernel: contiguous ranges of users in, their lotteries out, without the GIL.

Users' candidates lie one after another, and a candidate is a row of a shared table of items. For a plain problem with
a trade-off between 0 and 1 a user gets bit for bit what :func:`excalibr.solver.solve` gives: it is the same code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from excalibr._arrays import frozen
from excalibr._jit import FLOAT, FLOAT_ROWS, FLOATS, INTEGER, INTEGERS, compiled, entry, lean, record
from excalibr._types import PLACE, Floats, Integers
from excalibr.solver import engines
from excalibr.solver.kernel import STALLED, close_program, solve_program
from excalibr.solver.master import new_pool
from excalibr.solver.ordering import new_spare, sort_afresh
from excalibr.solver.path import RANKINGS_KEPT

__all__ = ["BY_RELEVANCE", "LEFT_OUT", "SOLVED", "Users", "measure_range", "prepare_ranges", "solve_range"]

LEFT_OUT, SOLVED, BY_RELEVANCE = 0, 1, 2
"""What is asked for a user: nothing, the optimum, or the order of the scores."""

_new_pool = compiled(new_pool)
_prefers_simplex = compiled(engines.prefers_simplex)


class Users(NamedTuple):
    """The problems of many users, in read-only arrays.

    User u has the candidates ``starts[u]`` to ``starts[u + 1]``. Candidate c has the score ``scores[c]`` and is the row
    ``items[c]`` of the sparse shares ``indptr``, ``indices``, ``values``. The ``slots[u]`` slots of user u have the
    weights from ``weight_starts[u]`` on.
    """

    scores: Floats
    starts: Integers
    items: Integers
    indptr: Integers
    indices: Integers
    values: Floats
    targets: Floats
    trade_offs: Floats
    slots: Integers
    weight_starts: Integers
    position_weights: Floats


class Own(NamedTuple):
    """One user's program, as the kernel takes it."""

    gains: Floats
    indptr: Integers
    indices: Integers
    values: Floats
    penalty: Floats
    position_weights: Floats


_ITEMS = (FLOATS, INTEGERS, INTEGERS, INTEGERS, INTEGERS, FLOATS)
_USERS = record(Users, *_ITEMS, FLOAT_ROWS, FLOATS, INTEGERS, INTEGERS, FLOATS)


@entry(_USERS, INTEGERS, FLOAT, INTEGER, INTEGER, INTEGER, calls=(solve_program, close_program))
def solve_range(
    solve: Any, close: Any, users: Users, asked: Integers, tolerance: float, max_sorts: int, first: int, last: int
) -> tuple[Integers, Floats, Integers, Floats, Floats]:
    """Solve the users from ``first`` to ``last`` − 1; ``solve`` and ``close`` are the kernel's doors for one user.

    Returns their rankings, one after another; the rankings' weights; how many each user has; prices (users, r); gaps.
    """
    counts = np.zeros(last - first, dtype=np.int64)
    prices = np.zeros((last - first, users.targets.shape[1]))
    gaps = np.full(last - first, np.nan)
    places = np.empty(4 * _total(users.slots, first, last), dtype=np.int64)
    weights = np.empty(4 * (last - first))
    filled = 0
    drawn = 0
    scratch = _scratch(users, first, last)
    for user in range(first, last):
        if asked[user] == LEFT_OUT:
            continue
        if asked[user] == SOLVED:
            own = _own(users, user, scratch)
            rankings, chances, paid, gap = _solve_one(solve, close, own, tolerance, max_sorts)
            prices[user - first] = paid
            gaps[user - first] = gap
        else:
            rankings, chances = _relevance_order(users, user), np.ones(1)
        counts[user - first] = chances.size
        places = _with_room(places, filled, rankings.size)
        weights = _with_room(weights, drawn, chances.size)
        places[filled : filled + rankings.size] = rankings.ravel()
        weights[drawn : drawn + chances.size] = chances
        filled += rankings.size
        drawn += chances.size
    return places[:filled].copy(), weights[:drawn].copy(), counts, prices, gaps


@entry(_USERS, INTEGERS, FLOATS, INTEGERS, INTEGER, INTEGER)
def measure_range(users: Users, places: Integers, weights: Floats, counts: Integers, first: int, last: int) -> Floats:
    """What the lotteries of :func:`solve_range` do, (users, 6).

    Columns: relevance and deviation of the order by scores; relevance and deviation of the lottery in expectation;
    the mean and the largest deviation of a draw. Users without a ranking have nan.
    """
    measured = np.full((last - first, 6), np.nan)
    shares = np.empty(users.targets.shape[1])
    filled = 0
    drawn = 0
    for user in range(first, last):
        count = counts[user - first]
        if not count:
            continue
        row = measured[user - first]
        k = users.slots[user]
        shares[:] = 0.0
        row[0] = _expose(users, user, _relevance_order(users, user)[0], 1.0, shares)
        row[1] = _distance(shares, users.targets[user])
        rankings = places[filled : filled + count * k].reshape((count, k))
        _measure_lottery(users, user, rankings, weights[drawn : drawn + count], shares, row)
        filled += count * k
        drawn += count
    return measured


def prepare_ranges() -> None:
    """Have both compiled, or loaded from the machine's cache."""
    none, nothing = frozen(np.empty(0, dtype=np.int64)), frozen(np.empty(0))
    start, target = frozen(np.zeros(1, dtype=np.int64)), frozen(np.empty((0, 1)))
    users = Users(nothing, start, none, start, none, nothing, target, nothing, none, none, nothing)
    kernel: Any = solve_range
    kernel(users, none, 1e-9, 1, 0, 0)
    measure_range(users, none, nothing, none, 0, 0)


@compiled
def _solve_one(
    solve: Any, close: Any, own: Own, tolerance: float, max_sorts: int
) -> tuple[Integers, Floats, Floats, float]:
    """The choice of :func:`excalibr.solver.engines.answer`: the quicker engine, the simplex where that one stalls."""
    r, k = own.penalty.shape[1], own.position_weights.size
    rankings, weights, prices = np.empty((0, 0), dtype=np.int64), np.empty(0), np.empty(0)
    starts, gap, status, sorts = np.empty((0, 0)), np.inf, STALLED, 0
    if not _prefers_simplex(own.gains, own.penalty, k):
        rankings, weights, prices, gap, status, sorts = solve(
            *(own.gains, own.indptr, own.indices, own.values, own.penalty, own.position_weights, tolerance, max_sorts)
        )
        starts = prices.reshape((1, r))
    if status != STALLED or sorts >= max_sorts:
        return rankings, weights, prices, gap
    none = np.empty(0, dtype=np.int64)
    pool = _new_pool(k, r, weights.size)
    found = close(
        *(own.gains, own.indptr, own.indices, own.values, own.penalty.reshape((1, 6, r)), own.position_weights),
        *(np.ones(1), tolerance, max_sorts - sorts, none, none, rankings, starts),
        *(pool.rankings, pool.shares, pool.relevance, pool.basis, pool.piece, pool.counts),
    )
    if found[3][0] >= gap:
        return rankings, weights, prices, gap
    count = found[4][0, RANKINGS_KEPT]
    return found[0][0, :count].copy(), found[1][0, :count].copy(), found[2][0].copy(), found[3][0]


@compiled
def _scratch(users: Users, first: int, last: int) -> Own:
    """Buffers for the largest user of a range; the position weights stay where they are."""
    most = 0
    entries = 0
    for user in range(first, last):
        most = max(most, users.starts[user + 1] - users.starts[user])
        held = 0
        for candidate in range(users.starts[user], users.starts[user + 1]):
            held += users.indptr[users.items[candidate] + 1] - users.indptr[users.items[candidate]]
        entries = max(entries, held)
    indptr, indices = np.zeros(most + 1, dtype=np.int64), np.empty(entries, dtype=np.int64)
    penalty = np.zeros((6, users.targets.shape[1]))
    return Own(np.empty(most), indptr, indices, np.empty(entries), penalty, users.position_weights)


@compiled
def _own(users: Users, user: int, scratch: Own) -> Own:
    """One user's program in the buffers: gains, the rows of the user's items, and λ·Σ|p − q| as a penalty."""
    begin, n, trade_off = users.starts[user], users.starts[user + 1] - users.starts[user], users.trade_offs[user]
    held = 0
    for place in range(n):
        item = users.items[begin + place]
        scratch.gains[place] = (1.0 - trade_off) * users.scores[begin + place]
        for entry_of_item in range(users.indptr[item], users.indptr[item + 1]):
            scratch.indices[held] = users.indices[entry_of_item]
            scratch.values[held] = users.values[entry_of_item]
            held += 1
        scratch.indptr[place + 1] = held
    for category in range(scratch.penalty.shape[1]):
        scratch.penalty[0, category] = scratch.penalty[1, category] = users.targets[user, category]
        scratch.penalty[2, category] = scratch.penalty[3, category] = trade_off
    return Own(
        scratch.gains[:n],
        scratch.indptr[: n + 1],
        scratch.indices[:held],
        scratch.values[:held],
        scratch.penalty,
        _weights_of(users, user),
    )


@compiled
def _measure_lottery(users: Users, user: int, rankings: Integers, weights: Floats, shares: Floats, row: Floats) -> None:
    """What a user's lottery does, to the last four places of the row; ``shares`` is used."""
    target = users.targets[user]
    row[2:] = 0.0
    for ranking in range(weights.size):
        shares[:] = 0.0
        row[2] += weights[ranking] * _expose(users, user, rankings[ranking], 1.0, shares)
        off = _distance(shares, target)
        row[4] += weights[ranking] * off
        row[5] = max(row[5], off)
    shares[:] = 0.0
    for ranking in range(weights.size):
        _expose(users, user, rankings[ranking], weights[ranking], shares)
    row[3] = _distance(shares, target)


@compiled
def _relevance_order(users: Users, user: int) -> Integers:
    """(1, k) the best scores in the heaviest slots, ties by the lower index."""
    scores, share = users.scores[users.starts[user] : users.starts[user + 1]], _weights_of(users, user)
    order = np.arange(scores.size, dtype=PLACE)
    sort_afresh(scores, order, new_spare(scores.size), scores.size)
    heaviest = np.arange(share.size, dtype=PLACE)
    sort_afresh(share, heaviest, new_spare(share.size), share.size)
    ranking = np.empty((1, share.size), dtype=np.int64)
    for rank in range(share.size):
        ranking[0, heaviest[rank]] = order[rank]
    return ranking


@lean
def _expose(users: Users, user: int, ranking: Integers, chance: float, shares: Floats) -> float:
    """Add what a ranking shows of each category, with this chance, to ``shares``; returns its weighted score."""
    share = _weights_of(users, user)
    relevance = 0.0
    for slot in range(share.size):
        candidate = users.starts[user] + ranking[slot]
        item = users.items[candidate]
        relevance += share[slot] * users.scores[candidate]
        for place in range(users.indptr[item], users.indptr[item + 1]):
            shares[users.indices[place]] += chance * share[slot] * users.values[place]
    return relevance


@compiled
def _weights_of(users: Users, user: int) -> Floats:
    """The weights of a user's slots."""
    return users.position_weights[users.weight_starts[user] : users.weight_starts[user] + users.slots[user]]


@lean
def _distance(shares: Floats, target: Floats) -> float:
    """Σ|p − q|."""
    total = 0.0
    for category in range(target.size):
        total += abs(shares[category] - target[category])
    return total


@lean
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
