"""Algorithm 2 of the paper, in exact arithmetic: an n × k solution becomes doubly stochastic over what it uses.

A matrix is held as whole numbers of :data:`ONE`-ths. Rows and columns then sum to exactly ONE, subtracting a
permutation keeps them exactly equal, and Birkhoff's theorem holds to the last bit, not only up to noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import numbers, require_all
from excalibr._types import Floats, Integers
from excalibr.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse as sp

NOTHING = 1e-11
"""A row that sums to less is zero up to the solver's noise."""


@dataclass(frozen=True, eq=False)
class Augmented:
    """A square doubly stochastic matrix and where its rows come from.

    Attributes
    ----------
    matrix
        (m, m); rows and columns sum to exactly 1. The first k columns are the slots, the others were added.
    kept
        (m,) the rows of P̂ that are not zero, in rising order: row i is candidate ``kept[i]``.
    """

    matrix: Floats
    kept: Integers

    def __repr__(self) -> str:
        return f"Augmented({len(self.kept)} rows kept, {np.count_nonzero(self.matrix)} entries that are not zero)"


def augment(P_hat: MatrixLike) -> Augmented:
    r"""Drop the rows of :math:`\hat P` that are zero and add columns until it is doubly stochastic.

    .. math::

        \hat P \in \mathbb R^{n \times k}_{\ge 0},\; \hat P^\top 1 = 1,\; \hat P 1 \le 1
        \quad\longmapsto\quad
        P \in \mathbb R^{m \times m}_{\ge 0},\; P^\top 1 = P 1 = 1,\; P_{:, 1 \dots k} = \hat P_{\text{kept}}

    A new column is built from the row that lacks the most: add what it lacks, or only as much as brings the column to
    1, and go on until the column is full. Each step fills a row or a column, so at most m + (m − k) of the added
    entries are not zero. With m = k nothing is added.

    Parameters
    ----------
    P_hat
        (n, k), an array or ``scipy.sparse`` matrix, non-negative; columns sum to 1 and rows to at most 1 within 1e-6,
        and smaller errors are corrected.

    Returns
    -------
    Augmented

    Raises
    ------
    InputError, InputTypeError
        When the matrix is not such a matrix; says which row, column or entry is not as it must be.

    Examples
    --------
    Three candidates share two slots; candidate 1 is never shown.

    >>> augmented = augment([[1.0, 0.0], [0.0, 0.0], [0.0, 0.75], [0.0, 0.25]])
    >>> augmented.kept.tolist()
    [0, 2, 3]
    >>> augmented.matrix.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.75, 0.25], [0.0, 0.25, 0.75]]
    """
    matrix = checked("P_hat", P_hat, square=False)
    kept = np.flatnonzero(matrix.sum(axis=1) > NOTHING)
    return Augmented(matrix=exact(matrix[kept]) / ONE, kept=kept.astype(np.int64))  # without rounding


MatrixLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"

ONE = 2**52
"""The unit: its multiples up to 1 are floats without rounding."""

SUM_TOLERANCE = 1e-6
"""How far from what it must be a row sum, a column sum or a zero may be; within it, the matrix is corrected."""

BALANCED = 1e-14
MOST_SCALINGS = 100


def checked(argument: str, matrix: MatrixLike, *, square: bool) -> Floats:
    """A copy with non-negative entries, or an error that says where the matrix is not stochastic.

    Columns must sum to 1; rows too when the matrix is ``square``, else at most to 1.
    """
    dense: Any = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    array = numbers(argument, dense, ("n", "n" if square else "k"))
    rows, columns = array.shape
    if not array.size:
        raise InputError(argument, f"has shape {array.shape}", "have at least one row and column")
    if square and rows != columns:
        hint = "augment(P_hat) makes an n × k solution square."
        raise InputError(argument, f"has shape {array.shape}", "be square", hint)
    if rows < columns:
        raise InputError(argument, f"has shape {array.shape}", "have at least as many rows as columns")
    require_all(argument, array, np.isfinite(array) & (array >= -SUM_TOLERANCE), "be finite and at least 0")
    array = np.maximum(array, 0.0)
    _check_sums(argument, "column", array.sum(axis=0), at_most=False)
    _check_sums(argument, "row", array.sum(axis=1), at_most=not square)
    return array


def exact(matrix: Floats) -> Integers:
    """The doubly stochastic matrix in units of 1 / ONE that a checked matrix is meant to be, (m, m) for (m, k).

    Sums that are a little off are first corrected by scaling, which moves no zero. What scaling cannot mend (the last
    bits, or zeros that allow no doubly stochastic matrix) is taken off the largest entries of the rows and columns that
    have too much, and given where it is lacking by the rule of Algorithm 2, as are the columns that an m × k matrix
    does not have.
    """
    units = np.zeros((len(matrix), len(matrix)), dtype=np.int64)
    units[:, : matrix.shape[1]] = np.rint(_scaled(matrix) * ONE)
    _trim(units)
    _complete(units)
    return units


def _check_sums(argument: str, side: str, sums: Floats, *, at_most: bool) -> None:
    distance = sums - 1.0 if at_most else np.abs(sums - 1.0)
    if (distance > SUM_TOLERANCE).any():
        worst = int(np.argmax(distance))
        must = f"sum to {'at most ' if at_most else ''}1 (within {SUM_TOLERANCE:g})"
        raise InputError(argument, f"{side} {worst} sums to {sums[worst]:.9g}", must)


def _scaled(matrix: Floats) -> Floats:
    """Sinkhorn's scaling: columns to 1, rows to 1 (an m × k matrix's rows to at most 1), in turns."""
    rows, columns = matrix.shape
    for _ in range(MOST_SCALINGS):
        matrix = matrix / matrix.sum(axis=0)
        sums = matrix.sum(axis=1, keepdims=True)
        if rows > columns:
            sums = np.maximum(sums, 1.0)
        if np.abs(sums - 1.0).max() <= BALANCED:
            break
        matrix = matrix / sums
    return matrix


def _trim(units: Integers) -> None:
    """Take what a row or column has too much off its largest entry, which is far larger."""
    everyone = np.arange(len(units))
    for by_row in (units, units.T):
        excess = np.maximum(by_row.sum(axis=1) - ONE, 0)
        by_row[everyone, by_row.argmax(axis=1)] -= excess


def _complete(units: Integers) -> None:
    """Algorithm 2: fill each column that is not full from the row that lacks the most.

    Rows and columns lack the same in total. Every step fills a column or a row, so at most 2m entries are added.
    """
    lacking = ONE - units.sum(axis=1)
    room = ONE - units.sum(axis=0)
    for column in np.flatnonzero(room):
        while room[column] > 0:
            row = int(np.argmax(lacking))
            added = min(lacking[row], room[column])
            units[row, column] += added
            lacking[row] -= added
            room[column] -= added
