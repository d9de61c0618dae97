"""Fewer rankings with the same effect (Carathéodory): a lottery needs no more rankings than it has numbers to match.

What a lottery does is its category distribution and its relevance. Rankings beyond r + 1 are superfluous: weight is
shifted between rankings so that both stay the same until one of them has none left.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Booleans, Floats, Integers

__all__ = ["reduce_lottery"]

SAME_EFFECT = 1e-11
"""A ranking whose effect differs by no more than this from a mix of others counts as that mix."""

SMALL_PIVOT = 1e-9


@compiled
def reduce_lottery(effects: Floats, weights: Floats, count: int) -> None:
    """Set the weights of superfluous rankings to 0; the weighted sum of the rows of ``effects`` stays the same.

    ``effects`` is (count, m), a row a ranking. The tableau holds every ranking as a mix of the basic ones; a ranking
    that is not basic gives its weight to its mix, or, when a basic one would run out first, takes that one's place.
    """
    tableau = np.empty((effects.shape[1] + 1, count))
    for ranking in range(count):
        tableau[0, ranking] = 1.0
        for row in range(effects.shape[1]):
            tableau[row + 1, ranking] = effects[ranking, row]
    basis = np.full(tableau.shape[0], -1, dtype=np.int64)
    basic = np.zeros(count, dtype=np.bool_)
    while True:
        row, ranking = _largest_entry(tableau, basis, basic)
        if row < 0:
            break
        _pivot(tableau, row, ranking)
        basis[row] = ranking
        basic[ranking] = True
    for ranking in range(count):
        if not basic[ranking]:
            _give_away(tableau, basis, basic, weights, ranking)


@lean
def _largest_entry(tableau: Floats, basis: Integers, basic: Booleans) -> tuple[int, int]:
    """The largest entry of a row without a basic ranking (complete pivoting keeps errors small), or -1."""
    largest = SAME_EFFECT
    best_row = -1
    best_ranking = -1
    for row in range(basis.size):
        if basis[row] < 0:
            for ranking in range(basic.size):
                if not basic[ranking] and abs(tableau[row, ranking]) > largest:
                    largest = abs(tableau[row, ranking])
                    best_row = row
                    best_ranking = ranking
    return best_row, best_ranking


@lean
def _pivot(tableau: Floats, row: int, ranking: int) -> None:
    """Gauss–Jordan: make the ranking's column the unit vector of the row."""
    scale = 1.0 / tableau[row, ranking]
    for column in range(tableau.shape[1]):
        tableau[row, column] *= scale
    for other in range(tableau.shape[0]):
        factor = tableau[other, ranking]
        if other != row and factor != 0.0:
            for column in range(tableau.shape[1]):
                tableau[other, column] -= factor * tableau[row, column]


@lean
def _give_away(tableau: Floats, basis: Integers, basic: Booleans, weights: Floats, ranking: int) -> None:
    """Move the ranking's weight to its mix, as far as no basic weight falls below 0."""
    amount = weights[ranking]
    blocking = -1
    for row in range(basis.size):
        share = tableau[row, ranking]
        if basis[row] >= 0 and share < -SMALL_PIVOT and weights[basis[row]] + amount * share < 0.0:
            amount = weights[basis[row]] / -share
            blocking = row
    for row in range(basis.size):
        if basis[row] >= 0:
            weights[basis[row]] = max(weights[basis[row]] + amount * tableau[row, ranking], 0.0)
    if blocking < 0:
        weights[ranking] = 0.0
        return
    weights[ranking] -= amount
    weights[basis[blocking]] = 0.0
    basic[basis[blocking]] = False
    basic[ranking] = True
    basis[blocking] = ranking
    _pivot(tableau, blocking, ranking)
