"""The literal linear program in HiGHS: a probability for every candidate in every slot, nothing of the method.

For small pages with the L1 divergence. Relevance is in units of the range of the scores, so that HiGHS's absolute
tolerances mean the same for all.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.fuzz.program import Program
from tests.fuzz.questions import Floats

PRECISE: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
MOST_ENTRIES = 600
MOST_CATEGORIES = 40


def fits(program: Program) -> bool:
    """Whether the program is small and even enough for HiGHS to be an oracle."""
    small = program.n * program.k <= MOST_ENTRIES and program.r <= MOST_CATEGORIES
    return small and not program.curved and _is_even(program)


def _is_even(program: Program) -> bool:
    positive = program.weights[program.weights > 0]
    return bool(
        positive.max(initial=0) <= 1e3 and np.abs(program.low).max() <= 1e3 and np.isfinite(float(program.spread))
    )


class Literal:
    """One page as a linear program over (probabilities, lacking, surplus)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unit = float(program.spread) or 1.0
        self.candidates, slots = np.flatnonzero(program.open_candidates), program.open_slots
        self.attention = program.slots[slots].astype(float)
        self.count = len(self.candidates) * len(slots)
        self.given = np.zeros(program.n)
        for slot, candidate in program.pinned.items():
            self.given[candidate] += float(program.slots[slot])
        rows = program.rows.astype(float)
        self.given_shares = self.given @ rows
        by_entry = rows[self.candidates].T[:, :, None] * self.attention
        self.shares = self._padded(by_entry.reshape(program.r, self.count))
        each = self._padded(np.kron(np.eye(len(self.candidates)), np.ones(len(slots))))
        self.each_slot = self._padded(np.kron(np.ones(len(self.candidates)), np.eye(len(slots))))
        self.kept = [(each, np.ones(len(each))), *self._groups(len(slots))]

    @cached_property
    def scores(self) -> Floats:
        """Centred, in units of their range."""
        return np.asarray((self.program.centred / (self.program.spread or 1)).astype(float))

    @cached_property
    def relevance(self) -> Floats:
        """(count + 2r,) of each entry."""
        by_entry = (self.scores[self.candidates][:, None] * self.attention).ravel()
        return np.concatenate((by_entry, np.zeros(2 * self.program.r)))

    @property
    def given_relevance(self) -> float:
        return float(self.scores @ self.given)

    @cached_property
    def costs(self) -> Floats:
        return np.concatenate((np.zeros(self.count), *[self.program.weights.astype(float)] * 2))

    def best_value(self, trade_off: float) -> float | None:
        """The optimum of (1 − λ)·relevance − λ·cost on centred scores, as a part of (1 − λ)·unit + λ."""
        size = (1 - trade_off) * self.unit + trade_off
        gain, charge = (1 - trade_off) * self.unit / size, trade_off / size
        found = self._minimum(charge * self.costs - gain * self.relevance, self._band() + self._limits())
        return None if found is None else gain * self.given_relevance - found

    def least_cost(self, relevance_at_least: float | None = None) -> float | None:
        """The least cost, of lotteries with a relevance (in units, centred) of at least so much."""
        limits = self._band() + self._limits()
        if relevance_at_least is not None:
            limits.append((-self.relevance[None], np.array([self.given_relevance - relevance_at_least])))
        return self._minimum(self.costs, limits)

    def most_relevance(self, cost_at_most: float | None = None) -> float | None:
        """The most relevance (in units, centred), of lotteries with a cost of at most so much."""
        limits = self._band() + self._limits()
        if cost_at_most is not None:
            limits.append((self.costs[None], np.array([cost_at_most])))
        found = self._minimum(-self.relevance, limits)
        return None if found is None else self.given_relevance - found

    def least_miss(self) -> float | None:
        """By how much floors and caps are missed at least, all together; 0 where a lottery keeps them."""
        r = self.program.r
        lacking, surplus = np.zeros((r, self.count + 2 * r)), np.zeros((r, self.count + 2 * r))
        lacking[:, self.count : self.count + r], surplus[:, self.count + r :] = -np.eye(r), -np.eye(r)
        limits = [
            (lacking - self.shares, self.given_shares - self.program.floors.astype(float)),
            (surplus + self.shares, self.program.caps.astype(float) - self.given_shares),
        ]
        objective = np.concatenate((np.zeros(self.count), np.ones(2 * r)))
        return self._minimum(objective, limits)

    def _padded(self, block: Floats) -> Floats:
        """Rows over the probabilities, with zeros for what is lacking and in surplus."""
        return np.hstack((block, np.zeros((len(block), 2 * self.program.r))))

    def _groups(self, slots: int) -> list[tuple[Floats, Floats]]:
        room, groups = self.program.room, self.program.groups[self.candidates]
        if not len(room):
            return []
        members = (groups == np.arange(len(room))[:, None]).astype(float)
        return [(self._padded(np.repeat(members, slots, axis=1)), room.astype(float))]

    def _band(self) -> list[tuple[Floats, Floats]]:
        """Lacking and surplus reach from the shares to the band."""
        r, above, below = self.program.r, self.shares.copy(), -self.shares
        below[:, self.count : self.count + r] -= np.eye(r)
        above[:, self.count + r :] -= np.eye(r)
        high, low = self.program.high.astype(float), self.program.low.astype(float)
        return [(above, high - self.given_shares), (below, self.given_shares - low)]

    def _limits(self) -> list[tuple[Floats, Floats]]:
        if not self.program.is_limited:
            return []
        least, most = self.program.floors.astype(float), self.program.caps.astype(float)
        return [(-self.shares, self.given_shares - least), (self.shares, most - self.given_shares)]

    def _minimum(self, objective: Floats, limits: list[tuple[Floats, Floats]]) -> float | None:
        every = self.kept + limits
        slots = len(self.each_slot)
        solved: Any = linprog(
            objective,
            A_ub=np.vstack([rows for rows, _ in every]),
            b_ub=np.concatenate([most for _, most in every]),
            A_eq=self.each_slot if slots else None,
            b_eq=np.ones(slots) if slots else None,
            method="highs",
            options=PRECISE,
        )
        return float(solved.fun) if solved.status == 0 else None
