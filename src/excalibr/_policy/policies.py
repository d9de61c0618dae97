"""The answers of a batch: lotteries of a range of users as flat arrays, and all of them with policies on request."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from excalibr._arrays import frozen, is_whole, list_of, starts_of
from excalibr._policy.policy import Policy
from excalibr._problem import Batch, Problem
from excalibr._types import Floats, Integers
from excalibr._visits import choose_rankings, choose_visits
from excalibr.errors import ExcalibrError, InputTypeError


class SolveInfo(NamedTuple):
    """What a solve by the exact method took.

    Attributes
    ----------
    engine
        Which engine found the answer: "simplex" (column generation), "proximal" (Newton steps in exposure space),
        "interior" (column generation with an interior-point master), or "none" where nothing was left to decide.
    sorts
        How often the candidates were sorted, in all engines together.
    steps
        Pivots, Newton steps and interior-point steps, in all engines together.
    status
        "converged": the tolerance is proven; "sorts spent": ``max_sorts`` was reached first; "stalled": rounding left
        no room for more; "time limit reached": ``time_limit`` ended it, and another machine may find another lottery.
        The gap is proven in every case.
    seconds
        Time in the kernel.
    allowed_gap
        The gap that was asked: ``tolerance`` · (1 − λ)·(max s − min s), or, if larger, 1e-13 of the largest price;
        infinite for single and even draws, which have a gap to the best lottery by their nature.
    """

    engine: str
    sorts: int
    steps: int
    status: str
    seconds: float
    allowed_gap: float


class Effort(NamedTuple):
    """(users,) what each solve took: engine and solver status as the kernel's numbers, sorts and steps."""

    engines: Integers
    sorts: Integers
    steps: Integers
    statuses: Integers


def no_effort(users: int) -> Effort:
    """Of users whom the exact method did not solve."""
    nothing = np.zeros(users, dtype=np.int64)
    return Effort(nothing, nothing, nothing, nothing)


@dataclass(frozen=True, eq=False)
class Lotteries:
    """The lotteries of a range of users of a batch."""

    first: int  # the range's first user; the arrays of one entry per user begin with it
    places: Integers  # the rankings of all users: candidates, counted from the user's first, slot by slot
    weights: Floats  # the probability of each ranking, heaviest first for each user
    counts: Integers  # (users,) how many rankings each user has; none where the user could not be ranked
    price_counts: Integers  # (users,) of how many categories there are prices, which prove the optimum, …
    price_categories: Integers  # … which they are, user by user …
    prices: Floats  # … and their prices: see :meth:`Problem._prices_of`
    gaps: Floats  # (users,) nan where a method proves nothing
    statuses: Integers  # (users,) codes of :class:`Status`
    trade_offs: Floats  # (users,) what each was solved at, which a budget finds by itself
    objectives: Floats  # (users,) each one's own program's value, nan without
    effort: Effort
    errors: dict[int, ExcalibrError] = field(default_factory=dict)  # of users (in the batch) whose status is FAILED
    policies: dict[int, Policy] = field(default_factory=dict)  # by user, where they were made one by one

    @property
    def reasons(self) -> dict[int, str]:
        """What went wrong, in words."""
        return {user: error.args[0] for user, error in self.errors.items()}

    def of_users(self, first: int, last: int, slots: Integers) -> Lotteries:
        """Those of some users, counted from the range's first; ``slots`` (users,) are those of the whole range."""
        own, rankings, places = slice(first, last), starts_of(self.counts), starts_of(self.counts * slots)
        prices = slice(*starts_of(self.price_counts)[[first, last]])
        return replace(
            self,
            first=self.first + first,
            places=self.places[places[first] : places[last]],
            weights=self.weights[rankings[first] : rankings[last]],
            price_categories=self.price_categories[prices],
            prices=self.prices[prices],
            **{name: getattr(self, name)[own] for name in _BY_USER},
            effort=Effort(*(column[own] for column in self.effort)),
        )

    def chosen(
        self, keys: Sequence[Hashable], seed: int | None, slots: Integers, visits: Integers | None = None
    ) -> Integers:
        """(users,) the ranking that each key draws, counted from the user's first, as :meth:`Policy.sample` does.

        ``slots`` and ``visits`` have an entry for each user of the range; a visit of −1 is none. −1 where the user has
        no ranking.
        """
        if visits is None:
            return choose_rankings(self.weights, self.counts, keys, seed)
        return choose_visits(self.places, self.weights, self.counts, slots, keys, seed, visits)


_BY_USER = ("counts", "price_counts", "gaps", "statuses", "trade_offs", "objectives")
_ARRAYS = ("places", "weights", "price_categories", "prices", *_BY_USER)


@dataclass(frozen=True, eq=False, repr=False)
class Policies(Sequence[Policy]):
    """What :func:`excalibr.calibrate_batch` answers: a :class:`Policy` for each user, built when it is asked for.

    ``statuses`` says what became of each user. ``policies[u]`` of a user who could not be calibrated raises the error
    that :func:`excalibr.calibrate` raises for the user's numbers.
    """

    batch: Batch
    lotteries: Lotteries

    @property
    def statuses(self) -> Integers:
        """(users,) codes of :class:`Status`."""
        return self.lotteries.statuses

    @property
    def gaps(self) -> Floats:
        """(users,) each policy's proven gap; nan where there is none."""
        return self.lotteries.gaps

    def sample(self, seed: int | None, keys: Iterable[Hashable]) -> list[Integers]:
        """A ranking for each user by (seed, key), the same that ``policies[u].sample(seed, key)`` draws.

        A user who could not be calibrated has an empty one.
        """
        listed = list_of("keys", keys, len(self), "a key for each user")
        drawn = self.lotteries.chosen(listed, seed, self.batch.slots)
        return [self._rankings(user)[row] if row >= 0 else np.empty(0, np.int64) for user, row in enumerate(drawn)]

    def __len__(self) -> int:
        return self.batch.users

    @overload
    def __getitem__(self, user: int) -> Policy: ...
    @overload
    def __getitem__(self, user: slice) -> list[Policy]: ...
    def __getitem__(self, user: int | slice) -> Policy | list[Policy]:
        """The policy of one user, or a list of those of several."""
        if isinstance(user, slice):
            return [self[each] for each in range(len(self))[user]]
        if not is_whole(user):
            raise InputTypeError("user", f"is {user!r}", "be a whole number or a slice")
        if not -len(self) <= user < len(self):
            raise IndexError(f"there are {len(self)} users, and user {user} is not one of them")
        user = user % len(self)
        if user in self.lotteries.policies:
            return self.lotteries.policies[user]
        if user in self.lotteries.errors:
            error = self.lotteries.errors[user]
            raise type(error)(*error.args)
        problem = self.batch.problem(user)
        if not self.lotteries.counts[user]:
            raise self.batch.error(user)
        trade_off = float(self.lotteries.trade_offs[user])
        if trade_off == trade_off and trade_off != problem.trade_off:  # a budget finds its own
            problem = Problem(problem.batch, user, trade_off)
        weights = self.lotteries.weights[self._starts[user] : self._starts[user + 1]]
        own = slice(*self._price_starts[[user, user + 1]])
        prices = (self.lotteries.price_categories[own], self.lotteries.prices[own])
        gap = float(self.lotteries.gaps[user])
        return Policy._solved(problem, frozen(self._rankings(user)), frozen(weights), gap, prices)

    def __iter__(self) -> Iterator[Policy]:
        return (self[user] for user in range(len(self)))

    def __repr__(self) -> str:
        return f"Policies({len(self)} users, {int((self.lotteries.counts > 0).sum())} of them calibrated)"

    @cached_property
    def _starts(self) -> Integers:
        return starts_of(self.lotteries.counts)

    @cached_property
    def _price_starts(self) -> Integers:
        return starts_of(self.lotteries.price_counts)

    @cached_property
    def _place_starts(self) -> Integers:
        return starts_of(self.lotteries.counts * self.batch.slots)

    def _rankings(self, user: int) -> Integers:
        own = slice(self._place_starts[user], self._place_starts[user + 1])
        return self.lotteries.places[own].reshape(-1, self.batch.slots[user])


def join(parts: Sequence[Lotteries]) -> Lotteries:
    """The lotteries of consecutive ranges as those of one."""
    if not parts:
        none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
        return Lotteries(0, none, nothing, none, none, none, nothing, nothing, none, nothing, nothing, no_effort(0))
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    effort = Effort(*(np.concatenate(column) for column in zip(*(part.effort for part in parts), strict=True)))
    errors = {user: error for part in parts for user, error in part.errors.items()}
    policies = {user: policy for part in parts for user, policy in part.policies.items()}
    return Lotteries(parts[0].first, **joined, effort=effort, errors=errors, policies=policies)
