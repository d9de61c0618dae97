r"""Recommenders that make the scores to re-rank, and the best-scored items of each user.

EASE is a linear item-to-item model with a closed form (Steck, 2019), fitted in place:

.. math:: P = (X^\top X + \lambda I)^{-1}, \qquad B = I - P \operatorname{diag}(P)^{-1}

for binary interactions X (users × items) and a regularisation :math:`\lambda`; a user with history x is scored by
:math:`x B`. The diagonal of B is 0, so that no item recommends itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._arrays import frozen, is_real, is_whole, numbers
from excalibr._parallel import checked_threads
from excalibr._sparse import SparseRows, read_rows
from excalibr._types import Integers
from excalibr.errors import InputError, SolverError, needs_extra, unknown_name

__all__ = ["EASE", "TopItems", "gram_matrix", "top_items"]

Precision: TypeAlias = Literal["float32", "float64"]
Dense: TypeAlias = NDArray[np.floating[Any]]

_BLOCK = 1024  # rows of a dense array that are worked on at once


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EASE:
    """A fitted model: how much each item of a history counts in favour of every other item.

    Peak memory, in dense arrays of items × items (1.7 GB each for 20,720 items in float32): :meth:`fit` holds one,
    :meth:`fit_many` two (three while the caller keeps an earlier model). Sparse blocks of 1,024 rows come on top.

    Attributes
    ----------
    weights
        (items, items) B, read-only, its diagonal 0; row i is what having item i adds to every score.
    regularisation
        λ, on the scale of the Gram matrix's diagonal (numbers of users).

    Examples
    --------
    Items 0 and 1 are liked together, item 2 by others:

    >>> model = EASE.fit([[1, 1, 0], [1, 1, 0], [0, 0, 1]], regularisation=1.0, dtype="float64")
    >>> model.weights.round(3).tolist()
    [[0.0, 0.667, 0.0], [0.667, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> model.top([[1, 0, 0]], n=2).items.tolist()
    [[1, 2]]
    """

    weights: Dense
    regularisation: float

    @classmethod
    def fit(
        cls, interactions: Any, *, regularisation: float = 500.0, dtype: Precision = "float32", threads: int | None = 1
    ) -> EASE:
        """Fit on a sparse (users, items) matrix, whose values are used as they are.

        One items × items array is made, and turned into the model in place. The others are those of :meth:`from_gram`.
        """
        return cls.from_gram(gram_matrix(interactions, dtype=dtype), regularisation, overwrite=True, threads=threads)

    @classmethod
    def fit_many(
        cls,
        interactions: Any,
        regularisations: Iterable[float],
        *,
        dtype: Precision = "float32",
        threads: int | None = 1,
    ) -> Iterator[EASE]:
        """One model for each regularisation, made one at a time from one Gram matrix."""
        gram = gram_matrix(interactions, dtype=dtype)
        for regularisation in regularisations:
            yield cls.from_gram(gram, regularisation, threads=threads)

    @classmethod
    def from_gram(cls, gram: Dense, regularisation: float, *, overwrite: bool = False, threads: int | None = 1) -> EASE:
        """Fit from XᵀX, of :func:`gram_matrix`.

        Parameters
        ----------
        gram
            (items, items) symmetric, float32 or float64.
        regularisation
            λ, above 0.
        overwrite
            Turn ``gram`` itself into the model, instead of a copy of it, where it can be written to row by row.
        threads
            Threads that the linear algebra may use. Each number of them rounds differently, which can swap items of
            nearly equal score: hence 1, so that a fit is the same again whatever the settings. None leaves it to BLAS.
        """
        workers = None if threads is None else checked_threads(threads)
        gram = np.asarray(gram)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.dtype not in (np.float32, np.float64):
            found = f"has shape {gram.shape} and type {gram.dtype}"
            raise InputError("gram", found, "have shape (items, items) and type float32 or float64")
        if not is_real(regularisation) or not 0 < regularisation <= float(np.finfo(gram.dtype).max):
            raise InputError("regularisation", f"is {regularisation!r}", f"be finite and above 0 in {gram.dtype}")
        regularisation = float(regularisation)
        if not gram.size or not np.isfinite(gram.diagonal()).all():
            found = "has a diagonal that is not finite" if gram.size else "has no items"
            raise InputError("gram", found, "count finite interactions of at least one item")
        array = gram if overwrite and gram.flags.c_contiguous and gram.flags.writeable else gram.copy(order="C")
        array.flat[:: len(array) + 1] += regularisation
        with needs_extra("scipy", "threadpoolctl"):
            import threadpoolctl
        with threadpoolctl.threadpool_limits(workers, "blas"):
            _invert(array, regularisation)
        if not np.isfinite(array.diagonal()).all():
            raise InputError("gram", "has an inverse that is not finite", "be symmetric and finite")
        array *= -1.0 / array.diagonal()  # from P to B, all but its diagonal
        array += 0.0  # no −0
        np.fill_diagonal(array, 0.0)
        return cls(frozen(array), regularisation)

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.weights)

    def score(self, histories: Any) -> Dense:
        """(users, items) scores of sparse (users, items) histories; items of the history are scored as well."""
        return np.asarray(self._rows(histories) @ self.weights)

    def top(self, histories: Any, n: int, *, exclude: Any = None, batch: int = 512) -> TopItems:
        """The n best items outside each user's history, best first; of equal scores the lower index.

        Parameters
        ----------
        histories
            (users, items) sparse.
        n
            How many items for each user.
        exclude
            (users, items) sparse: items that are left out instead of the history's, where they differ.
        batch
            Users that are scored at once; the answer does not depend on it.
        """
        rows = self._rows(histories)
        hidden = rows if exclude is None else self._rows(exclude, "exclude")
        if not is_whole(batch) or batch < 1:
            raise InputError("batch", f"is {batch!r}", "be at least 1")
        batch = int(batch)  # a sum of small integers of numpy's would wrap around
        if hidden.shape != rows.shape:
            raise InputError("exclude's shape", f"{hidden.shape}", f"be {rows.shape}")
        parts = []
        for start in range(0, max(rows.shape[0], 1), batch):
            scores = np.asarray(rows[start : start + batch] @ self.weights)
            left_out = hidden[start : start + batch]
            scores[np.repeat(np.arange(left_out.shape[0]), np.diff(left_out.indptr)), left_out.indices] = -np.inf
            parts.append(top_items(scores, n))
        return TopItems(
            frozen(np.concatenate([part.items for part in parts])),
            frozen(np.concatenate([part.scores for part in parts])),
        )

    def _rows(self, matrix: Any, argument: str = "histories") -> SparseRows:
        rows = read_rows(argument, matrix, self.weights.dtype)
        if rows.shape[1] != self.items:
            must = f"have shape (users, {self.items}), a column for each item of the model"
            raise InputError(argument, f"have shape {rows.shape}", must)
        if not np.isfinite(rows.data).all():
            raise InputError(argument, "contain a value that is not finite", "be finite")
        return rows

    def __repr__(self) -> str:
        return f"EASE({self.items} items, regularisation {self.regularisation:g}, {self.weights.dtype})"


def gram_matrix(interactions: Any, *, dtype: Precision = "float32") -> Dense:
    """(items, items) dense XᵀX of a sparse (users, items) matrix; float32 counts up to 16 million exactly.

    >>> gram_matrix([[1, 1], [0, 1]]).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    if dtype not in ("float32", "float64"):
        raise unknown_name("dtype", dtype, ["float32", "float64"])
    rows = read_rows("interactions", interactions, dtype)
    if not rows.shape[1] or not np.isfinite(rows.data).all():
        found = "contain a value that is not finite" if rows.shape[1] else f"have shape {rows.shape}"
        raise InputError("interactions", found, "be finite, of shape (users, items)")
    columns: SparseRows = rows.T.tocsr()
    gram = np.empty((rows.shape[1], rows.shape[1]), dtype=dtype)
    for start in range(0, len(gram), _BLOCK):  # blocks, because the whole sparse product can be larger than the dense
        (columns[start : start + _BLOCK] @ rows).toarray(out=gram[start : start + _BLOCK])
    return gram


@dataclass(frozen=True, slots=True, eq=False)
class TopItems:
    """The n best items of each user, best first.

    Attributes
    ----------
    items
        (users, n) item indices.
    scores
        (users, n) their scores, falling.
    """

    items: Integers
    scores: Dense


def top_items(scores: ArrayLike, n: int) -> TopItems:
    """The n largest scores of each row, and where they are; ties go to the lower index.

    Parameters
    ----------
    scores
        (users, items) without NaN; −inf marks an item that must not be shown.
    n
        How many; at least 1, and at most as many as every row has that may be shown.

    Examples
    --------
    >>> top_items(np.array([[0.5, 0.9, 0.5, 0.5]]), 3).items.tolist()
    [[1, 0, 2]]
    """
    given = np.asarray(scores)
    plain = given.dtype.kind == "f" and not np.ma.is_masked(scores)
    values = given if plain else numbers("scores", scores)  # whole numbers have no −∞, nor all a −x
    if values.ndim != 2 or np.isnan(values).any():
        found = "have a value that is nan" if values.ndim == 2 else f"have shape {values.shape}"
        raise InputError("scores", found, "have shape (users, items), without nan")
    available = (values > -np.inf).sum(axis=1)
    fewest = int(available.min(initial=values.shape[1]))
    if not is_whole(n) or not 1 <= n <= fewest:
        where = f" (row {int(np.argmin(available))})" if len(available) else ""
        raise InputError("n", f"is {n!r}", f"be at least 1 and at most the {fewest} items that can be shown{where}")
    chosen = np.argpartition(-values, n - 1, axis=1)[:, :n]
    least = np.take_along_axis(values, chosen, axis=1).min(axis=1, keepdims=True)
    for row in np.flatnonzero((values >= least).sum(axis=1) > n):  # a tie at the edge: argpartition took any of them
        chosen[row] = np.argsort(-values[row], kind="stable")[:n]
    chosen.sort(axis=1)
    best = np.take_along_axis(values, chosen, axis=1)
    order = np.argsort(-best, axis=1, kind="stable")
    return TopItems(np.take_along_axis(chosen, order, axis=1), np.take_along_axis(best, order, axis=1))


def _invert(array: Dense, regularisation: float) -> None:
    """The inverse of a symmetric positive definite array, in its place."""
    from scipy.linalg import lapack

    factorise, invert = (lapack.spotrf, lapack.spotri) if array.dtype == np.float32 else (lapack.dpotrf, lapack.dpotri)
    columns = array.T  # LAPACK wants columns; of a symmetric array they are the rows
    factor, status = factorise(columns, lower=1, clean=0, overwrite_a=1)
    inverse, second = invert(factor, lower=1, overwrite_c=1) if status == 0 else (factor, 0)
    if status or second:
        hint = "pass a larger regularisation" + (', or dtype="float64".' if array.dtype == np.float32 else ".")
        found = f"is {regularisation:g}, too small to invert the Gram matrix (LAPACK status {status or second})"
        raise SolverError("regularisation", found, "make it positive definite", hint)
    assert np.shares_memory(inverse, array)
    for start in range(0, len(array), _BLOCK):  # LAPACK leaves one triangle: copy the upper onto the lower
        stop = start + _BLOCK
        array[stop:, start:stop] = array[start:stop, stop:].T
        corner = array[start:stop, start:stop]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
