"""The primal side of a balance, as it is kept: passes with their prices, and with which probability each is drawn.

Users are in blocks by a number that belongs to their key alone, so that tomorrow's users have one too. A user draws the
pass by the probabilities of their block, then the ranking; here both are one lottery, pass after pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from excalibr import _seeds
from excalibr._arrays import spans, starts_of
from excalibr._many_users import Solver
from excalibr._parallel import Advance, over_ranges
from excalibr._policy import Lotteries
from excalibr._problem import Batch, Status
from excalibr._types import Floats, Integers

Result = TypeVar("Result")

BLOCK_PER_USER = 1 << 62
"""Blocks enough that every user has one alone."""


def block_of(key: Hashable, n_blocks: int) -> int:
    """The block of a user, by nothing but the key.

    >>> block_of("ada", 1000), block_of("bob", 1000)
    (887, 621)
    """
    digest = hashlib.blake2b(_seeds.encode(key), digest_size=8, person=b"block").digest()
    return int.from_bytes(digest, "little") % n_blocks


@dataclass(frozen=True, eq=False)
class Mixture:
    """A lottery over passes for every block of users.

    Attributes
    ----------
    prices
        (passes, G) the prices of the groups.
    probabilities
        (passes,) for blocks that are not listed: the mean over all users.
    n_blocks
        How many blocks there are.
    blocks
        (blocks,) those that are listed, rising.
    weights
        (passes, blocks) the probabilities of each of them.
    """

    prices: Floats
    probabilities: Floats
    n_blocks: int
    blocks: Integers
    weights: Floats

    @classmethod
    def single(cls, prices: Floats) -> Mixture:
        """One pass for everybody."""
        return cls(prices[None], np.ones(1), 1, np.empty(0, np.int64), np.empty((1, 0)))

    def probabilities_of(self, keys: Sequence[Hashable]) -> Floats:
        """(passes, users) the probability of each pass for each user."""
        weights = np.repeat(self.probabilities[:, None], len(keys), axis=1)
        if len(self.blocks):
            own = np.array([block_of(key, self.n_blocks) for key in keys], dtype=np.int64)
            at = np.minimum(np.searchsorted(self.blocks, own), len(self.blocks) - 1)
            known = self.blocks[at] == own
            weights[:, known] = self.weights[:, at[known]]
        return weights


def solve_mixed(
    batch: Batch,
    item_prices: Floats,
    weights: Floats,
    finish: Callable[[Lotteries], Result],
    *,
    fall_back: bool = False,
    threads: int = 1,
    advance: Advance | None = None,
) -> Iterator[Result]:
    """As :func:`solve_users`, each user's lottery mixed from those of the passes.

    Parameters
    ----------
    item_prices
        (passes, rows) the prices of the items in each pass.
    weights
        (passes, users) with which probability a user draws each.
    """
    solver = mixed_solver(batch, item_prices, weights, fall_back=fall_back)
    yield from over_ranges(
        lambda first, last: finish(solver.solve(first, last)), batch.users, threads, advance, solver.cancel
    )


def mixed_solver(batch: Batch, item_prices: Floats, weights: Floats, *, fall_back: bool = False) -> Solver:
    """What solves ranges of users at the prices of each pass, and mixes each user's lotteries; in one time limit."""
    seconds, passes = batch.options.time_limit, (weights > 0).sum(axis=0).max(initial=0)
    if seconds is not None and passes > 1:
        batch = batch.renewed(options=replace(batch.options, time_limit=seconds / passes))
    solvers = [
        Solver.of(batch.with_item_prices(prices), fall_back=fall_back, wanted=own > 0)
        for prices, own in zip(item_prices, weights, strict=True)
    ]

    def solve(first: int, last: int) -> Lotteries:
        return _mixed([solver.solve(first, last) for solver in solvers], weights[:, first:last], batch)

    def cancel() -> None:
        for solver in solvers:
            solver.cancel()

    return Solver(solve, cancel)


def _mixed(parts: list[Lotteries], weights: Floats, batch: Batch) -> Lotteries:
    """One lottery a user: those of the passes one after another, each with the pass's probability."""
    if len(parts) == 1:
        return parts[0]
    first, users = parts[0].first, len(parts[0].counts)
    slots = batch.slots[first : first + users]
    main = np.where(np.array([part.counts for part in parts]) > 0, weights, -1.0).argmax(axis=0)
    counts = np.sum([np.where(weights[number] > 0, part.counts, 0) for number, part in enumerate(parts)], axis=0)
    places, chances = [np.empty(0, np.int64)], [np.empty(0)]
    begins = [(starts_of(part.counts), starts_of(part.counts * slots)) for part in parts]
    for user in range(users):
        there = [number for number, part in enumerate(parts) if weights[number, user] > 0 and part.counts[user]]
        total = sum(weights[number, user] for number in there)
        for number in there:
            part, (rankings, cells) = parts[number], begins[number]
            places.append(part.places[cells[user] : cells[user + 1]])
            chances.append(part.weights[rankings[user] : rankings[user + 1]] * (weights[number, user] / total))
    each = np.arange(users)
    price_counts, priced, prices = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("price_counts", "price_categories", "prices")
    )
    own = main * users + each
    entries = spans(starts_of(price_counts)[own], price_counts[own])
    errors = {user: error for part in parts for user, error in part.errors.items()}
    statuses = np.array([part.statuses for part in parts])
    late = (statuses == Status.TIME_LIMIT_REACHED) & (weights > 0)
    told = np.where(late.any(axis=0) & (statuses[main, each] < Status.NO_CANDIDATES), late.argmax(axis=0), main)
    return replace(
        parts[0],
        places=np.concatenate(places),
        weights=np.concatenate(chances),
        counts=counts,
        price_counts=price_counts[own],
        price_categories=priced[entries],
        prices=prices[entries],
        gaps=_mean([part.gaps for part in parts], weights),
        statuses=statuses[told, each],
        trade_offs=np.array([part.trade_offs for part in parts])[main, each],
        effort=type(parts[0].effort)(
            *(np.array(column)[told, each] for column in zip(*(part.effort for part in parts), strict=True))
        ),
        errors=errors,
        objectives=np.full(users, np.nan),
    )


def _mean(values: list[Floats], weights: Floats) -> Floats:
    """The mean over the passes that a user draws; nan where one of them has none."""
    return np.asarray(np.where(weights > 0, np.array(values) * weights, 0.0).sum(axis=0) / weights.sum(axis=0))
