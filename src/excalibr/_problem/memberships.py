"""Which share of each candidate belongs to each category: sparse rows, and what callers give for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import floats, numbers, require_shape, starts_of, sums_by
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

    @classmethod
    def packed(cls, table: Floats) -> Memberships:
        """The same as a dense (n, r) table."""
        return cls(*kernel.pack_rows(np.ascontiguousarray(table)), table.shape[1])

    @classmethod
    def of_sparse(cls, name: str, matrix: Any) -> Memberships:
        """The same as a ``scipy.sparse`` matrix, whose entries need not be in order."""
        rows = matrix.tocsr()
        indptr, indices = (np.ascontiguousarray(each, dtype=np.int64) for each in (rows.indptr, rows.indices))
        return cls(indptr, indices, numbers(name, rows.data), int(rows.shape[1]))

    @property
    def n_candidates(self) -> int:
        """Number of rows, n."""
        return len(self.indptr) - 1

    @property
    def for_kernel(self) -> tuple[Integers, Integers, Floats, int]:
        """As the kernel takes it."""
        return self.indptr, self.indices, self.values, self.n_categories

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

    def sums(self, candidates: Integers, owners: Integers, weights: Floats, users: int) -> Memberships:
        """Users × r: what candidates, in the order of their owners and each with a weight, add up to for each user."""
        rows, starts = self.of(candidates), np.searchsorted(owners, np.arange(users + 1))
        numbers = np.ascontiguousarray(weights, dtype=np.float64)
        found = kernel.sums_by_user(rows.indptr, rows.indices, rows.values, self.n_categories, numbers, starts)
        return Memberships(*found, self.n_categories)

    def plus(self, factors: Floats, row: Floats) -> Memberships:
        """Each row with (n,) so many times one more row (r,) added; a factor of 0 adds nothing."""
        n, more = self.n_candidates, np.flatnonzero(factors)
        owners = np.concatenate([np.arange(n), more])
        order = np.argsort(owners, kind="stable")
        chosen, weights = np.append(np.arange(n), np.full(len(more), n)), np.append(np.ones(n), factors[more])
        return Memberships.stacked([self, Memberships.packed(row[None])]).sums(
            chosen[order], owners[order], weights[order], n
        )

    def as_shares(self, negligible: float) -> Memberships:
        """Each row divided by its sum, without entries below ``negligible`` of it; a row of zeros has no entries."""
        starts, columns = np.asarray(self.indptr, dtype=np.int64), np.asarray(self.indices, dtype=np.int64)
        found = kernel.shares_of_rows(starts, columns, self.values, self.n_categories, negligible)
        return Memberships(*found, self.n_categories)

    def part(self, columns: slice) -> Memberships:
        """Some of the columns that follow one another."""
        kept = (self.indices >= columns.start) & (self.indices < columns.stop)
        indptr = starts_of(kept)[self.indptr]
        return Memberships(indptr, self.indices[kept] - columns.start, self.values[kept], columns.stop - columns.start)

    @staticmethod
    def stacked(parts: Sequence[Memberships]) -> Memberships:
        """The rows of several with the same columns: those of the second after those of the first."""
        indptr = starts_of(np.concatenate([np.diff(part.indptr) for part in parts]))
        indices, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "values"))
        return Memberships(indptr, indices, values, parts[0].n_categories)

    @staticmethod
    def side_by_side(parts: Sequence[Memberships]) -> Memberships:
        """The columns of several for the same candidates: the second one's follow the first one's."""
        before = np.cumsum([0, *(part.n_categories for part in parts)])
        owners = np.concatenate([part.owners for part in parts])
        order = np.argsort(owners, kind="stable")
        indices = np.concatenate([part.indices + first for part, first in zip(parts, before, strict=False)])[order]
        indptr = np.searchsorted(owners[order], np.arange(parts[0].n_candidates + 1))
        return Memberships(indptr, indices, np.concatenate([part.values for part in parts])[order], int(before[-1]))

    def row(self, candidate: int) -> Floats:
        """(r,) one row."""
        row = np.zeros(self.n_categories)
        own = slice(self.indptr[candidate], self.indptr[candidate + 1])
        row[self.indices[own]] = self.values[own]
        return row

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
        return categories.for_kernel, categories.n_candidates, categories.n_categories
    is_sparse = hasattr(categories, "tocsr")
    given = categories if is_sparse else floats(name, categories)
    shape = tuple(map(int, given.shape))
    require_shape(name, shape, ("n", "r"))
    require_shape(name, shape, ("n" if n is None else n, "r"), "a row for each score")
    if not shape[1]:
        raise InputError(name, f"have shape {shape}", "have at least one category")
    return Memberships.of_sparse(name, given).for_kernel if is_sparse else given, shape[0], shape[1]
