r"""A question as mathematics, in extended precision: what a lottery is worth, and what no lottery can exceed.

Read from the caller's arrays by the formulas of the documentation (docs/beyond.md), with nothing of the library's code.
With gains g = (1 − λ)·s, shares p = Aᵀx and a penalty φ_j of each category, for any prices y

.. math:: \max_x\; g^\top x - \sum_j \varphi_j(p_j) \;\le\; \sum_j \varphi_j^*(y_j) + \sigma(g - A y)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from excalibr import Band, Shown
from tests.fuzz.questions import Floats, Question

LONG = np.longdouble
ALPHA = LONG(0.01)
"""Steck's smoothing, as the documentation states it."""


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
        attributes, rows = _stacked(question.categories)
        r = rows.shape[1]
        read = _ByCategory(attributes, r)
        low, high = _edges(question.target, attributes)
        weights = _weights(options, read, low, high)
        k = len(question.scores) if options.get("k") is None else int(options["k"])
        raw = _attention(options.get("position_weights", "log"), k)
        slots = raw / raw.max()
        unavailable, seen, page = _earlier_pages(options.get("shown"), rows, raw, attributes)
        groups, group_limits = _groups(options.get("max_per_category"), read, rows)
        left = low / page - seen
        return cls(
            scores=_scores(question.scores, options.get("normalise")),
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

    def conjugate(self, slopes: Floats, trade_off: float) -> Any:
        """Σ_j max over allowed shares of slope·p − λ·cost(p): at an end, an edge of the band, or where it is met."""
        points = [self.floors, self.caps, np.clip(self.low, self.floors, self.caps)]
        if self.high is not self.low:
            points.append(np.clip(self.high, self.floors, self.caps))
        if self.curved and trade_off > 0:
            points += self._where_met(slopes, trade_off)
        tried = np.array(points)
        return (slopes * tried - LONG(trade_off) * self.costs(tried)).max(axis=0).sum()

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

    def bound(self, prices: Floats, trade_off: float) -> Any:
        """What no lottery's objective can exceed, by these prices, on centred scores."""
        slopes = self.slopes(prices, trade_off)
        adjusted = (1 - LONG(trade_off)) * self.centred - self.rows.dot(slopes)
        return self.conjugate(slopes, trade_off) + self.value_of(adjusted, self.best_ranking(adjusted))

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


def _scores(scores: Floats, normalise: str | None) -> Floats:
    long = np.asarray(scores, LONG)
    if normalise is None:
        return long
    spread = long.max() - long.min()
    return (long - long.min()) / spread if spread > 0 else np.zeros_like(long)


def _dense(rows: Any) -> Floats:
    dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, LONG)
    return np.asarray(dense / dense.sum(axis=1, keepdims=True))


def _stacked(categories: Any) -> tuple[tuple[tuple[str, slice], ...], Floats]:
    """Names and columns of the attributes (none for a single array), and all rows side by side."""
    if not isinstance(categories, Mapping):
        return (), _dense(categories)
    parts = [_dense(rows) for rows in categories.values()]
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()
    columns = [slice(end - part.shape[1], end) for end, part in zip(ends, parts, strict=True)]
    return tuple(zip(categories, columns, strict=True)), np.hstack(parts)


def _edges(target: Any, attributes: tuple[tuple[str, slice], ...]) -> tuple[Floats, Floats]:
    if not attributes:
        return _band(target)
    bands = [_band(target[name]) for name, _ in attributes]
    low = np.concatenate([edge for edge, _ in bands])
    return low, low if all(one is other for one, other in bands) else np.concatenate([edge for _, edge in bands])


def _band(target: Any) -> tuple[Floats, Floats]:
    if isinstance(target, Band):
        return np.asarray(target.low, LONG), np.asarray(target.high, LONG)
    point = np.asarray(target, LONG)
    point = point / point.sum()
    return point, point


@dataclass(frozen=True)
class _ByCategory:
    """Reads what may be written as a number, an array, a mapping of indices, or by attribute a mapping to these."""

    attributes: tuple[tuple[str, slice], ...]
    r: int

    def __call__(self, given: Any, default: float) -> Floats:
        values = np.full(self.r, LONG(default))
        if given is None:
            return values
        for name, columns in self.attributes or (("", slice(0, self.r)),):
            own = given.get(name) if self.attributes else given
            if isinstance(own, Mapping):
                for category, value in own.items():
                    values[columns.start + category] = value
            elif own is not None:
                values[columns] = own
        return values


def _weights(options: dict[str, Any], read: _ByCategory, low: Floats, high: Floats) -> Floats:
    weights = read(options.get("category_weights"), 1.0)
    if not (options.get("relative") or options.get("attribute_weights")):
        return weights
    by_attribute = options.get("attribute_weights") or {}
    for name, columns in read.attributes or (("", slice(0, read.r)),):
        weights[columns] *= LONG(by_attribute.get(name, 1.0))
        if options.get("relative"):
            middle = (low[columns] + high[columns]) / 2
            smallest = middle[middle > 0].min() if (middle > 0).any() else LONG(1)
            weights[columns] /= np.where(middle > 0, middle, smallest)
    return weights


def _attention(weights: Any, count: int) -> Floats:
    """Position weights of the slots 1 … count as they are stated, before they are brought to a sum of 1."""
    if not isinstance(weights, str):
        return np.asarray(weights, LONG)
    slots = np.arange(1, count + 1, dtype=LONG)
    match weights:
        case "log":
            return 1 / np.log(slots + 1)
        case "sqrt":
            return 1 / np.sqrt(slots)
        case "reciprocal":
            return 1 / slots
        case _:
            return np.ones(count, dtype=LONG)


def _earlier_pages(
    shown: Shown | None, rows: Floats, raw: Floats, attributes: tuple[tuple[str, slice], ...]
) -> tuple[Floats, Floats, Any]:
    """Who was shown, what that showed of each category in units of this page, and this page's part of all attention."""
    unavailable, seen = np.zeros(len(rows), dtype=bool), np.zeros(rows.shape[1], dtype=LONG)
    if shown is None:
        return unavailable, seen, LONG(1)
    candidates: Any = shown.candidates
    pages: list[Any] = [] if candidates is None else list(candidates)
    pages = pages if any(np.ndim(page) for page in pages) else [pages]
    shown_rows = [rows[np.asarray(page, dtype=np.int64)] for page in pages]
    for page in pages:
        unavailable[np.asarray(page, dtype=np.int64)] = True
    if shown.categories is not None:
        given: Any = shown.categories
        parts = [_dense(given[name]) for name, _ in attributes] if attributes else [_dense(given)]
        shown_rows.append(np.hstack(parts))
    weights: Any = shown.position_weights
    by_page = [_attention(weights, len(page)) for page in shown_rows] if isinstance(weights, str) else [weights]
    attention = np.concatenate([np.asarray(part, LONG) for part in by_page])
    total = raw.sum()
    return unavailable, attention @ np.vstack(shown_rows) / total, total / (total + attention.sum())


def _groups(given: Any, read: _ByCategory, rows: Floats) -> tuple[Floats, Floats]:
    """(n,) the limited category of each candidate, −1 for none, and the limits."""
    if given is None:
        return np.full(len(rows), -1), np.empty(0, dtype=np.int64)
    limits = read(given, np.inf)
    limited = np.flatnonzero(np.isfinite(limits))
    inside = rows[:, limited] > 0.5
    groups = np.where(inside.any(axis=1), inside.argmax(axis=1), -1) if len(limited) else np.full(len(rows), -1)
    return groups, limits[limited].astype(np.int64)
