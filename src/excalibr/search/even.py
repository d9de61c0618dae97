"""A lottery with the same expectation whose rankings are each as close to the target as can be found.

Column generation: a small linear program mixes the rankings found so far to the wanted expectation at the least mean
penalty of a draw, and its prices tell the local search which further rankings would help.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from excalibr._arrays import sums_by
from excalibr._types import Booleans, Floats, Integers
from excalibr.search.program import SearchProgram
from excalibr.search.single import affordable_descents, local_optima, ranking_charges, ranking_shares

__all__ = ["SLACK", "Lottery", "even_lottery"]

SLACK = 1e-3
"""How far the expectation may move: all shares together, and the relevance as a part of its spread."""

ROUNDS = 24
MARGIN = 1e-2
"""The part of the slack that is kept for the linear program's own tolerances."""

WORTHWHILE = 1e-7
"""A further ranking must promise this part of the largest charge."""

NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Lottery:
    """Rankings (L, k) in slot order with their probabilities (L,), largest first."""

    rankings: Integers
    weights: Floats


def even_lottery(
    program: SearchProgram,
    rankings: Integers,
    weights: Floats,
    relevance: Floats | None = None,
    slack: float = SLACK,
    hard: Booleans | None = None,
    rounds: int = ROUNDS,
) -> Lottery:
    r"""Keep a lottery's expectation, and lower the mean penalty of its draws.

    .. math::

        \min_\theta \sum_t \theta_t \,\mathrm{charged}(Q_t)
        \quad\text{with}\quad \Bigl\|\sum_t \theta_t\, p(Q_t) - p^*\Bigr\|_1 \le \text{slack} \cdot \sum_i e_i,
        \quad \Bigl|\sum_t \theta_t\, s^\top x(Q_t) - s^\top x^*\Bigr| \le \text{slack} \cdot \text{spread}

    where p* and x* are what the lottery does in expectation, charged is what the program charges for a ranking's own
    shares, and spread is the difference between the best and the worst relevance of any ranking.

    Parameters
    ----------
    program
        What a ranking is judged by; only its penalties count here, its gains stand in for ``relevance``.
    rankings, weights
        (L, k) and (L,): the lottery whose expectation is kept.
    relevance
        s, (n,): the scores whose expectation is kept; the program's gains when it is None.
    slack
        How far the expectation may move.
    hard
        (r,): categories whose band is a limit on the expectation: there the expected share must not leave it, slack or
        not, and a draw is not charged for it. None by default.
    rounds
        How many times further rankings are looked for.

    Returns
    -------
    Lottery
        At most r + 2 rankings; the mean charge of a draw is never above the given lottery's.
    """
    scores = program.gains if relevance is None else relevance
    weights = weights / weights.sum()
    if hard is not None:
        program = program._replace(below=np.where(hard, 0.0, program.below), above=np.where(hard, 0.0, program.above))
    plain = _measured(program, scores, rankings)
    if weights @ plain.charges == 0.0:
        return _better(plain, weights, plain, None)
    room = _room(program, scores, weights @ plain.shares, float(weights @ plain.relevances), slack, hard)
    columns = _joined(plain, _measured(program, scores, local_optima(program, rankings, len(rankings), 0)[0]))
    mixed = _mix(columns, room)
    smoothed = mixed
    for turn in range(rounds):
        if mixed is None or smoothed is None:
            break
        smoothed = _between(smoothed, mixed)
        new = _further_columns(program, scores, columns, mixed, smoothed, turn)
        if not len(new.charges):
            break
        columns = _joined(columns, new)
        mixed = _mix(columns, room) or mixed
    return _better(plain, weights, columns, mixed)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Rankings, and what each by itself gives (Aᵀx and s·x) and is charged."""

    rankings: Integers
    shares: Floats
    relevances: Floats
    charges: Floats


@dataclass(frozen=True, slots=True)
class _Room:
    """Where the expectation must be: its centre, how far each share may fall and rise, and how far all may together."""

    shares: Floats
    fall: Floats
    rise: Floats
    total: float
    relevance: float
    spread: float
    slack: float


@dataclass(frozen=True, slots=True)
class _Mixed:
    """Probabilities of the columns, and the prices of shares, relevance and probability that prove them best."""

    chances: Floats
    share_prices: Floats
    relevance_price: float
    level: float


def _measured(program: SearchProgram, scores: Floats, rankings: Integers) -> _Columns:
    shares = ranking_shares(program, rankings)
    relevances = scores[rankings] @ program.position_weights
    return _Columns(rankings, shares - program.base, relevances, ranking_charges(program, shares))


def _joined(first: _Columns, second: _Columns) -> _Columns:
    """Both sets of columns, each ranking once."""
    rankings = np.vstack([first.rankings, second.rankings])
    kept = np.sort(np.unique(rankings, axis=0, return_index=True)[1])
    return _Columns(
        rankings[kept],
        np.vstack([first.shares, second.shares])[kept],
        np.concatenate([first.relevances, second.relevances])[kept],
        np.concatenate([first.charges, second.charges])[kept],
    )


def _room(
    program: SearchProgram, scores: Floats, shares: Floats, relevance: float, slack: float, hard: Booleans | None
) -> _Room:
    slack = (1.0 - MARGIN) * slack
    total = slack * float(program.position_weights.sum())
    fall = rise = np.full(len(shares), total)
    if hard is not None:
        at = program.base + shares
        fall = np.where(hard, np.clip(at - program.low, 0.0, total), total)
        rise = np.where(hard, np.clip(program.high - at, 0.0, total), total)
    ordered, weights = np.sort(scores), np.sort(program.position_weights)
    k = len(weights)
    spread = float(ordered[-k:] @ weights - ordered[:k][::-1] @ weights)
    return _Room(shares, fall, rise, total, relevance, spread, slack)


def _mix(columns: _Columns, room: _Room) -> _Mixed | None:
    """The probabilities with the least mean charge that keep the expectation in its room; None if HiGHS finds none."""
    from scipy.optimize import linprog  # slow to import, and only some callers need it

    count, r = len(columns.charges), len(room.shares)
    unit = max(float(columns.charges.max()), 1e-300)
    spread = room.spread or 1.0
    costs = np.concatenate([columns.charges / unit, np.zeros(2 * r + 1)])
    equal = np.zeros((r + 2, count + 2 * r + 1))
    equal[:r, :count] = columns.shares.T
    equal[:r, count : count + r] = np.eye(r)
    equal[:r, count + r : count + 2 * r] = -np.eye(r)
    equal[r, :count] = (columns.relevances - room.relevance) / spread
    equal[r, -1] = -1.0
    equal[r + 1, :count] = 1.0
    moved = np.concatenate([np.zeros(count), np.ones(2 * r), [0.0]])[None]
    bounds = [(0.0, None)] * count + [(0.0, most) for most in (*room.fall, *room.rise)] + [(-room.slack, room.slack)]
    answer = linprog(
        costs, moved, [room.total], equal, np.concatenate([room.shares, [0.0, 1.0]]), bounds, method="highs-ds"
    )
    if answer.status != 0 or answer.x is None:
        return None
    prices = unit * np.asarray(answer.eqlin.marginals)
    price = float(prices[r]) / spread
    chances = np.maximum(answer.x[:count], 0.0)
    return _Mixed(chances, prices[:r], price, float(prices[r + 1]) - price * room.relevance)


def _between(before: _Mixed, now: _Mixed) -> _Mixed:
    """The prices half-way from those used before: a master of few rankings has them swing from side to side."""
    shares = 0.5 * (before.share_prices + now.share_prices)
    return _Mixed(now.chances, shares, 0.5 * (before.relevance_price + now.relevance_price), now.level)


def _further_columns(
    program: SearchProgram, scores: Floats, columns: _Columns, mixed: _Mixed, smoothed: _Mixed, turn: int
) -> _Columns:
    """Rankings that are charged less than their shares and relevance are worth, found at smoothed or true prices.

    They are looked for from the rankings in use, other ones in each turn where these are too many to search from all.
    """
    used = np.flatnonzero(mixed.chances > 0.0)
    descents = min(len(used), affordable_descents(program))
    starts = columns.rankings[np.roll(used, -descents * turn)[:descents]]
    for prices in (smoothed, mixed):
        gains = prices.relevance_price * scores + _paid(program, prices.share_prices)
        found, _ = local_optima(program._replace(gains=gains), starts, descents, 0)
        new = _measured(program, scores, found)
        worth = new.shares @ mixed.share_prices + new.relevances * mixed.relevance_price + mixed.level
        helpful = worth - new.charges > WORTHWHILE * columns.charges.max()
        if helpful.any():
            break
    return _Columns(found[helpful], new.shares[helpful], new.relevances[helpful], new.charges[helpful])


def _paid(program: SearchProgram, prices: Floats) -> Floats:
    """A·y: what each candidate's categories are worth at these prices."""
    rows = np.repeat(np.arange(len(program.gains)), np.diff(program.indptr))
    return sums_by(rows, program.values * prices[program.indices], len(program.gains))


def _better(plain: _Columns, weights: Floats, columns: _Columns, mixed: _Mixed | None) -> Lottery:
    """The mixed lottery, or the plain one where mixing gained nothing; heavier rankings first."""
    rankings, chances = plain.rankings, weights
    if mixed is not None and mixed.chances @ columns.charges < weights @ plain.charges:
        rankings, chances = columns.rankings, mixed.chances
    kept = np.flatnonzero(chances > NEGLIGIBLE)
    kept = kept[np.argsort(-chances[kept], kind="stable")]
    return Lottery(rankings[kept], chances[kept] / chances[kept].sum())
