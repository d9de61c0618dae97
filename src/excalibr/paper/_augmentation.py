"""Algorithm 2 of the paper: an n × k solution becomes a doubly stochastic matrix over the candidates that it uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from excalibr._types import Floats, Integers
from excalibr.paper._stochastic import MatrixLike, checked, exact, from_units

__all__ = ["Augmented", "augment"]

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
        (n, k), non-negative; columns sum to 1 and rows to at most 1, each within 1e-6; what is off is corrected.

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
    return Augmented(matrix=from_units(exact(matrix[kept])), kept=kept.astype(np.int64))
