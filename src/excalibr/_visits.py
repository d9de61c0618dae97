"""Which ranking of a lottery a key draws, or its t-th visit sees, so that a few visits are already near the target.

Each single visit sees every ranking with exactly its probability; visits of one key are dependent, and repeat as little
of one another as they can. The deal itself is the kernel's (``src/kernel/visits.hpp``): it knows rankings and weights
alone, so that stored lotteries draw the same, and random numbers that belong to (seed, key).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from excalibr import _seeds as seeds
from excalibr._arrays import is_whole
from excalibr._messages import Message, Wording
from excalibr._native import kernel
from excalibr._types import Floats, Integers
from excalibr.errors import InputError

DEAL = 64
"""So many visits belong to one deal; the next ones to another, whose random numbers are its own."""

LATEST_VISIT = 2**53 - 1
"""The last visit that every kind of table can count to."""


_VISITS = "be a whole number of at least 0 and below 2^53"


def read_visit(visit: object) -> int:
    """A visit as a number from 0."""
    if not is_whole(visit) or not 0 <= visit <= LATEST_VISIT:
        raise InputError("visit", f"is {visit!r}", Message(_VISITS, Wording(", or None", "")))
    return int(visit)


def choose_rankings(weights: Floats, counts: Integers, keys: Sequence[Hashable], seed: int | None) -> Integers:
    """For each key the ranking that it draws of its own ``counts[u]`` weights, or −1 where it has none.

    >>> choose_rankings(np.array([1.0, 0.5, 0.5]), np.array([1, 0, 2]), ["ada", "bob", "eve"], seed=1).tolist()
    [0, -1, 1]
    """
    drawn = np.full(len(counts), -1, dtype=np.int64)
    first, listed = 0, weights.tolist()
    for user, (key, count) in enumerate(zip(keys, counts.tolist(), strict=True)):
        if count:
            drawn[user] = seeds.choose_one(listed[first : first + count], seeds.uniform(seed, key))
            first += count
    return drawn


def choose_visits(
    places: Integers,
    weights: Floats,
    counts: Integers,
    slots: Integers,
    keys: Sequence[Hashable],
    seed: int | None,
    visits: Integers,
) -> Integers:
    """(users,) the ranking that each key's visit sees, counted from the user's first; −1 for users without any.

    ``places`` are the rankings of all users, slot by slot: any numbers from 0 that tell a user's items apart. A user
    has ``counts`` of them, with ``slots`` items each. Visits count from 0; −1 is none, and draws as
    :func:`choose_rankings` does. Two rankings of one item each, half and half, take turns:

    >>> places, halves, one = np.array([0, 1]), np.array([0.5, 0.5]), np.array([1])
    >>> [int(choose_visits(places, halves, np.array([2]), one, ["ada"], 1, np.array([t]))[0]) for t in range(6)]
    [1, 0, 1, 0, 1, 0]
    """
    deals, within = np.divmod(np.maximum(visits, 0), DEAL)
    parts = zip(keys, deals.tolist(), strict=True)
    draws = [seeds.uniforms(seed, (key, "visits", deal), 2) for key, deal in parts]
    chosen: Integers = kernel.visit_rankings(
        np.ascontiguousarray(places),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(counts),
        np.ascontiguousarray(slots),
        int(places.max(initial=-1)) + 1,
        np.reshape(np.array(draws, dtype=np.float64), (-1, 2)),
        within,
    )
    if (visits >= 0).all():
        return chosen
    return np.where(visits >= 0, chosen, choose_rankings(weights, counts, keys, seed))


def visit_sequence(
    rankings: Integers, weights: Floats, key: Hashable, seed: int | None, *, first: int, size: int
) -> Integers:
    """(size,) the rankings of one lottery that the visits of a key see from the first one asked on.

    They are those of :func:`choose_visits`, with one deal for up to :data:`DEAL` visits.

    >>> visit_sequence(np.array([[0], [1]]), np.array([0.5, 0.5]), "ada", 1, first=2, size=4).tolist()
    [1, 0, 1, 0]
    """
    if not size:
        return np.zeros(0, dtype=np.int64)
    lottery = (np.ascontiguousarray(rankings), np.ascontiguousarray(weights), int(rankings.max()) + 1)
    past = first + size
    dealt = [
        kernel.visit_sequence(*lottery, seeds.uniforms(seed, (key, "visits", deal), 2), min(DEAL, past - deal * DEAL))
        for deal in range(first // DEAL, (past - 1) // DEAL + 1)
    ]
    return np.concatenate(dealt)[first % DEAL :]
