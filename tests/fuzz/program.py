r"""A question as mathematics, in extended precision: what a lottery is worth, and what no lottery can exceed.

Read from the caller's arrays by the formulas of the documentation (docs/beyond.md), with nothing of the library's code.
With gains g = (1 − λ)·s, shares p = Aᵀx and a penalty φ_j of each category, for any prices y

.. math:: \max_x\; g^\top x - \sum_j \varphi_j(p_j) \;\le\; \sum_j \varphi_j^*(y_j) + \sigma(g - A y)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.questions import Floats, Question
from tests.fuzz.reading import (
    LONG,
    ByCategory,
    read_attention,
    read_earlier_pages,
    read_edges,
    read_groups,
    read_rows,
    read_scores,
    read_weights,
)

ALPHA = LONG(0.01)
"""Steck's smoothing, as the documentation states it."""

LIMIT_KEPT = 1e-8
"""How far floors, caps and budgets may be missed."""

LIMIT_TOLD = 1e-7
"""How far floors and caps may be missed where a warning says so: caps that only one distribution keeps."""


class Effect(NamedTuple):
    """The exposure (n,) and shares (r,) of a lottery, its relevance on centred scores, and its cost before λ."""

    exposure: Floats
    shares: Floats
    relevance: Any
    cost: Any

    def objective(self, trade_off: float) -> Any:
        """(1 − λ)·relevance − λ·cost, on centred scores."""
        return (1 - LONG(trade_off)) * self.relevance - LONG(trade_off) * self.cost


@dataclass(frozen=True, eq=False)
class Program:
    """One page: scores (n,), rows (n, r), slots (k,); of each category the band, weight, limits and what was seen."""

    scores: Floats
    rows: Floats
    slots: Floats
    low: Floats
    high: Floats
    weights: Floats
    floors: Floats
    caps: Floats
    seen: Floats
    curved: bool
    unavailable: Floats
    pinned: dict[int, int]
    groups: Floats
    group_limits: Floats
    attributes: tuple[tuple[str, slice], ...]

    @classmethod
    def of(cls, question: Question) -> Program:
        """The program of a question, whatever its trade-off."""
        options = question.options
        attributes, rows = read_rows(question.categories)
        r = rows.shape[1]
        read = ByCategory(attributes, r)
        low, high = read_edges(question.target, attributes)
        weights = read_weights(options, read, low, high)
        k = len(question.scores) if options.get("k") is None else int(options["k"])
        raw = read_attention(options.get("position_weights", "log"), k)
        slots = raw / raw.max()
        unavailable, seen, page = read_earlier_pages(options.get("shown"), rows, raw, attributes)
        groups, group_limits = read_groups(options.get("max_per_category"), read, rows)
        left = low / page - seen
        return cls(
            scores=read_scores(question.scores, options.get("normalise")),
            rows=rows,
            slots=slots / slots.sum(),
            low=left,
            high=left if high is low else high / page - seen,
            weights=weights,
            floors=read(options.get("floors"), 0.0),
            caps=read(options.get("caps"), 1.0),
            seen=seen,
            curved=options.get("divergence", "l1") == "kl",
            unavailable=unavailable,
            pinned=dict(options.get("pinned") or {}),
            groups=groups,
            group_limits=group_limits,
            attributes=attributes,
        )

    @property
    def n(self) -> int:
        return len(self.scores)

    @property
    def k(self) -> int:
        return len(self.slots)

    @property
    def r(self) -> int:
        return len(self.low)

    @cached_property
    def centred(self) -> Floats:
        """Scores less the largest one, so that an offset that all share hides nothing."""
        return np.asarray(self.scores - self.scores.max())

    @cached_property
    def spread(self) -> Any:
        """The range of the scores."""
        return self.scores.max() - self.scores.min()

    @cached_property
    def open_spread(self) -> Any:
        """The range of the scores of those that may take a free slot."""
        scores = self.scores if self.all_open else self.scores[self.open_candidates]
        return scores.max() - scores.min() if len(scores) else LONG(0)

    @cached_property
    def largest(self) -> Any:
        """The largest score, of either sign."""
        return max(abs(self.scores.max()), abs(self.scores.min()))

    @cached_property
    def steepest(self) -> Any:
        """The largest weight of a category."""
        return self.weights.max()

    @cached_property
    def around(self) -> Any:
        """The largest number that shares are compared with, and at least 1."""
        return max(LONG(1), abs(self.low.min()), abs(self.high.max()), self.seen.max())

    @cached_property
    def is_limited(self) -> bool:
        """Whether floors or caps ask for anything."""
        return bool(self.floors.max() > 0 or self.caps.min() < 1)

    @cached_property
    def open_candidates(self) -> Floats:
        """(n,) true for those that may take a free slot."""
        free = ~self.unavailable
        if self.pinned:
            free[list(self.pinned.values())] = False
        return free

    @cached_property
    def there(self) -> Floats:
        """(r,) true for the categories that a candidate has who may take a free slot."""
        return np.asarray((self.rows[self.open_candidates] > 0).any(axis=0))

    @cached_property
    def all_open(self) -> bool:
        """Whether every candidate may take any slot."""
        return not self.pinned and not self.unavailable.any()

    @cached_property
    def open_slots(self) -> Floats:
        """The slots that nobody is pinned to, heaviest first."""
        by_weight = np.argsort(-self.slots, kind="stable")
        return by_weight[~np.isin(by_weight, list(self.pinned))] if self.pinned else by_weight

    @cached_property
    def room(self) -> Floats:
        """How many of each group the open slots may still have; negative where the pinned items are too many."""
        if not len(self.group_limits):
            return self.group_limits
        pinned = self.groups[list(self.pinned.values())] if self.pinned else self.groups[:0]
        return self.group_limits - np.bincount(pinned[pinned >= 0], minlength=len(self.group_limits))

    def has_a_ranking(self) -> bool:
        """Whether the open slots can be filled at all."""
        if not len(self.room):
            return int(self.open_candidates.sum()) >= len(self.open_slots)
        if self.room.min() < 0:
            return False
        free = self.groups[self.open_candidates]
        counts = np.bincount(free[free >= 0], minlength=len(self.room))
        return bool((free < 0).sum() + np.minimum(counts, self.room).sum() >= len(self.open_slots))

    def best_ranking(self, values: Floats) -> Floats:
        """(k,) the ranking with the largest sum of value × slot: sorted, full groups passed over, pins in place."""
        order = np.argsort(-values, kind="stable")
        if not self.all_open:
            order = order[self.open_candidates[order]]
        if len(self.room):
            order = order[self._within_limits(order)]
        ranking = np.empty(self.k, dtype=np.int64)
        ranking[self.open_slots] = order[: len(self.open_slots)]
        for slot, candidate in self.pinned.items():
            ranking[slot] = candidate
        return ranking

    def _within_limits(self, order: Floats) -> Floats:
        """Which of the candidates in this order come before their group is full."""
        groups = self.groups[order]
        by_group = np.argsort(groups, kind="stable")
        runs = groups[by_group]
        places = np.arange(len(order))
        first = np.maximum.accumulate(np.where(np.diff(runs, prepend=-2) != 0, places, 0))
        rank = np.empty(len(order), dtype=np.int64)
        rank[by_group] = places - first
        return np.asarray((groups < 0) | (rank < self.room[groups]))

    def value_of(self, values: Floats, ranking: Floats) -> Any:
        """Σ value × slot of a ranking."""
        return (values[ranking] * self.slots).sum()

    def exposure(self, rankings: Floats, weights: Floats) -> Floats:
        """(n,) the expected slot weight of each candidate."""
        exposure = np.zeros(self.n, dtype=LONG)
        np.add.at(exposure, rankings.ravel(), (np.asarray(weights, LONG)[:, None] * self.slots).ravel())
        return exposure

    def shares(self, exposure: Floats) -> Floats:
        """(r,) p = Aᵀx."""
        shown = exposure.nonzero()[0]
        return np.asarray(exposure[shown] @ self.rows[shown])

    def effect(self, rankings: Floats, weights: Floats) -> Effect:
        """What a lottery does in expectation."""
        exposure = self.exposure(rankings, weights)
        shares = self.shares(exposure)
        return Effect(exposure, shares, exposure @ self.centred, self.costs(shares).sum())

    def distances(self, shares: Floats) -> Floats:
        """How far each share is from its band."""
        if self.low is self.high:
            return np.asarray(np.abs(shares - self.low))
        return np.asarray(np.maximum(self.low - shares, 0) + np.maximum(shares - self.high, 0))

    def costs(self, shares: Floats) -> Floats:
        """What each category's share costs before λ, for shares (…, r)."""
        if not self.curved:
            return np.asarray(self.weights * self.distances(shares))
        lacking, surplus = np.maximum(self.low - shares, 0), np.maximum(shares - self.high, 0)
        if self.low is self.high:
            return np.asarray(self.weights * _curve(self.low + self.seen, shares - self.low))
        below, above = _curve(self.low + self.seen, -lacking), _curve(self.high + self.seen, surplus)
        return np.asarray(self.weights * (below + above))

    def cost(self, shares: Floats) -> Any:
        return self.costs(shares).sum(axis=-1)

    def slopes(self, prices: Floats, trade_off: float) -> Floats:
        """The prices as slopes of the penalty: with KL they are reported as −λ(1 − α)·w·q/u, without the shift."""
        shift = LONG(trade_off) * (1 - ALPHA) * self.weights if self.curved else 0
        return np.asarray(prices, LONG) + shift

    def conjugate(self, slopes: Floats, trade_off: float, *, single: bool = False, missed: Any = 0) -> Any:
        """Σ_j max over allowed shares of slope·p − λ·cost(p): at an end, an edge of the band, or where it is met."""
        points = [self.floors, self.caps, np.clip(self.low, self.floors, self.caps)]
        if self.high is not self.low:
            points.append(np.clip(self.high, self.floors, self.caps))
        if self.curved and trade_off > 0:
            points += self._where_met(slopes, trade_off)
        tried = np.array(points)
        values = slopes * tried - LONG(trade_off) * self.costs(tried)
        return (self._attained(tried, values, slopes, trade_off, missed) if single else values).max(axis=0).sum()

    def _attained(self, tried: Floats, values: Floats, slopes: Floats, trade_off: float, missed: Any) -> Floats:
        """The same for one ranking: it shows what is pinned, or at least one open slot's share more of a category."""
        pinned = sum((self.slots[slot] * self.rows[each] for slot, each in self.pinned.items()), LONG(0) * slopes)
        weights, shares = self.slots[self.open_slots], self.rows[self.open_candidates]
        lightest = weights[weights > 0].min(initial=np.inf)  # none where no open slot is seen
        least = pinned + lightest * np.where(shares > 0, shares, np.inf).min(axis=0, initial=np.inf)
        ends = np.array([pinned, np.where(np.isfinite(least), least, pinned)])
        at_ends = slopes * ends - LONG(trade_off) * self.costs(ends)
        within = (ends >= self.floors - missed) & (ends <= self.caps + missed)
        return np.concatenate((np.where(tried >= least, values, -np.inf), np.where(within, at_ends, -np.inf)))

    def _where_met(self, slopes: Floats, trade_off: float) -> list[Floats]:
        """The shares at which the curve below or above the band has the slope."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = 1 - slopes / (LONG(trade_off) * self.weights * (1 - ALPHA))  # q/u
            met = []
            for edge, least, most in ((self.low, self.floors, self.low), (self.high, self.high, self.caps)):
                wanted = edge + self.seen
                share = edge + (wanted / ratio - wanted) / (1 - ALPHA)
                share = np.where((ratio > 0) & np.isfinite(share), share, edge)
                met.append(np.clip(np.clip(share, least, np.maximum(least, most)), self.floors, self.caps))
        return met

    def bound(self, prices: Floats, trade_off: float, *, single: bool = False, missed: Any = 0) -> Any:
        """What no lottery's objective can exceed, or no single ranking's, by these prices, on centred scores.

        A single ranking keeps the limits, or misses them by so much at the most.
        """
        slopes = self.slopes(prices, trade_off)
        adjusted = (1 - LONG(trade_off)) * self.centred - self.rows.dot(slopes)
        dearest = self.conjugate(slopes, trade_off, single=single, missed=missed)
        return dearest + self.value_of(adjusted, self.best_ranking(adjusted))

    def extreme_relevances(self) -> tuple[Any, Any]:
        """The worst and the best relevance that any ranking has, of centred scores."""
        best, worst = self.best_ranking(self.centred), self.best_ranking(-self.centred)
        return self.value_of(self.centred, worst), self.value_of(self.centred, best)

    def relevance_floor(self, loss: float) -> Any:
        """The least relevance, of centred scores, that a loss allows, of the best or (where some is ≤ 0) the range."""
        worst, best = self.extreme_relevances()
        top = self.scores.max()
        return best - LONG(loss) * (best + top if worst + top > 0 else best - worst)


def _curve(wanted: Floats, beyond: Floats) -> Floats:
    """q·log(q/u) − q + u at u = q + (1 − α)·beyond; u itself where q is 0."""
    change = (1 - ALPHA) * beyond
    safe = np.where(wanted > 0, wanted, 1)
    with np.errstate(over="ignore"):  # a share of 1e-300 beside one of 1
        return change - np.where(wanted > 0, wanted * np.log1p(change / safe), 0)
