"""One user's problem, checked once and then immutable: every method takes a :class:`Problem`.

This is the only place where inputs are checked. An error names the argument, what was found and where, what it must be,
and a hint.

Symbols: n candidates, k slots, r categories; s scores, A memberships (n × r), q target, e position weights,
λ trade-off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers, sums_by
from excalibr._types import Floats, Integers
from excalibr.errors import InputError, InputTypeError, explain
from excalibr.positions import position_weights as weigh_positions

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["CategoriesLike", "Limits", "Memberships", "Penalty", "Problem"]

CategoriesLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix"

SUM_TOLERANCE = 1e-6
"""How far from 1 a row of memberships or a target may sum; within it, it is divided by its sum."""


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
        spread = np.repeat(exposure, np.diff(self.indptr)) * self.values
        return sums_by(self.indices, spread, self.n_categories)

    def costs(self, prices: Floats) -> Floats:
        """A·y, what each candidate pays at the category prices (r,)."""
        paid = self.values * prices[self.indices]
        rows = np.repeat(np.arange(self.n_candidates), np.diff(self.indptr))
        return sums_by(rows, paid, self.n_candidates)

    def dense(self) -> Floats:
        """The same as an (n, r) array."""
        return np.asarray(self.sparse().toarray())

    def sparse(self) -> sp.csr_array:
        """The same as a scipy CSR array."""
        from scipy.sparse import csr_array  # half of the package's import time, and only some callers need it

        return csr_array((self.values, self.indices, self.indptr), shape=(self.n_candidates, self.n_categories))


@dataclass(frozen=True, slots=True)
class Penalty:
    """What a category distribution p costs: nothing inside a band, a slope of its own below it and above it.

    ``Σ_j below_j · max(low_j − p_j, 0) + above_j · max(p_j − high_j, 0)``, each array of shape (r,). The paper's
    λ·Σ|p_j − q_j| is ``low = high = q`` and ``below = above = λ``.
    """

    low: Floats
    high: Floats
    below: Floats
    above: Floats


@dataclass(frozen=True, slots=True)
class Limits:
    """When a solver may stop: at a proven gap, or after so many sorts of the candidates.

    The gap is relative to max(1, (1 − λ)·(largest score − smallest score)).
    """

    tolerance: float = 1e-9
    max_sorts: int | None = None

    def __post_init__(self) -> None:
        if not (_is_real(self.tolerance) and 0.0 < self.tolerance < np.inf):
            raise InputError(explain("tolerance", f"is {self.tolerance!r}", "be a positive number"))
        if self.max_sorts is not None and not (_is_whole(self.max_sorts) and self.max_sorts >= 1):
            raise InputError(explain("max_sorts", f"is {self.max_sorts!r}", "be a whole number of at least 1, or None"))


@dataclass(frozen=True, slots=True)
class Problem:
    r"""A user's candidates, the target and what is asked: checked by :meth:`of`, immutable afterwards.

    .. math::

        \max_x\; (1-\lambda)\, s^\top x - \lambda \sum_j |(A^\top x)_j - q_j|
        \quad\text{over the exposures } x \text{ of lotteries over rankings of } k \text{ candidates}

    Attributes
    ----------
    scores
        s, (n,) finite.
    memberships
        A, n × r, non-negative, rows sum to 1.
    target
        q, (r,) non-negative, sums to 1.
    position_weights
        e, (k,) non-negative, sums to 1, in slot order.
    trade_off
        λ in [0, 1]: 0 is relevance only, 1 is calibration only.

    Examples
    --------
    >>> problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> problem.n, problem.k, problem.r
    (3, 2, 2)
    """

    scores: Floats
    memberships: Memberships
    target: Floats
    position_weights: Floats
    trade_off: float

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        categories: CategoriesLike,
        target: ArrayLike,
        *,
        k: int | None = None,
        trade_off: float = 0.5,
        position_weights: str | ArrayLike = "log",
    ) -> Problem:
        """Check the arguments of :func:`excalibr.calibrate` and build the problem."""
        checked_scores = _scores(scores)
        memberships = _memberships(categories, len(checked_scores))
        slots = _slots(k, len(checked_scores))
        return cls(
            scores=checked_scores,
            memberships=memberships,
            target=_target(target, memberships.n_categories),
            position_weights=weigh_positions(position_weights, slots),
            trade_off=_trade_off(trade_off),
        )

    @property
    def n(self) -> int:
        """Number of candidates."""
        return len(self.scores)

    @property
    def k(self) -> int:
        """Number of slots."""
        return len(self.position_weights)

    @property
    def r(self) -> int:
        """Number of categories."""
        return len(self.target)

    @property
    def gains(self) -> Floats:
        """(1 − λ)·s, what a unit of exposure of each candidate is worth before categories count."""
        return (1.0 - self.trade_off) * self.scores

    @property
    def penalty(self) -> Penalty:
        """What the category distribution costs, in the solver's general form."""
        slopes = np.full(self.r, self.trade_off)
        return Penalty(low=self.target, high=self.target, below=slopes, above=slopes)

    def with_trade_off(self, trade_off: float) -> Problem:
        """The same problem at another trade-off."""
        return replace(self, trade_off=_trade_off(trade_off))


def _scores(scores: ArrayLike) -> Floats:
    array = numbers("scores", scores)
    if array.ndim != 1:
        raise InputError(explain("scores", f"have shape {array.shape}", "have shape (n,)"))
    if not array.size:
        raise InputError(explain("scores", "are empty", "have at least one candidate"))
    if not isfinite(array.sum()):  # quick, and right unless finite scores overflow
        _all_are("scores", array, np.isfinite, "be finite", "drop the candidates without a score before re-ranking.")
    return frozen(array)


def _memberships(categories: CategoriesLike, n: int) -> Memberships:
    rows = _sparse_rows(categories) if _is_sparse(categories) else _dense_rows(categories)
    if rows.n_candidates != n:
        shape = (rows.n_candidates, rows.n_categories)
        raise InputError(explain("categories", f"have shape {shape}", f"have shape ({n}, r), a row for each score"))
    if not rows.n_categories:
        raise InputError(explain("categories", f"have shape ({n}, 0)", "have at least one category"))
    return _normalised_rows(rows)


def _dense_rows(categories: Any) -> Memberships:
    array = numbers("categories", categories)
    if array.ndim != 2:
        raise InputError(explain("categories", f"have shape {array.shape}", "have shape (n, r)"))
    n, r = array.shape
    places = np.flatnonzero(array)
    starts = np.searchsorted(places, np.arange(0, n * r + 1, r)) if r else np.zeros(n + 1, dtype=np.int64)
    return Memberships(starts, places % max(r, 1), array.ravel()[places], r)


def _is_sparse(categories: object) -> bool:
    # Whoever has a sparse matrix has loaded scipy.sparse already; nobody else should have to.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(categories))


def _sparse_rows(categories: Any) -> Memberships:
    from scipy.sparse import csr_array

    if categories.ndim != 2:
        raise InputError(explain("categories", f"have shape {categories.shape}", "have shape (n, r)"))
    matrix = csr_array(categories, copy=True)
    matrix.data = numbers("categories", matrix.data)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Memberships(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data, int(matrix.shape[1])
    )


def _normalised_rows(rows: Memberships) -> Memberships:
    values = rows.values
    sums = _row_sums(rows)
    least, most = sums.min(), sums.max()
    if not (values.min(initial=0.0) >= 0.0 and most < np.inf):  # a NaN fails both
        at = int(np.argmin(_is_share(values)))
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        where = f"row {row}, column {int(rows.indices[at])} is {values[at]}"
        raise InputError(explain("categories", where, "be finite and at least 0"))
    if max(most - 1.0, 1.0 - least) > SUM_TOLERANCE:
        row = int(np.argmax(np.abs(sums - 1.0) > SUM_TOLERANCE))
        hint = "divide each row by its sum." if sums[row] else "give items without a category one of their own."
        raise InputError(explain("categories", f"row {row} sums to {sums[row]:.6g}", "sum to 1", hint))
    if not least == most == 1.0:
        values = values / np.repeat(sums, np.diff(rows.indptr))
    return Memberships(frozen(rows.indptr), frozen(rows.indices), frozen(values), rows.n_categories)


def _row_sums(rows: Memberships) -> Floats:
    counts = rows.indptr[1:] - rows.indptr[:-1]
    if counts.all():  # what reduceat needs, and three times as quick
        return np.asarray(np.add.reduceat(rows.values, rows.indptr[:-1]))
    return sums_by(np.repeat(np.arange(rows.n_candidates), counts), rows.values, rows.n_candidates)


def _target(target: ArrayLike, r: int) -> Floats:
    array = numbers("target", target)
    if array.shape != (r,):
        raise InputError(explain("target", f"has shape {array.shape}", f"have shape ({r},), one for each category"))
    total = float(array.sum())
    if not (array.min() >= 0.0 and isfinite(total)):
        _all_are("target", array, _is_share, "be finite and at least 0", "")
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(explain("target", f"sums to {total:.6g}", "sum to 1", "divide it by its sum."))
    return frozen(array / total)


def _slots(k: int | None, n: int) -> int:
    if k is None:
        return n
    if not _is_whole(k):
        raise InputTypeError(explain("k", f"is {k!r}", "be a whole number or None"))
    if not 1 <= k <= n:
        hint = "pass more candidates, or a smaller k." if k > n else "leave k out for as many slots as candidates."
        raise InputError(explain("k", f"is {k}", f"be at least 1 and at most the number of candidates ({n})", hint))
    return int(k)


def _trade_off(trade_off: float) -> float:
    if not _is_real(trade_off):
        raise InputTypeError(explain("trade_off", f"is {trade_off!r}", "be a number from 0 to 1"))
    value = float(trade_off)
    if not 0.0 <= value <= 1.0:
        raise InputError(explain("trade_off", f"is {value}", "be from 0 (relevance only) to 1 (calibration only)"))
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_share(array: Floats) -> Any:
    return np.isfinite(array) & (array >= 0)


def _all_are(argument: str, array: Floats, test: Callable[[Floats], Any], must: str, hint: str) -> None:
    good = test(array)
    if not good.all():
        at = int(np.argmin(good))
        raise InputError(explain(argument, f"element {at} is {array[at]}", must, hint))
