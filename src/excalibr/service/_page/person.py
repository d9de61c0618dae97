"""One user in full: both slates, the lottery, shares against the target, a week of visits, and what moved each item."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from msgspec import Struct

from excalibr._policy import Policy
from excalibr._problem import Batch, relevance_order
from excalibr._solver import solve
from excalibr._types import Floats, Integers
from excalibr.errors import InputError
from excalibr.service._page.choices import Aim, Choices
from excalibr.service._page.explored import Explored
from excalibr.service._page.prepared import Prepared, prepare

VISITS = 7
DIGITS = 9


class PersonItem(Struct, frozen=True):
    """An item of either slate.

    ``gain`` is (1 − λ)·score, ``group_price`` what its groups cost, ``adjusted`` what both and its categories leave.
    ``old_rank`` counts on beyond the slate; ``new_rank`` is the expected rank, given that it is shown.
    """

    candidate: int
    id: str
    title: str
    categories: list[tuple[int, float]]
    score: float
    gain: float
    group_price: float
    adjusted: float
    old_rank: int
    new_rank: float | None
    probability: float


class PersonVisit(Struct, frozen=True):
    """One visit: which ranking it sees, and how far from the target all visits so far are together."""

    ranking: int
    deviation: float


class Person(Struct, frozen=True):
    """One user at an aim; ``before`` and ``rankings`` are candidates in slot order, ``drawn`` is today's ranking."""

    user: int
    id: str
    n: int
    k: int
    trade_off: float
    kept: float
    relevance_before: float
    relevance: float
    deviation_before: float
    deviation: float
    draw_deviations: list[float]
    gap: float
    items: list[PersonItem]
    before: list[int]
    rankings: list[list[int]]
    weights: list[float]
    drawn: int
    position_weights: list[float]
    target_low: list[float]
    target_high: list[float]
    shares_before: list[float]
    shares: list[float]
    draw_shares: list[list[float]]
    prices: list[float]
    visits: list[PersonVisit]
    held_out: list[int]


def person_of(explored: Explored, choices: Choices, aim: Aim, user: int) -> Person:
    """Solve one user's question, with the error of :func:`excalibr.calibrate` where it has no answer."""
    prepared = prepare(explored, choices, np.array([user]))
    batch = prepared.at(aim)
    policy = _solved(prepared, batch)
    why = policy.explain()
    before, key, seed = why.before, explored.keys[user], explored.source.reranker.seed
    drawn = policy.sample(seed, key)
    truth = explored.truth
    held_out = [] if truth is None else np.flatnonzero(truth.relevant[prepared.candidates]).tolist()
    problem = policy.problem
    return Person(
        user=user,
        id=str(key),
        n=problem.n,
        k=problem.k,
        trade_off=problem.trade_off,
        kept=why.relevance_kept,
        relevance_before=before.relevance,
        relevance=policy.relevance,
        deviation_before=_deviation(before, before.shares),
        deviation=_deviation(policy, policy.shares),
        draw_deviations=[_deviation(policy, shares) for shares in policy.draw_shares],
        gap=policy.gap,
        items=_items(explored, prepared.candidates, policy, why.categories.price),
        before=before.rankings[0].tolist(),
        rankings=policy.rankings.tolist(),
        weights=policy.weights.tolist(),
        drawn=_number_of(policy, drawn),
        position_weights=problem.position_weights.tolist(),
        target_low=problem.target.tolist(),
        target_high=problem.high.tolist(),
        shares_before=before.shares.round(DIGITS).tolist(),
        shares=policy.shares.round(DIGITS).tolist(),
        draw_shares=policy.draw_shares.round(DIGITS).tolist(),
        prices=why.categories.price.round(DIGITS).tolist(),
        visits=_visits(policy, key, seed),
        held_out=held_out,
    )


def _solved(prepared: Prepared, batch: Batch) -> Policy:
    """The policy of the only user, with the prices of groups where there are some."""
    explored = prepared.explored
    if not batch.good[0]:
        raise InputError(prepared.message(0, batch.error(0)))
    if explored.prices is None:
        return solve(batch.problem(0))
    return explored.prices.solve(batch, explored.places[prepared.candidates], explored.keys[prepared.users[0]])


def _deviation(policy: Policy, shares: Floats) -> float:
    """Of all attributes together."""
    return float(policy.problem.distances(shares).sum())


def _number_of(policy: Policy, ranking: Integers) -> int:
    return int(np.flatnonzero((policy.rankings == ranking).all(axis=1))[0])


def _visits(policy: Policy, key: Hashable, seed: int) -> list[PersonVisit]:
    seen = [_number_of(policy, each) for each in policy.sample(seed, key, visit=0, size=VISITS)]
    running = np.cumsum(policy.draw_shares[seen], axis=0) / np.arange(1.0, VISITS + 1.0)[:, None]
    return [PersonVisit(number, _deviation(policy, shares)) for number, shares in zip(seen, running, strict=True)]


def _items(explored: Explored, candidates: Integers, policy: Policy, prices: Floats) -> list[PersonItem]:
    """The items that are shown before or after, by candidate."""
    problem = policy.problem
    chances = policy.matrix()
    shown = chances.sum(axis=1)
    ranks = chances @ np.arange(1.0, problem.k + 1.0)
    order = relevance_order(problem)
    old = np.zeros(problem.n, dtype=np.int64)
    old[order] = np.arange(1, len(order) + 1)
    adjusted = problem.gains - problem.memberships.costs(prices)
    rows, group_prices = problem.memberships, problem.item_prices
    both = sorted({*policy.before.rankings[0].tolist(), *np.flatnonzero(shown > 0).tolist()})
    found = []
    for candidate in both:
        place = int(explored.places[candidates[candidate]])
        own = slice(rows.indptr[candidate], rows.indptr[candidate + 1])
        found.append(
            PersonItem(
                candidate,
                str(explored.items.ids[place].as_py()),
                explored.titles[place],
                list(zip(rows.indices[own].tolist(), rows.values[own].round(DIGITS).tolist(), strict=True)),
                float(problem.scores[candidate]),
                float((1.0 - problem.trade_off) * problem.scores[candidate]),
                0.0 if group_prices is None else float(group_prices[candidate]),
                float(adjusted[candidate]),
                int(old[candidate]),
                float(ranks[candidate] / shown[candidate]) if shown[candidate] > 0 else None,
                float(min(shown[candidate], 1.0)),
            )
        )
    return found
