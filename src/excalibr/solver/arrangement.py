"""A problem as the kernel takes it, and its answers as the caller asked: what is pinned, shown or limited, taken out.

The kernel knows free candidates, open slots and a penalty a row. Pinned items leave with their slots, and what they
show moves the penalty; shown items leave; a floor or a cap is one more row, so steep that the optimum keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from excalibr._arrays import sums_by
from excalibr._types import Floats, Integers
from excalibr.problem import Memberships, Penalty, Problem, Terms, room_left

__all__ = ["Arrangement", "Arrays", "arrange", "program_of"]

Arrays: TypeAlias = tuple[Floats, Integers, Integers, Floats, Floats, Floats]
"""Gains, A by rows (indptr, indices, values), the penalty (6, rows) and the position weights."""

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """The free part of a problem.

    Attributes
    ----------
    problem
        What was asked.
    candidates, slots
        The free candidates and the open slots, in rising order.
    memberships
        The free candidates' rows, with one more column for each limited category.
    position_weights
        The open slots' weights.
    pinned_shares
        (r,) what the pinned items show of each category.
    limited
        The categories with a floor or a cap; their rows follow the r categories'.
    groups, group_limits
        The groups that a sort must still watch, by free candidate; both empty where it need not.
    """

    problem: Problem
    candidates: Integers
    slots: Integers
    memberships: Memberships
    position_weights: Floats
    pinned_shares: Floats
    limited: Integers
    groups: Integers
    group_limits: Integers

    @property
    def watched(self) -> tuple[Integers, Integers]:
        """The groups as the kernel takes them."""
        return self.groups, self.group_limits

    def program(self, trade_off: float, steepness: float = 0.0) -> Arrays:
        """The arrays at a trade-off, with hard limits of this slope."""
        rows = self.memberships
        gains = (1.0 - trade_off) * self.problem.scores[self.candidates]
        return gains, rows.indptr, rows.indices, rows.values, self.penalty(trade_off, steepness), self.position_weights

    def penalty(self, trade_off: float, steepness: float) -> Floats:
        """(6, rows) the penalty of the free part."""
        asked, pinned, limited = self.problem.penalty_at(trade_off), self.pinned_shares, self.limited
        base = pinned if asked.base is None else asked.base + pinned
        table = Penalty(
            asked.low - pinned, asked.high - pinned, asked.below, asked.above, asked.smoothing, base
        ).table()
        if not limited.size:
            return table
        terms = _terms(self.problem)
        floors, caps = terms.floors[limited], terms.caps[limited]
        hard = np.zeros((6, len(limited)))
        hard[0] = np.where(np.isfinite(floors), floors - pinned[limited], 0.0)
        hard[1] = np.where(np.isfinite(caps), caps, 1.0) - pinned[limited]
        hard[0] = np.minimum(hard[0], hard[1])
        hard[2], hard[3] = steepness * np.isfinite(floors), steepness * np.isfinite(caps)
        return np.hstack((table, hard))

    def penalties(self, trade_offs: Sequence[float]) -> Floats:
        """(T, 6, rows) the penalties at several trade-offs, without hard limits; λ multiplies the slopes alone."""
        tables = np.repeat(self.penalty(1.0, 0.0)[None], len(trade_offs), axis=0)
        tables[:, 2:4] *= np.array(trade_offs)[:, None, None]
        return tables

    def prices(self, by_row: Floats, trade_off: float) -> Floats:
        """(r,) what a unit of each category costs, for its deviation and its limit together, as policies report it."""
        r, asked = self.problem.r, self.problem.penalty_at(trade_off)
        own = by_row[:r]
        if asked.smoothing:
            own = np.minimum(own - asked.price_offset, 0.0)  # a price of 0 must not round to more
        return own + sums_by(self.limited, by_row[r:], r)

    def rows_of(self, prices: Floats) -> Floats:
        """The way back: as much of each price as its deviation can explain, the rest for its limit."""
        asked, limited = self.problem.penalty, self.limited
        prices = prices + asked.price_offset
        if not limited.size:
            return prices
        terms = _terms(self.problem)
        floored, capped = terms.floors > -np.inf, terms.caps < np.inf
        least = np.where(floored, asked.slopes(np.where(floored, terms.floors, 0.0), rising=False), -np.inf)
        most = np.where(capped, asked.slopes(np.where(capped, terms.caps, 1.0), rising=True), np.inf)
        own = np.clip(prices, least, most)
        rest = np.clip(prices - own, np.where(floored, -np.inf, 0.0), np.where(capped, np.inf, 0.0))
        return np.concatenate((own, rest[limited]))

    def rankings(self, free: Integers) -> Integers:
        """Rankings of the free part as rankings of the whole, with the pinned items in their slots."""
        terms = _terms(self.problem)
        whole = np.empty((len(free), self.problem.k), dtype=np.int64)
        whole[:, self.slots] = self.candidates[free]
        whole[:, terms.pinned_slots] = terms.pinned_candidates
        return whole

    def free_part(self, whole: Integers) -> Integers:
        """Rankings of the whole as rankings of the free part."""
        place_of = np.full(self.problem.n, -1, dtype=np.int64)
        place_of[self.candidates] = np.arange(len(self.candidates))
        return np.ascontiguousarray(place_of[whole[:, self.slots]])


def program_of(problem: Problem) -> Arrays:
    """A plain problem as the kernel takes it."""
    rows = problem.memberships
    penalty = np.zeros((6, problem.r))  # problem.penalty.table(), in a third of the time
    penalty[:2] = problem.target
    penalty[2:4] = problem.trade_off
    return problem.gains, rows.indptr, rows.indices, rows.values, penalty, problem.position_weights


def arrange(problem: Problem) -> Arrangement:
    """Take out what is pinned and shown, and what no ranking within the group limits could use."""
    terms = _terms(problem)
    open_slots = np.ones(problem.k, dtype=np.bool_)
    open_slots[terms.pinned_slots] = False
    free = ~terms.unavailable
    free[terms.pinned_candidates] = False
    group_limits = room_left(terms)
    candidates = _useful(problem, np.flatnonzero(free), group_limits)
    groups = terms.groups[candidates] if group_limits.size else _NONE
    if groups.size and (_most_shown(groups, len(group_limits), int(open_slots.sum())) <= group_limits).all():
        groups = group_limits = _NONE  # no ranking can break them any more
    exposure = np.zeros(problem.n)
    exposure[terms.pinned_candidates] = problem.position_weights[terms.pinned_slots]
    return Arrangement(
        problem=problem,
        candidates=candidates,
        slots=np.flatnonzero(open_slots),
        memberships=_with_limits(problem.memberships.of(candidates), terms.limited),
        position_weights=np.ascontiguousarray(problem.position_weights[open_slots]),
        pinned_shares=problem.memberships.shares(exposure),
        limited=terms.limited,
        groups=groups,
        group_limits=group_limits,
    )


def _terms(problem: Problem) -> Terms:
    """The terms of a problem; those of a plain one ask for nothing."""
    if problem.terms is not None:
        return problem.terms
    n, r = problem.n, problem.r
    unlimited, nothing = np.full(r, np.inf), np.zeros(r)
    return Terms(
        attributes=(),
        high=problem.target,
        weights=np.ones(r),
        smoothing=0.0,
        floors=-unlimited,
        caps=unlimited,
        base=nothing,
        unavailable=np.zeros(n, dtype=np.bool_),
        pinned_slots=_NONE,
        pinned_candidates=_NONE,
        groups=_NONE,
        group_limits=_NONE,
    )


def _most_shown(groups: Integers, count: int, slots: int) -> Integers:
    """How many of each group any ranking could have."""
    return np.minimum(np.bincount(groups + 1, minlength=count + 1)[1:], slots)


def _useful(problem: Problem, candidates: Integers, group_limits: Integers) -> Integers:
    """Of candidates with the same group and the same row only the best-scored can be used, as many as the limit."""
    if not group_limits.size:
        return candidates
    groups = _terms(problem).groups[candidates]
    rows = problem.memberships.of(candidates)
    kinds: dict[tuple[int, bytes, bytes], int] = {}
    kept = []
    for place in np.lexsort((candidates, -problem.scores[candidates])):
        entries = slice(rows.indptr[place], rows.indptr[place + 1])
        kind = (int(groups[place]), rows.indices[entries].tobytes(), rows.values[entries].tobytes())
        kinds[kind] = kinds.get(kind, 0) + 1
        if groups[place] < 0 or kinds[kind] <= group_limits[groups[place]]:
            kept.append(place)
    return candidates[np.sort(np.array(kept, dtype=np.int64))]


def _with_limits(rows: Memberships, limited: Integers) -> Memberships:
    """The rows with each limited category's column once more at the end."""
    if not limited.size:
        return rows
    from scipy.sparse import csr_array, hstack

    matrix = rows.sparse()
    whole = csr_array(hstack((matrix, matrix[:, limited])))
    whole.sort_indices()
    return Memberships(
        whole.indptr.astype(np.int64), whole.indices.astype(np.int64), np.asarray(whole.data), int(whole.shape[1])
    )
