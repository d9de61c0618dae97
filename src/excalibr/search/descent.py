"""The local search: rank after rank takes its best move until none has one, then kicks try to leave that optimum.

Everything is deterministic: ties go to the lower index, and the kicks come from a fixed sequence of their own.
"""

from __future__ import annotations

from excalibr._jit import lean
from excalibr._types import Integers
from excalibr.search.moves import best_insertion, best_replacement, best_swap, insert, replace, swap
from excalibr.search.program import Terms
from excalibr.search.state import State, evaluate

__all__ = ["improve", "kick"]

TIE = 1e-13
"""A move must gain this part of the value's size, so that rounding is not taken for progress.

Gains are measured from the best one, so no value is above 0, and one of 0 cannot be bettered.
"""

NONE, REPLACE, SWAP, INSERT = range(4)

MULTIPLIER = 48271
MODULUS = 2147483647
"""Park and Miller's generator: its products stay far below 2⁶³, so plain Python computes the same numbers."""


@lean
def improve(terms: Terms, state: State) -> None:
    """Make the loaded ranking a local optimum: afterwards no single move gains.

    A move counts only if the value computed anew is larger, so the value rises at each and the search must end.
    Insertions cost the most and find the least: they are looked at when a round of the other moves found nothing.
    """
    k = state.ranking.size
    falling = terms.weights[0] > terms.weights[k - 1]
    quiet = 0
    rank = 0
    while quiet < (2 * k if falling else k):
        if _take_best_move(terms, state, rank, quiet >= k, falling):
            quiet = 0
        else:
            quiet += 1
            rank = rank + 1 if rank + 1 < k else 0


@lean
def _take_best_move(terms: Terms, state: State, rank: int, inserting: bool, falling: bool) -> bool:
    """Make the best move of this rank, if one gains."""
    before = state.totals[1]
    best = TIE * abs(before)
    kind, target = NONE, -1
    if inserting:
        for step in (1, -1):
            best, other = best_insertion(terms, state, rank, step, best)
            if other >= 0:
                kind, target = INSERT, other
    else:
        best, target = best_replacement(terms, state, rank, best)
        kind = REPLACE if target >= 0 else NONE
        if falling:
            best, other = best_swap(terms, state, rank, best)
            if other >= 0:
                kind, target = SWAP, other
    if kind == NONE:
        return False
    leaving = state.ranking[rank]
    _make(terms, state, kind, rank, target)
    evaluate(terms, state)
    if state.totals[1] > before:
        return True
    _unmake(terms, state, kind, rank, target, leaving)
    evaluate(terms, state)
    return False


@lean
def kick(ranking: Integers, n: int, seed: int) -> int:
    """Put a candidate from outside at one rank and swap two others, at random; returns the next seed."""
    k = ranking.size
    for step in range(2):
        seed = seed * MULTIPLIER % MODULUS
        rank = seed % k
        seed = seed * MULTIPLIER % MODULUS
        if n > k and step == 0:
            ranking[rank] = _outside(ranking, seed % n, n)
        elif k > 1:
            other = (rank + 1 + seed % (k - 1)) % k
            ranking[rank], ranking[other] = ranking[other], ranking[rank]
    return seed


@lean
def _outside(ranking: Integers, candidate: int, n: int) -> int:
    """The first candidate from this one on that is not in the ranking."""
    rank = 0
    while rank < ranking.size:
        if ranking[rank] == candidate:
            candidate = candidate + 1 if candidate + 1 < n else 0
            rank = 0
        else:
            rank += 1
    return candidate


@lean
def _make(terms: Terms, state: State, kind: int, rank: int, target: int) -> None:
    if kind == REPLACE:
        replace(terms, state, rank, target)
    elif kind == SWAP:
        swap(state, rank, target)
    else:
        insert(state, rank, target)


@lean
def _unmake(terms: Terms, state: State, kind: int, rank: int, target: int, leaving: int) -> None:
    if kind == REPLACE:
        replace(terms, state, rank, leaving)
    elif kind == SWAP:
        swap(state, rank, target)
    else:
        insert(state, target, rank)
