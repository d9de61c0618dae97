"""The protocol: users split at random into train, validation and test, with a fifth of a held-out user's items hidden.

All of it depends on the seed and the users' ids alone, never on the order of rows: a user's own split is drawn by
(seed, user id).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import _seeds as seeds
from excalibr._arrays import is_real, is_whole
from excalibr._types import Booleans, Integers
from excalibr.datasets._interactions import Interactions
from excalibr.errors import InputError, InputTypeError, explain, unknown_name

__all__ = ["HeldOutUsers", "Split", "hold_out", "split_users"]

_PAPER_SIZE = 5000  # users to validate and to test on, of MovieLens 20M's 136,000


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutUsers:
    """Users that no model was trained on: what is known of them, and what is to be found.

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
    """Split users at random.

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
        raise InputError(explain("validation", found, f"leave at least one of the {users} to train on"))
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
        How much of each user's is hidden, between 0 and 1.
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
    if not 0.0 < share < 1.0:
        raise InputError(explain("share", f"is {share}", "be between 0 and 1", "0.2 hides a fifth."))
    if by not in ("random", "time"):
        raise unknown_name("by", by, ["random", "time"])
    sizes = np.diff(interactions.indptr)
    if sizes.min(initial=2) < 2:
        user = interactions.user_ids[int(np.argmin(sizes))]
        hint = "drop users with few positives: positives(…, minimum=5)."
        raise InputError(explain("interactions", f"have {sizes.min()} of user {user}", "have at least 2 a user", hint))
    times = np.split(interactions.timestamps, interactions.indptr[1:-1]) if by == "time" else [None] * len(sizes)
    users = zip(interactions.user_ids.tolist(), sizes.tolist(), times, strict=True)
    masks = [_hidden(_seed(seed), user, size, share, own) for user, size, own in users]
    hidden = np.concatenate(masks) if masks else np.zeros(0, dtype=np.bool_)
    return HeldOutUsers(interactions.where(~hidden), interactions.where(hidden))


def _hidden(seed: int, user: Any, size: int, share: float, times: Integers | None) -> Booleans:
    """(size,) True for the latest items, of equals, or of all without times, those with the smallest draws."""
    count = min(max(int(size * share + 1e-9), 1), size - 1)  # 0.29 * 100 is a little below 29
    mask = np.zeros(size, dtype=np.bool_)
    draws = seeds.uniforms(seed, ("held out", user), size)
    order = np.argsort(draws, kind="stable") if times is None else np.lexsort((draws, -times))
    mask[order[:count]] = True
    return mask


def _size(argument: str, size: int | float | None, users: int) -> int:
    if size is None:
        return max(1, min(_PAPER_SIZE, users // 10))
    if not is_real(size):
        raise InputTypeError(explain(argument, f"is {size!r}", "be a number of users, a share of them, or None"))
    count = round(size * users) if isinstance(size, (float, np.floating)) and size < 1 else size
    if count != int(count) or count < 1:
        found = f"is {size}" if count == size else f"is {size}, which is {count} of {users} users"
        raise InputError(explain(argument, found, "be at least one user: a whole number, or a share below 1"))
    return int(count)


def _seed(seed: int) -> int:
    if not is_whole(seed):
        raise InputTypeError(explain("seed", f"is {seed!r}", "be a whole number"))
    return int(seed)
