"""One good ranking: all rankings tried where they are few, a local search from some starts elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, perm

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.search.program import SearchProgram

__all__ = ["MOST_RANKINGS", "Found", "best_ranking", "local_optima", "ranking_values"]

MOST_RANKINGS = 100_000
"""Up to so many rankings, all of them are tried."""

SEARCHES = 2400
"""Divided by k·√n, as the cost of a local search grows, this is how many are made: 20 for 10 slots, 150 candidates."""

FEWEST_DESCENTS, MOST_DESCENTS = 3, 24


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking (k,) in slot order, its value, and whether it is proven to be the best because all were tried."""

    ranking: Integers
    value: float
    exhaustive: bool


def best_ranking(program: SearchProgram, starts: Integers, effort: int = 1) -> Found:
    r"""The best single ranking that could be found.

    .. math::

        \max_Q\; c^\top x(Q) - \text{charge} \cdot
        \max\Bigl(0, \sum_j \text{penalty}_j\bigl(t_j(Q)\bigr) - \text{allowance}\Bigr),
        \qquad t = \text{base} + A^\top x(Q)

    Parameters
    ----------
    program
        What a ranking is judged by.
    starts
        (L, k) rankings of distinct candidates in slot order, for instance a lottery's; without any, the candidates with
        the largest gains. One that has too many of a group is repaired first. Only the best of them are searched from.
    effort
        How many times the usual number of local searches is made, at least 1. The answer can only get better.

    Notes
    -----
    No single move (swap two slots, replace an item by one outside, move an item and shift those between) improves the
    answer. It is the same on every call and machine.

    Examples
    --------
    Two slots, half and half wanted, the two best candidates of the same kind:

    >>> program = SearchProgram(
    ...     gains=np.array([0.9, 0.8, 0.5]),
    ...     indptr=np.arange(4), indices=np.array([0, 0, 1]), values=np.ones(3),
    ...     base=np.zeros(2), low=np.full(2, 0.5), high=np.full(2, 0.5),
    ...     below=np.ones(2), above=np.ones(2), smoothing=np.zeros(2),
    ...     position_weights=np.array([0.6, 0.4]),
    ... )
    >>> found = best_ranking(program, np.array([[0, 1]]))
    >>> found.ranking.tolist(), round(found.value, 6), found.exhaustive
    ([0, 2], 0.54, True)
    """
    n, k = len(program.gains), len(program.position_weights)
    if perm(n, k) <= MOST_RANKINGS:
        from excalibr.search import kernel  # compiled when it is first needed

        rankings, values = kernel.try_all_rankings(*program)
        return Found(rankings[0], float(values[0]), True)
    starts = starts if len(starts) else _by_gain(program)
    descents = affordable_descents(program)
    searched = min(len(starts), (descents + 1) // 2)
    rankings, values = local_optima(program, starts, searched, effort * descents - searched)
    best = int(np.argmax(values))
    return Found(rankings[best], float(values[best]), False)


def local_optima(program: SearchProgram, starts: Integers, descents: int, kicks: int) -> tuple[Integers, Floats]:
    """The local optima of the ``descents`` best starts and of ``kicks`` kicks of the best so far, with their values."""
    from excalibr.search import kernel

    return kernel.improve_rankings(*program, np.ascontiguousarray(starts, dtype=np.int64), descents, kicks)


def _by_gain(program: SearchProgram) -> Integers:
    """(1, k): the largest gains, the heaviest slot first."""
    order = np.argsort(-program.gains, kind="stable")
    ranking = np.empty(len(program.position_weights), dtype=np.int64)
    ranking[np.argsort(-program.position_weights, kind="stable")] = order[: len(ranking)]
    return ranking[None]


def affordable_descents(program: SearchProgram) -> int:
    """How many local searches are worth their time: many for a short list, few for a long one."""
    cost = len(program.position_weights) * isqrt(len(program.gains))
    return min(max(SEARCHES // cost, FEWEST_DESCENTS), MOST_DESCENTS)


def ranking_values(program: SearchProgram, rankings: Integers) -> Floats:
    """The value of each of some rankings (L, k), in numpy: what the search maximises."""
    exposed = program.gains[rankings] @ program.position_weights
    return np.asarray(exposed - ranking_charges(program, ranking_shares(program, rankings)))


def ranking_shares(program: SearchProgram, rankings: Integers) -> Floats:
    """(L, r): base + Aᵀx of each ranking."""
    shares = np.tile(program.base, (len(rankings), 1))
    lengths = np.diff(program.indptr)[rankings]
    rows = np.repeat(np.arange(len(rankings)), lengths.sum(axis=1))
    items = np.repeat(rankings.ravel(), lengths.ravel())
    weights = np.repeat(np.tile(program.position_weights, len(rankings)), lengths.ravel())
    first = np.repeat(np.cumsum(lengths.ravel()) - lengths.ravel(), lengths.ravel())
    entries = program.indptr[items] + np.arange(len(items)) - first
    np.add.at(shares, (rows, program.indices[entries]), weights * program.values[entries])
    return shares


def ranking_charges(program: SearchProgram, shares: Floats) -> Floats:
    """(L,): what is charged for each row of shares (L, r)."""
    below, above = shares < program.low, shares > program.high
    edge = np.where(below, program.low, program.high)
    slope = np.where(below, program.below, np.where(above, program.above, 0.0))
    seen = np.where(program.smoothing > 0.0, (1.0 - program.smoothing) * shares + program.smoothing * edge, shares)
    curved = (program.smoothing > 0.0) & (edge > 0.0) & (slope > 0.0)
    safe_edge, safe_seen = np.where(curved, edge, 1.0), np.where(curved, seen, 1.0)
    divergence = safe_edge * np.log(safe_edge / safe_seen) - safe_edge + safe_seen
    costs = slope * np.where(curved, divergence, np.abs(seen - edge))
    return np.asarray(program.charge * np.maximum(costs.sum(axis=1) - program.allowance, 0.0))
