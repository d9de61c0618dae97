"""The protocol for any ratings: users' positives as sparse rows, and a split into train, validation and test.

Users with too few positives are left out, and a fifth of a held-out user's items is hidden. All of it depends on the
seed and the users' ids alone, never on the order of rows: a user's own split is drawn by (seed, user id).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr import _seeds as seeds
from excalibr._arrays import frozen, indices, is_real, is_whole, numbers, run_starts, spans, starts_of
from excalibr._messages import Message, Option
from excalibr._options import one_of
from excalibr._sparse import SparseRows, build_rows, freeze_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError

SPLITS = ("random", "time")
"""What is hidden of a user's positives: any of them, or the latest."""

Values: TypeAlias = Literal["ones", "ratings", "timestamps"]


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Who liked what, how much and when: a row for each user, items of a row in the order of their index.

    Attributes
    ----------
    user_ids
        (users,) the caller's ids, in ascending order; row i is user ``user_ids[i]``.
    item_ids
        (items,) the same for columns.
    indptr
        (users + 1,) row i holds entries ``indptr[i]`` to ``indptr[i + 1]`` of the following.
    items
        (entries,) columns.
    ratings, timestamps
        (entries,)

    Examples
    --------
    Two users, each with two of three items:

    >>> liked = positives([7, 7, 9, 9], [1, 2, 2, 3], [5, 4, 4, 5], minimum=2)
    >>> liked.item_ids.tolist(), liked.matrix.toarray().tolist()
    ([1, 2, 3], [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    """

    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    indptr: Integers
    items: Integers
    ratings: Floats
    timestamps: Integers

    def __post_init__(self) -> None:
        for array in (self.user_ids, self.item_ids, self.indptr, self.items, self.ratings, self.timestamps):
            frozen(array)

    @cached_property
    def matrix(self) -> SparseRows:
        """(users, items) sparse, 1 for each entry."""
        return self.values("ones")

    def values(self, which: Values) -> SparseRows:
        """(users, items) sparse, of ones, ratings or timestamps; what :mod:`excalibr.targets` weighs histories by."""
        one_of(get_args(Values))("which", which)
        data = np.ones(len(self.items)) if which == "ones" else np.array(getattr(self, which), dtype=np.float64)
        return freeze_rows(build_rows(data, self.items.copy(), self.indptr.copy(), len(self.item_ids)))

    @property
    def counts(self) -> Integers:
        """(items,) how many users have each item; what popularity is made from."""
        return np.bincount(self.items, minlength=len(self.item_ids)).astype(np.int64)

    def of_users(self, rows: ArrayLike) -> Interactions:
        """Some of the users, by their rows, in the order given, or by a mask; every item stays."""
        chosen = indices("rows", rows, len(self.user_ids))
        sizes = np.diff(self.indptr)[chosen]
        return self._take(self.user_ids[chosen], starts_of(sizes), spans(self.indptr[chosen], sizes))

    def where(self, kept: Booleans) -> Interactions:
        """Some of the entries, (entries,) booleans; every user and item stays."""
        kept = np.asarray(kept)
        if kept.dtype != np.bool_ or kept.shape != self.items.shape:  # zeros and ones would be places
            found = f"has shape {kept.shape} and type {kept.dtype}"
            raise InputError("kept", found, f"be {len(self)} booleans, one for each entry")
        owners = np.repeat(np.arange(len(self.user_ids)), np.diff(self.indptr))
        sizes = np.bincount(owners[kept], minlength=len(self.user_ids))
        return self._take(self.user_ids.copy(), starts_of(sizes), np.flatnonzero(kept))

    def _take(self, user_ids: NDArray[Any], indptr: Integers, entries: Integers) -> Interactions:
        parts = (self.items[entries], self.ratings[entries], self.timestamps[entries])
        return Interactions(user_ids, self.item_ids, indptr, *parts)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Interactions({len(self.user_ids):,} users, {len(self.item_ids):,} items, {len(self):,} entries)"


def positives(
    user_ids: ArrayLike,
    item_ids: ArrayLike,
    ratings: ArrayLike,
    timestamps: ArrayLike | None = None,
    *,
    above: float = 3.5,
    minimum: int = 5,
) -> Interactions:
    """The ratings above a threshold, of the users that have enough of them.

    Items are those that are left with at least one positive. The order of the rows given does not matter.

    Parameters
    ----------
    user_ids, item_ids
        (ratings,) each, all whole numbers or all texts; no pair of user and item twice.
    ratings
        (ratings,) numbers; a rating that is missing (nan) is no positive.
    timestamps
        (ratings,) numbers, whose fractions are cut off, or moments (datetime64), none missing. Without them they are 0.
    above
        A rating is positive if it is greater than this.
    minimum
        Users with fewer positives are dropped.

    Examples
    --------
    >>> positives([7, 7, 7, 9], [1, 2, 3, 1], [5, 4, 3, 5], minimum=2)
    Interactions(1 users, 2 items, 2 entries)
    """
    if not is_real(above):
        raise InputTypeError("above", f"is {above!r}", "be a number")
    if not is_real(minimum):
        raise InputTypeError("minimum", f"is {minimum!r}", "be a number of positives")
    users, items = _ids("user_ids", user_ids), _ids("item_ids", item_ids)
    values = numbers("ratings", ratings)
    times = np.zeros(values.shape, dtype=np.int64) if timestamps is None else _times(timestamps)
    shapes = [part.shape for part in (users, items, values, times)]
    if len(set(shapes)) > 1 or users.ndim != 1:
        found = f"have shapes {', '.join(map(str, shapes))}"
        raise InputError("user_ids, item_ids, ratings and timestamps", found, "all have shape (ratings,)")
    liked = np.flatnonzero(values > above)
    names, rows, sizes = np.unique(users[liked], return_inverse=True, return_counts=True)
    enough = sizes >= minimum
    liked, rows = liked[enough[rows]], (np.cumsum(enough) - 1)[rows[enough[rows]]]
    if not len(liked):
        hint = Message("is the scale another one? Pass ", Option("above", ...), " and ", Option("minimum", ...), ".")
        raise InputError("ratings", "leave no user", "leave at least one with enough positives", hint)
    item_names, columns = np.unique(items[liked], return_inverse=True)
    order = np.lexsort((columns, rows))
    entries = liked[order]
    twice = ~run_starts(rows[order], columns[order])
    if twice.any():
        at = entries[int(np.argmax(twice))]
        found = f"have user {users[at]} and item {items[at]} twice"
        raise InputError("ratings", found, "have each pair once", "keep the latest of each.")
    parts = (columns[order].astype(np.int64), values[entries], times[entries])
    return Interactions(names[enough], item_names, starts_of(sizes[enough]), *parts)


def _ids(argument: str, ids: Any) -> NDArray[Any]:
    """Ids that can be sorted; one that is missing would become a user or an item of its own."""
    found = np.asarray(ids)
    if np.ma.is_masked(ids):
        missing = np.ravel(np.ma.getmaskarray(ids))
    elif found.dtype.kind == "O":
        missing = np.array([value is None or bool(np.any(value != value)) for value in found.flat], dtype=np.bool_)
        kinds = set(map(type, found.flat))
        alike = any(all(issubclass(kind, each) for kind in kinds) for each in (str, (int, np.integer)))
        if not missing.any() and len(kinds) > 1 and not alike:
            named = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise InputTypeError(argument, f"are of the types {named}", "be all whole numbers or all texts")
    else:
        missing = np.ravel(found != found)
    if missing.any():
        hint = "leave out rows without one."
        raise InputError(argument, f"are missing in row {int(np.argmax(missing))}", "be there in every row", hint)
    return found


def _times(timestamps: Any) -> Integers:
    """Times as whole numbers, of which only the order counts."""
    found = np.asarray(timestamps)
    if found.dtype.kind not in "iuM":  # as numbers, large whole ones would be rounded
        found = numbers("timestamps", timestamps)
    missing = np.isnat(found) if found.dtype.kind == "M" else ~np.isfinite(found)
    if np.ma.is_masked(timestamps):
        missing = np.ma.getmaskarray(timestamps)
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError("timestamps", f"are missing in row {row}", "be there in every row", "pass none at all.")
    if found.dtype.kind in "uf":
        large = np.abs(found) >= (np.uint64(2**63) if found.dtype.kind == "u" else 2.0**63)
        if large.any():
            at = int(np.argmax(large))
            raise InputError("timestamps", f"are {found.flat[at]:g} in row {at}", "be below 2**63")
    return found.astype(np.int64)


_PAPER_SIZE = 5000  # users to validate and to test on, of MovieLens 20M's 136,000


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutUsers:
    """Users whom no model was trained on: what is known of them, and what is to be predicted.

    Attributes
    ----------
    history
        What a model may see.
    held_out
        What it is judged by; the same users in the same order.
    """

    history: Interactions
    held_out: Interactions


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Users to train on, users to choose hyper-parameters on, and users to report on; none in two of them.

    The regularisation and the trade-off are chosen on ``validation``, and never on ``test``.
    """

    train: Interactions
    validation: HeldOutUsers
    test: HeldOutUsers
    seed: int


def split_users(
    interactions: Interactions,
    *,
    validation: int | float | None = None,
    test: int | float | None = None,
    held_out: float = 0.2,
    seed: int = 0,
    by: str = "random",
) -> Split:
    """Split users at random into training, validation and test users, and hide some positives of the latter two.

    Parameters
    ----------
    interactions
        From :func:`excalibr.datasets.positives`.
    validation, test
        How many users: a whole number, or a share below 1. None is the paper's 5,000, or a tenth of the users where
        that is fewer.
    held_out
        The share of a validation or test user's positives that is hidden.
    seed
        The same seed gives the same split on any machine.
    by
        "random" hides positives at random; "time" hides the latest, as :func:`hold_out` does.

    Examples
    --------
    >>> from excalibr.datasets import positives
    >>> users = [user for user in range(20) for _ in range(5)]
    >>> split = split_users(positives(users, list(range(5)) * 20, [5] * 100), validation=0.1, test=4)
    >>> split.train
    Interactions(14 users, 5 items, 70 entries)
    """
    users = len(interactions.user_ids)
    sizes = [_size("validation", validation, users), _size("test", test, users)]
    if sum(sizes) >= users:
        found = f"and test take {sum(sizes)} users"
        raise InputError("validation", found, f"leave at least one of the {users} to train on")
    order = np.argsort(seeds.uniforms(_seed(seed), "users", users), kind="stable")
    first, second = np.sort(order[: sizes[0]]), np.sort(order[sizes[0] : sum(sizes)])
    return Split(
        train=interactions.of_users(np.sort(order[sum(sizes) :])),
        validation=hold_out(interactions.of_users(first), share=held_out, seed=seed, by=by),
        test=hold_out(interactions.of_users(second), share=held_out, seed=seed, by=by),
        seed=seed,
    )


def hold_out(interactions: Interactions, *, share: float = 0.2, seed: int = 0, by: str = "random") -> HeldOutUsers:
    """Hide a share of each user's positives: rounded down, at least one, and never all.

    Parameters
    ----------
    interactions
        At least two for every user.
    share
        The share of each user's positives that is hidden, between 0 and 1.
    seed
        The same seed hides the same, whatever the order of users.
    by
        "random" hides any of a user's, "time" the latest.

    Examples
    --------
    >>> from excalibr.datasets import positives
    >>> users = hold_out(positives([1] * 10, range(10), [5] * 10))
    >>> len(users.history), len(users.held_out)
    (8, 2)
    """
    if not is_real(share) or not 0.0 < share < 1.0:
        raise InputError("share", f"is {share!r}", "be between 0 and 1", "0.2 hides a fifth.")
    one_of(SPLITS)("by", by)
    sizes = np.diff(interactions.indptr)
    if sizes.min(initial=2) < 2:
        user = interactions.user_ids[int(np.argmin(sizes))]
        hint = "drop users with few positives: positives(…, minimum=5)."
        raise InputError("interactions", f"have {sizes.min()} of user {user}", "have at least 2 a user", hint)
    hidden = np.zeros(len(interactions), dtype=np.bool_)
    users = zip(interactions.user_ids.tolist(), interactions.indptr[:-1].tolist(), sizes.tolist(), strict=True)
    for user, start, size in users:
        draws = seeds.uniforms(_seed(seed), ("held out", user), size)
        times = interactions.timestamps[start : start + size]
        order = np.lexsort((draws, -times)) if by == "time" else np.argsort(draws, kind="stable")
        count = min(max(int(size * share + 1e-9), 1), size - 1)  # 0.29 * 100 is a little below 29
        hidden[start + order[:count]] = True
    return HeldOutUsers(interactions.where(~hidden), interactions.where(hidden))


def _size(argument: str, size: int | float | None, users: int) -> int:
    if size is None:
        return max(1, min(_PAPER_SIZE, users // 10))
    if not is_real(size):
        raise InputTypeError(argument, f"is {size!r}", "be a number of users, a share of them, or None")
    count = round(size * users) if isinstance(size, (float, np.floating)) and 0 < size < 1 else size
    if not (1 <= count < np.inf) or count != int(count):
        found = f"is {size}" if count == size else f"is {size}, which is {count} of {users} users"
        raise InputError(argument, found, "be at least one user: a whole number, or a share below 1")
    return int(count)


def _seed(seed: int) -> int:
    if not is_whole(seed):
        raise InputTypeError("seed", f"is {seed!r}", "be a whole number")
    return int(seed)
