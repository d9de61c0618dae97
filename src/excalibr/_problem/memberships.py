"""Which share of each candidate belongs to each category: sparse rows, and what callers give for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import floats, numbers, require_shape, sums_by
from excalibr._native import kernel
from excalibr._types import Floats, Integers
from excalibr.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse as sp

CategoriesLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"

GivenRows: TypeAlias = "Floats | tuple[Integers, Integers, Floats, int]"
"""A dense table, or the arrays of sparse rows and their number of columns, as the kernel takes them."""


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

    @property
    def owners(self) -> Integers:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_candidates), np.diff(self.indptr))

    def shares(self, exposure: Floats) -> Floats:
        """p = Aᵀx, the category distribution of an exposure (n,)."""
        exposure = np.ascontiguousarray(exposure, dtype=np.float64)
        return kernel.shares_of(self.indptr, self.indices, self.values, self.n_categories, exposure)

    def costs(self, prices: Floats) -> Floats:
        """A·y, what each candidate pays at the category prices (r,)."""
        return sums_by(self.owners, self.values * prices[self.indices], self.n_candidates)

    def of(self, candidates: Integers) -> Memberships:
        starts, columns = np.asarray(self.indptr, dtype=np.int64), np.asarray(self.indices, dtype=np.int64)  # scipy: 32
        rows = kernel.gather_rows(starts, columns, self.values, np.asarray(candidates, dtype=np.int64))
        return Memberships(*rows, self.n_categories)

    def sums(self, candidates: Integers, owners: Integers, weights: Floats, users: int) -> Floats:
        """(users, r) what candidates, each of an owner and with a weight, add up to for each user."""
        rows, r = self.of(candidates), self.n_categories
        cells = owners[rows.owners] * r + rows.indices
        return sums_by(cells, weights[rows.owners] * rows.values, users * r).reshape(users, r)

    @staticmethod
    def side_by_side(parts: Sequence[Memberships]) -> Memberships:
        """The columns of several for the same candidates: the second one's follow the first one's."""
        before = np.cumsum([0, *(part.n_categories for part in parts)])
        owners = np.concatenate([part.owners for part in parts])
        order = np.argsort(owners, kind="stable")
        indices = np.concatenate([part.indices + first for part, first in zip(parts, before, strict=False)])[order]
        indptr = np.searchsorted(owners[order], np.arange(parts[0].n_candidates + 1))
        return Memberships(indptr, indices, np.concatenate([part.values for part in parts])[order], int(before[-1]))

    def dense(self) -> Floats:
        table = np.zeros((self.n_candidates, self.n_categories))
        table[self.owners, self.indices] = self.values
        return table

    def sparse(self) -> sp.csr_array:
        from excalibr._sparse import build_rows  # only methods that need scipy anyway ask for it

        return build_rows(self.values, self.indices, self.indptr, self.n_categories)


def read_rows(name: str, categories: Any, n: int | None = None) -> tuple[GivenRows, int, int]:
    """What a caller gives for categories, for the kernel, which packs and checks it; and its rows and columns.

    A sparse matrix is known by what it can do (``tocsr``), so that scipy need not be there.
    """
    if type(categories) is Memberships:  # from tables
        arrays = (categories.indptr, categories.indices, categories.values, categories.n_categories)
        return arrays, categories.n_candidates, categories.n_categories
    given: Any
    if hasattr(categories, "tocsr"):
        given, shape = _sparse_arrays(name, categories)
    else:
        given = floats(name, categories)
        shape = given.shape
    require_shape(name, shape, ("n", "r"))
    require_shape(name, shape, ("n" if n is None else n, "r"), "a row for each score")
    if not shape[1]:
        raise InputError(name, f"have shape {shape}", "have at least one category")
    return given, shape[0], shape[1]


def _sparse_arrays(name: str, categories: Any) -> tuple[Any, tuple[int, ...]]:
    shape = tuple(map(int, categories.shape))
    if len(shape) != 2:
        return None, shape
    rows = categories.tocsr()
    places = (np.ascontiguousarray(each, dtype=np.int64) for each in (rows.indptr, rows.indices))
    return (*places, numbers(name, rows.data), shape[1]), shape
