r"""Where the target comes from: a user's history, weighted by recency or rating, with a prior; uniform; or fixed.

Arrays in, arrays out. ``history`` is for one user, ``histories`` for many at once; both give the same numbers. With
item shares :math:`a_i`, item weights :math:`w_i` and a prior :math:`q^0` of strength :math:`\alpha` the target is

.. math:: q = \frac{\sum_i w_i a_i + \alpha q^0}{\sum_i w_i + \alpha}

A share below 1e-12 of the total is taken as 0: weights that halve with age leave traces of what was long ago.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import distribution, finite_numbers, first_true, numbers, require_shape, sums_by, whole_numbers
from excalibr._messages import Message, Option
from excalibr._native import kernel
from excalibr._options import real_number, whole_number
from excalibr._problem import Memberships
from excalibr._types import Floats, Integers
from excalibr.errors import InputError

__all__ = ["NEGLIGIBLE", "fixed", "histories", "history", "rating_weights", "recency_weights", "shares_of", "uniform"]


NEGLIGIBLE = 1e-12
"""A share of the total below which a category counts as absent."""

_LITTLE_HISTORY = Message("pass ", Option("prior", ...), " and ", Option("strength", ...), " for little or no history.")

checked_half_life = real_number("be above 0", lambda value: value > 0.0)
checked_strength = real_number("be a finite number of at least 0", lambda value: 0.0 <= value < inf)
_checked_number = real_number("be a finite number", isfinite)
_checked_categories = whole_number(1, or_none=False)
_checked_users = whole_number(0)


def history(
    categories: Any,
    items: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    strength: float = 0.0,
) -> Floats:
    """The category distribution of one user's history.

    Parameters
    ----------
    categories
        (items, r) each item's share of each category, an array or a sparse matrix; rows sum to 1, or are all 0 for
        items without a category, which count for nothing.
    items
        (h,) which items the user has, as rows of ``categories``.
    weights
        (h,) how much each of them counts, at least 0; None is 1. See :func:`recency_weights`, :func:`rating_weights`.
    prior
        (r,) what is believed before the history is seen, such as everybody's distribution; sums to 1.
    strength
        How many items the prior is worth: the result is the mean of a Dirichlet posterior with ``strength * prior`` as
        pseudo-counts.
        A long history outweighs it; an empty one gives the prior itself.

    Returns
    -------
    (r,)
        Sums to 1.

    Raises
    ------
    InputError, InputTypeError
        Where arrays do not fit together, or the history is empty or counts for nothing and there is no prior.

    Examples
    --------
    Two comedies and a drama; then the same with a prior that is worth one item:

    >>> categories = [[1, 0], [1, 0], [0, 1]]
    >>> history(categories, [0, 1, 2]).round(3).tolist()
    [0.667, 0.333]
    >>> history(categories, [0, 1, 2], prior=[0.0, 1.0], strength=1).tolist()
    [0.5, 0.5]
    """
    shares = _rows("categories", categories, ("items", "r"))
    n = shares.n_candidates
    rows = whole_numbers("items", items, ("h",), "rows of categories", below=n)
    counted = np.ones(len(rows))
    if weights is not None:
        counted = numbers("weights", weights, rows.shape, "one for each item of the history")
    one = Memberships(np.array([0, len(rows)]), rows, counted, n)
    sums = _category_sums(shares, one, prior, strength)
    if not sums.values.any():
        if len(rows) and not counted.any():
            raise InputError("weights", "are all 0", "have one above 0", _LITTLE_HISTORY)
        found = "have no category where their weight is above 0" if len(rows) else "are empty"
        raise InputError("items", found, "have at least one with a category", _LITTLE_HISTORY)
    return sums.as_shares(NEGLIGIBLE).row(0)


def histories(
    categories: Any, weights: Any, *, prior: ArrayLike | None = None, strength: float = 0.0, sparse: bool = False
) -> Any:
    """The category distributions of many users' histories at once.

    Parameters
    ----------
    categories
        (items, r) as in :func:`history`.
    weights
        (users, items) sparse: how much each item of each history counts. Ones count every item alike.
    prior, strength
        As in :func:`history`, the same for all users.
    sparse
        Whether to return a ``scipy.sparse`` array, for more categories than fit beside one another for every user.

    Returns
    -------
    (users, r)
        Rows sum to 1. :func:`excalibr.calibrate_batch` takes them in either form.

    Raises
    ------
    InputError, InputTypeError
        As :func:`history`, for the first row that is at fault.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> histories([[1, 0], [0, 1]], csr_array([[1, 1], [1, 0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    shares = _rows("categories", categories, ("items", "r"))
    sums = _category_sums(shares, _rows("weights", weights, ("users", "items")), prior, strength)
    found_shares = sums.as_shares(NEGLIGIBLE)
    row = first_true(np.diff(found_shares.indptr) == 0)
    if row is not None:
        found = f"row {row} has no item with a category and a weight above 0"
        raise InputError("weights", found, "have at least one", _LITTLE_HISTORY)
    return found_shares.sparse() if sparse else found_shares.dense()


def shares_of(sums: Floats) -> Floats:
    """(users, r) each row divided by its sum, with shares below NEGLIGIBLE of it set to 0; nan where it sums to 0.

    >>> shares_of(np.array([[3.0, 1.0, 1e-300], [1e-300, 1e-300, 0.0]])).tolist()
    [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]
    """
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite stays so, for whoever checks it
        kept = np.where(sums < NEGLIGIBLE * sums.sum(axis=1, keepdims=True), 0.0, sums)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def recency_weights(timestamps: Any, half_life: float, *, now: float | None = None) -> Any:
    r"""Weights that halve with every ``half_life`` of age: :math:`w = 2^{-(\mathrm{now} - t) / \text{half-life}}`.

    Parameters
    ----------
    timestamps
        (h,) for one user; or (users, items) sparse for many, and so are the weights then.
    half_life
        In the unit of the timestamps (``30 * 86400`` is thirty days of Unix seconds), above 0.
    now
        The moment from which age counts; None is each user's own latest timestamp, whose weight is then 1, however
        long ago it is. What is later than ``now`` has weight 1.

    Examples
    --------
    >>> recency_weights([0, 10, 20], half_life=10).tolist()
    [0.25, 0.5, 1.0]
    """
    if not _is_sparse(timestamps):
        shape_of_many = "of one user, or be sparse of shape (users, items)"
        times = finite_numbers("timestamps", timestamps, ("h",), shape_of_many)
        return recency_by_user(times, np.array([0, len(times)]), half_life, now)
    rows = _by_user("timestamps", timestamps)
    rows.data = recency_by_user(finite_numbers("timestamps", rows.data), rows.indptr, half_life, now)
    return rows


def recency_by_user(times: Floats, starts: Integers, half_life: float, now: float | None = None) -> Floats:
    """The same for many users: user u has the times ``starts[u]`` to ``starts[u + 1]``."""
    checked_half_life("half_life", half_life)
    if now is not None:
        _checked_number("now", now)
    sizes = np.diff(starts)
    latest = np.zeros(len(sizes)) if now is None else np.full(len(sizes), float(now))
    if now is None and len(times):
        latest[sizes > 0] = np.maximum.reduceat(times, starts[:-1][sizes > 0])
    with np.errstate(over="ignore", under="ignore"):  # what is very old weighs nothing
        return np.asarray(np.exp2(-np.maximum(np.repeat(latest, sizes) - times, 0.0) / half_life))


def rating_weights(ratings: Any, *, above: float = 0.0) -> Any:
    """Weights in proportion to how far a rating is above a floor; 0 for those below.

    Parameters
    ----------
    ratings
        (h,) for one user; or (users, items) sparse for many, and so are the weights then.
    above
        The rating whose weight is 0, as for any below; 3.5 makes five stars weigh three times as much as four.

    Examples
    --------
    >>> rating_weights([4, 5, 3], above=3.5).tolist()
    [0.5, 1.5, 0.0]
    """
    _checked_number("above", above)
    if not _is_sparse(ratings):
        return np.maximum(finite_numbers("ratings", ratings) - above, 0.0)
    rows = _by_user("ratings", ratings)
    rows.data = np.maximum(finite_numbers("ratings", rows.data) - above, 0.0)
    return rows


def uniform(r: int, users: int | None = None) -> Floats:
    """The same share for each of r categories: (r,), or (users, r).

    Parameters
    ----------
    r
        Number of categories, at least 1.
    users
        How many rows; None is one user, (r,).

    >>> uniform(4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    _checked_categories("r", r)
    return fixed(np.full(r, 1.0 / r), users)


def fixed(shares: ArrayLike, users: int | None = None) -> Floats:
    """The caller's own shares, checked: (r,), or the same for many users, (users, r).

    >>> fixed([0.75, 0.25], users=2).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    own = _distribution("shares", shares, "r")
    if users is None:
        return own
    _checked_users("users", users)
    return np.tile(own, (users, 1))


def _distribution(argument: str, given: ArrayLike, r: int | str) -> Floats:
    """(r,) shares that sum to 1 as exactly as they can."""
    shares = distribution(argument, given, (r,), "one for each category")
    return np.asarray(shares / shares.sum())


def _category_sums(shares: Memberships, weights: Memberships, prior: ArrayLike | None, strength: float) -> Memberships:
    """Users × r what each user has of each category, with the prior; ``weights`` has one row per user."""
    wanted = ("users", shares.n_candidates)
    require_shape("weights", (weights.n_candidates, weights.n_categories), wanted, "one column per item")
    _require_numbers("weights", weights, "item")
    _require_distributions("categories", shares)
    sums = shares.sums(weights.indices, weights.owners, weights.values, weights.n_candidates)
    _check_prior(prior, strength)
    if prior is not None:
        sums = sums.plus(np.full(sums.n_candidates, strength), _distribution("prior", prior, shares.n_categories))
    totals = sums_by(sums.owners, sums.values, sums.n_candidates)  # what overflows is refused
    row = first_true(~np.isfinite(totals))
    if row is not None:
        raise InputError("weights", f"of row {row} add up to infinity", "have a finite sum, with the prior's strength")
    return sums


def _is_sparse(matrix: object) -> bool:
    return hasattr(matrix, "tocsr")


def _by_user(argument: str, matrix: Any) -> Any:
    """A copy of a sparse matrix by rows; entries of one place, which scipy would add up, are refused."""
    rows = matrix.tocsr().copy()
    if getattr(matrix, "format", "") == "coo" and rows.nnz < matrix.nnz:
        must, hint = "have one entry for each of them", "keep the latest one of each."
        raise InputError(argument, "have several entries of a user and an item", must, hint)
    return rows


def _rows(argument: str, matrix: Any, shape: tuple[str, str]) -> Memberships:
    """A matrix by rows, as it is given."""
    table = matrix if _is_sparse(matrix) else numbers(argument, matrix)
    require_shape(argument, tuple(table.shape), shape)
    if not _is_sparse(matrix):
        return Memberships.packed(table)
    rows = matrix.tocsr()
    return Memberships(rows.indptr, rows.indices, numbers(argument, rows.data), rows.shape[1])


def _require_distributions(argument: str, rows: Memberships) -> None:
    """Each row must sum to 1; or to 0, of an item that has no category, and counts for nothing."""
    _require_numbers(argument, rows, "column")
    with np.errstate(over="ignore"):
        sums = sums_by(rows.owners, rows.values, rows.n_candidates)
    row = first_true((np.abs(sums - 1.0) > kernel.SUM_TOLERANCE) & (sums != 0.0))
    if row is not None:
        raise InputError(argument, f"row {row} sums to {sums[row]:.6g}", "sum to 1", "divide each row by its sum.")


def _require_numbers(argument: str, rows: Memberships, column: str) -> None:
    at = first_true(~(np.isfinite(rows.values) & (rows.values >= 0)))
    if at is not None:
        where = f"row {int(rows.owners[at])}, {column} {int(rows.indices[at])} is {rows.values[at]}"
        raise InputError(argument, where, "be finite and at least 0")


def _check_prior(prior: ArrayLike | None, strength: float) -> None:
    """A prior without a strength, or the other way round, is a mistake."""
    checked_strength("strength", strength)
    if (prior is None) != (strength == 0):
        found = f"is {strength} {'without' if prior is None else 'with'} a prior"
        must, hint = "be above 0 with a prior, and 0 without", "strength=10 makes the prior worth ten items."
        raise InputError("strength", found, must, hint)
