"""Which share of each candidate belongs to each category: read from what the caller has, checked, and kept sparse."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers, sums_by
from excalibr._native import kernel
from excalibr._problem.checks import SUM_TOLERANCE, is_share
from excalibr._types import Floats, Integers
from excalibr.errors import InputError, explain

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["CategoriesLike", "Memberships", "read_memberships", "stack"]

CategoriesLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"

_Rows: TypeAlias = tuple[Integers, Integers, Floats, int, bool, float]
"""indptr, indices, values, the number of categories, whether all are shares, and how far from 1 a row's sum is."""


@dataclass(frozen=True, slots=True)
class Memberships:
    """Which share of each candidate belongs to each category: a sparse n × r matrix by rows.

    Candidate i has the categories ``indices[indptr[i]:indptr[i + 1]]`` in rising order, with the shares ``values[…]``.
    """

    indptr: Integers
    indices: Integers
    values: Floats
    n_categories: int

    @property
    def n_candidates(self) -> int:
        """Number of rows, n."""
        return len(self.indptr) - 1

    def shares(self, exposure: Floats) -> Floats:
        """p = Aᵀx, the category distribution of an exposure (n,)."""
        exposure = np.ascontiguousarray(exposure, dtype=np.float64)
        return kernel.shares_of(self.indptr, self.indices, self.values, self.n_categories, exposure)

    def costs(self, prices: Floats) -> Floats:
        """A·y, what each candidate pays at the category prices (r,)."""
        paid = self.values * prices[self.indices]
        rows = np.repeat(np.arange(self.n_candidates), np.diff(self.indptr))
        return sums_by(rows, paid, self.n_candidates)

    def of(self, candidates: Integers) -> Memberships:
        """The rows of some candidates."""
        counts = (self.indptr[1:] - self.indptr[:-1])[candidates]
        indptr = np.concatenate(([0], np.cumsum(counts)))
        places = np.repeat(self.indptr[candidates] - indptr[:-1], counts) + np.arange(indptr[-1])
        return Memberships(indptr, self.indices[places], self.values[places], self.n_categories)

    def dense(self) -> Floats:
        """The same as an (n, r) array."""
        return np.asarray(self.sparse().toarray())

    def sparse(self) -> sp.csr_array:
        """The same as a scipy CSR array."""
        from scipy.sparse import csr_array  # half of the package's import time, and only some callers need it

        return csr_array((self.values, self.indices, self.indptr), shape=(self.n_candidates, self.n_categories))


def read_memberships(categories: CategoriesLike, n: int, name: str = "categories") -> Memberships:
    """The categories of n candidates: non-negative shares, each row with a sum of 1."""
    read = _sparse_rows if _is_sparse(categories) else _dense_rows
    indptr, indices, values, r, are_shares, off = read(categories, name)
    if len(indptr) != n + 1:
        raise InputError(
            explain(name, f"have shape {(len(indptr) - 1, r)}", f"have shape ({n}, r), a row for each score")
        )
    if not r:
        raise InputError(explain(name, f"have shape ({n}, 0)", "have at least one category"))
    if not are_shares:
        raise _bad_share(indptr, indices, values, name)
    if off > SUM_TOLERANCE:
        raise _bad_sum(indptr, values, name)
    if off:
        values = kernel.with_sums_of_one(indptr, values)
    return Memberships(frozen(indptr), frozen(indices), frozen(values), r)


def stack(parts: Sequence[Memberships]) -> Memberships:
    """The memberships of several attributes side by side: the second one's categories follow the first one's."""
    from scipy.sparse import hstack

    matrix = hstack([part.sparse() for part in parts], format="csr")
    matrix.sort_indices()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return Memberships(frozen(indptr), frozen(indices), frozen(matrix.data), int(matrix.shape[1]))


def _dense_rows(categories: Any, name: str) -> _Rows:
    array = numbers(name, categories, own=False)  # packed below, into arrays of our own
    if array.ndim != 2:
        raise InputError(explain(name, f"have shape {array.shape}", "have shape (n, r)"))
    indptr, indices, values, are_shares, off = kernel.pack_rows(array)
    return indptr, indices, values, array.shape[1], are_shares, off


def _is_sparse(categories: object) -> bool:
    # Whoever has a sparse matrix has loaded scipy.sparse already; nobody else should have to.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(categories))


def _sparse_rows(categories: Any, name: str) -> _Rows:
    from scipy.sparse import csr_array

    if categories.ndim != 2:
        raise InputError(explain(name, f"have shape {categories.shape}", "have shape (n, r)"))
    matrix = csr_array(categories, copy=True)
    matrix.data = numbers(name, matrix.data)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return indptr, indices, matrix.data, int(matrix.shape[1]), *kernel.look_over(indptr, matrix.data)


def _bad_share(indptr: Integers, indices: Integers, values: Floats, name: str) -> InputError:
    at = int(np.argmin(is_share(values)))
    row = int(np.searchsorted(indptr, at, side="right")) - 1
    where = f"row {row}, column {int(indices[at])} is {values[at]}"
    return InputError(explain(name, where, "be finite and at least 0"))


def _bad_sum(indptr: Integers, values: Floats, name: str) -> InputError:
    sums = sums_by(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), values, len(indptr) - 1)
    row = int(np.argmax(np.abs(sums - 1.0) > SUM_TOLERANCE))
    hint = "divide each row by its sum." if sums[row] else "give items without a category one of their own."
    return InputError(explain(name, f"row {row} sums to {sums[row]:.6g}", "sum to 1", hint))
