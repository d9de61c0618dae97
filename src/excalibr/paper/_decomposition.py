"""Algorithm 1 of the paper, Birkhoff–von Neumann: a doubly stochastic matrix as a lottery over permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from excalibr._arrays import sums_by
from excalibr._options import one_of
from excalibr._sparse import scipy_sparse
from excalibr._types import Floats, Integers
from excalibr.paper._augmentation import ONE, MatrixLike, checked, exact

NOISE = 2**12
"""Entries up to this many units (1e-12) are taken for noise as long as anything else can be matched."""

NEGLIGIBLE = ONE // 10**11
"""Once this little is left, it is shared out among the permutations found."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""A convex combination of permutations, :math:`\sum_t \theta_t Q_t`.

    Attributes
    ----------
    weights
        (T,) θ: all positive, largest first, sum 1.
    permutations
        (T, m): in permutation t, row i goes to column ``permutations[t, i]``. No two are equal.
    residual
        :math:`\max_{ij} |P - \sum_t \theta_t Q_t|_{ij}` against the matrix that was given.
    """

    weights: Floats
    permutations: Integers
    residual: float

    def matrix(self) -> Floats:
        """Σ θ_t·Q_t, (m, m)."""
        return _mixture(self.weights, self.permutations)

    def __repr__(self) -> str:
        terms, m = self.permutations.shape
        return f"Decomposition({terms} permutations of {m}, residual {self.residual:.1e})"


def birkhoff(P: MatrixLike, matching: str = "any") -> Decomposition:
    r"""Write a doubly stochastic matrix as a lottery over permutations.

    .. math::

        P = \sum_{t=1}^{T} \theta_t Q_t, \qquad
        \theta_t > 0,\quad \sum_t \theta_t = 1,\quad Q_t \text{ permutation matrices}

    While anything is left: find a perfect matching on the entries that are not zero, give that permutation the smallest
    matched entry as its probability, and subtract. Each step makes an entry zero, so there are at most as many
    permutations as entries that are not zero.

    Rounding cannot break this: the matrix is corrected to one whose sums are exactly equal and decomposed in whole
    numbers, where Birkhoff's theorem promises the next matching. Entries below 1e-12 are left alone as long as there is
    a matching without them. By Hall's theorem there is one until at most m²·1e-12 is left; from there on smaller and
    smaller entries are let in, until less than 1e-11 is left.

    Parameters
    ----------
    P
        (m, m), an array or ``scipy.sparse`` matrix, non-negative; rows and columns sum to 1 within 1e-6, and smaller
        errors are corrected.
    matching
        "any": the perfect matching that scipy finds first, as in the paper.
        "bottleneck": the one whose smallest entry is largest: fewer terms, each of which takes longer to find [1]_.

    Raises
    ------
    InputError
        When P is not doubly stochastic; says which row, column or entry is not as it must be.

    References
    ----------
    .. [1] F. Dufossé and B. Uçar, "Notes on Birkhoff–von Neumann decomposition of doubly stochastic matrices", Linear
       Algebra and its Applications 497, 2016. (The fewest terms are NP-hard to find.)

    Examples
    --------
    >>> lottery = birkhoff([[0.75, 0.25], [0.25, 0.75]])
    >>> lottery.weights.tolist(), lottery.permutations.tolist(), lottery.residual
    ([0.75, 0.25], [[0, 1], [1, 0]], 0.0)
    """
    one_of(MATCHINGS)("matching", matching)
    matrix = checked("P", P, square=True)
    units, found = zip(*_peel(_Remainder(exact(matrix)), MATCHINGS[matching]), strict=True)
    weights, permutations = np.array(units, dtype=np.float64), np.array(found, dtype=np.int64)
    order = np.argsort(-weights, kind="stable")
    weights, permutations = weights[order] / weights.sum(), permutations[order]
    residual = float(np.abs(matrix - _mixture(weights, permutations)).max())
    return Decomposition(weights=weights, permutations=permutations, residual=residual)


class _Remainder:
    """What is left of the matrix, in units. Invariant: every row and column sums to ``left``."""

    def __init__(self, units: Integers) -> None:
        self.units = units
        self.left = ONE
        self.size = len(units)
        self.support = np.flatnonzero(units)  # by rows; entries only ever leave it

    def entries(self) -> Integers:
        """The entries on the support."""
        return self.units.ravel()[self.support]

    def matched_above(self, threshold: int) -> Integers | None:
        """A perfect matching (row → column) on the entries greater than ``threshold``, or None when there is none."""
        chosen = self.support[self.entries() > threshold]
        starts = np.searchsorted(chosen, np.arange(self.size + 1) * self.size)
        sp = scipy_sparse()
        from scipy.sparse.csgraph import maximum_bipartite_matching

        graph = sp.csr_array(
            (np.ones(len(chosen), dtype=np.int8), (chosen % self.size).astype(np.int32), starts.astype(np.int32)),
            shape=(self.size, self.size),
        )
        columns = maximum_bipartite_matching(graph, perm_type="column")
        return None if (columns < 0).any() else columns.astype(np.int64)

    def subtract(self, permutation: Integers) -> int:
        """Take off as much of the permutation as its smallest entry allows; return how much."""
        rows = np.arange(self.size)
        weight = int(self.units[rows, permutation].min())
        self.units[rows, permutation] -= weight
        self.left -= weight
        self.support = self.support[self.entries() > 0]
        return weight


def _peel(remainder: _Remainder, find: Callable[[_Remainder, int], Integers | None]) -> Iterator[tuple[int, Integers]]:
    threshold = NOISE
    while remainder.left > NEGLIGIBLE:
        permutation = find(remainder, threshold)
        if permutation is None:
            threshold //= 16  # down to 0, where equal sums make sure of a matching
        else:
            yield remainder.subtract(permutation), permutation


def _bottleneck(remainder: _Remainder, threshold: int) -> Integers | None:
    """The matching above ``threshold`` whose smallest entry is largest: gallop down the entries' values, then halve."""
    # No matching's smallest entry exceeds the largest entry of any one row or column.
    ceiling = int(min(remainder.units.max(axis=0).min(), remainder.units.max(axis=1).min()))
    values = np.unique(remainder.entries())[::-1]
    values = values[(values > threshold) & (values <= ceiling)]
    tried, index, stride = -1, 0, 1
    best = None
    while best is None:
        if tried == len(values) - 1:
            return None
        best = remainder.matched_above(values[index] - 1)
        if best is None:
            tried, index, stride = index, min(index + stride, len(values) - 1), 2 * stride
    while index - tried > 1:  # values[tried] is too high, values[index] has the matching `best`
        middle = (tried + index) // 2
        found = remainder.matched_above(values[middle] - 1)
        tried, index, best = (middle, index, best) if found is None else (tried, middle, found)
    return best


def _mixture(weights: Floats, permutations: Integers) -> Floats:
    m = permutations.shape[1]
    cells = np.arange(m) * m + permutations
    return sums_by(cells.ravel(), np.repeat(weights, m), m * m).reshape(m, m)


MATCHINGS = {"any": _Remainder.matched_above, "bottleneck": _bottleneck}
"""How the next permutation is found, by name."""
