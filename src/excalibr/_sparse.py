"""Sparse rows as scipy has them, for models and data sets; scipy is loaded by the first call, and may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from excalibr._arrays import frozen, require_shape
from excalibr.errors import InputTypeError, needs_extra

if TYPE_CHECKING:
    from scipy import sparse

SparseRows: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"


def scipy_sparse() -> Any:
    """The module ``scipy.sparse``."""
    with needs_extra("scipy", "scipy"):
        from scipy import sparse
    return sparse


def read_rows(argument: str, matrix: Any, dtype: DTypeLike = np.float64) -> SparseRows:
    """The matrix as sparse rows of one type; what is not two-dimensional or has no numbers is refused."""
    make = scipy_sparse().csr_array
    try:
        rows: SparseRows = make(matrix, dtype=dtype)
    except (TypeError, ValueError) as error:
        found = f"cannot be read as a sparse matrix ({error})"
        raise InputTypeError(argument, found, "be a scipy.sparse matrix or an array of numbers") from error
    require_shape(argument, rows.shape, ("rows", "columns"))
    return rows


def build_rows(values: ArrayLike, columns: ArrayLike, indptr: NDArray[Any], n_columns: int) -> SparseRows:
    """Sparse rows from their three arrays; row i holds the entries from ``indptr[i]`` to ``indptr[i + 1]``."""
    parts: Any = (np.asarray(values), np.asarray(columns), indptr)
    rows: SparseRows = scipy_sparse().csr_array(parts, shape=(len(indptr) - 1, n_columns))
    return rows


def freeze_rows(rows: SparseRows) -> SparseRows:
    """The same rows, their arrays read-only."""
    rows.sort_indices()  # in place, and so before the arrays are locked
    for array in (rows.data, rows.indices, rows.indptr):
        frozen(array)
    return rows
