"""Figures of a range of the sample at one aim: a column for each, with an entry for each user."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from msgspec import Struct

from excalibr._arrays import starts_of, sums_by
from excalibr._many_users import measure
from excalibr._parallel import checked_threads, over_ranges
from excalibr._policy import Lotteries, join
from excalibr._problem import Batch, Memberships, Status
from excalibr._solver import questions_of
from excalibr._types import Floats
from excalibr.metrics import kl
from excalibr.service._page.choices import Aim, field_of
from excalibr.service._page.prepared import Prepared, places_of

DIGITS = 9
"""Decimals of the figures that are sent, which no picture shows."""

MOST_REASONS = 3

MEASURED = ("relevance_before", "deviation_before", "relevance", "deviation", "draw_deviation")
"""The first columns of :func:`excalibr._many_users.measure`."""


class Refusal(Struct, frozen=True):
    """Why some users could not be calibrated, in the library's words, and which choice it is about."""

    message: str
    field: str
    users: int


class SampleFigures(Struct, frozen=True):
    """What an aim does to some users; one who could not be calibrated has nan, which JSON has as null.

    ``deviation`` is of the expectation, ``draw_deviation`` of a single draw, on average; ``kl`` is only there where KL
    is asked for, ``ndcg`` and ``recall`` where there is truth. ``new_items`` is how many items of a slate were not in
    the order by scores, in expectation. The shares are sums over the users who count; a target has two edges, which are
    the same where it is no band.
    """

    first: int
    counted: int
    columns: dict[str, list[float]]
    target: list[float]
    target_high: list[float]
    before: list[float]
    after: list[float]
    refused: list[Refusal]


def figures_of(prepared: Prepared, aim: Aim, first: int, last: int) -> SampleFigures:
    """The figures of the users ``first`` to ``last`` of those that are prepared."""
    batch = prepared.at(aim)
    found, measures = _solved(prepared, batch, first, last)
    good = found.statuses < Status.NO_CANDIDATES
    shares = shares_of(batch, found)
    own = slice(first, last)
    before = prepared.before.of_users(own.start, own.stop, batch.slots)
    columns = dict(zip(MEASURED, measures.T, strict=False))
    columns["kept"] = prepared.kept(own, measures[:, 0], measures[:, 2])
    columns |= _changes(prepared, batch, found, own)
    if batch.options.divergence == "kl":
        columns["kl"] = _divergence(batch, shares, first)
    columns |= _found_again(prepared, found, "") | _found_again(prepared, before, "_before")
    was = shares_of(batch, before)
    wanted = np.zeros((2, batch.r))
    for number in np.flatnonzero(good).tolist():
        wanted += batch.edges(first + number)
    return SampleFigures(
        first,
        int(good.sum()),
        {name: np.where(good, values, np.nan).round(DIGITS).tolist() for name, values in columns.items()},
        wanted[0].tolist(),
        wanted[1].tolist(),
        was.shares(good.astype(np.float64)).tolist(),
        shares.shares(good.astype(np.float64)).tolist(),
        _refusals(prepared, batch, found),
    )


def shares_of(batch: Batch, lotteries: Lotteries) -> Memberships:
    """Users × r the expected category shares of a range's lotteries."""
    first, users = lotteries.first, len(lotteries.counts)
    slots = batch.slots[first : first + users]
    owners, rankings, ranks = places_of(slots, lotteries.counts)
    weights = batch.position_weights[batch.weight_starts[first + owners] + ranks] * lotteries.weights[rankings]
    return batch.memberships.sums(batch.starts[first + owners] + lotteries.places, owners, weights, users)


def _solved(prepared: Prepared, batch: Batch, first: int, last: int) -> tuple[Lotteries, Floats]:
    """The lotteries of a range, and what they do."""
    solver, questions = prepared.solver(batch), questions_of(batch)
    threads = checked_threads(prepared.reranker.threads)

    def solve(begin: int, end: int) -> tuple[Lotteries, Floats]:
        lotteries = solver.solve(first + begin, first + end)
        return lotteries, measure(questions, lotteries)

    parts = list(over_ranges(solve, last - first, threads, cancel=solver.cancel))
    return join([each for each, _ in parts]), np.concatenate([each for _, each in parts])


def _changes(prepared: Prepared, batch: Batch, found: Lotteries, own: slice) -> dict[str, Floats]:
    """Whether a slate is another than before, and how many of its items are new, in expectation."""
    users, slots = len(found.counts), batch.slots[own]
    owners, rankings, ranks = places_of(slots, found.counts)
    weights = found.weights[rankings]
    new = ~prepared.was_shown[batch.starts[own.start + owners] + found.places]
    before = prepared.before.of_users(own.start, own.stop, batch.slots)
    begins = starts_of(before.counts * slots)
    moved = found.places != before.places[begins[owners] + ranks]
    return {
        "changed": np.asarray(sums_by(owners, moved * weights, users) > 0, dtype=np.float64),
        "new_items": sums_by(owners, new * weights, users),
    }


def _divergence(batch: Batch, shares: Memberships, first: int) -> Floats:
    """(users,) KL of the expectation, of all attributes together."""
    spans = [each.columns for each in batch.attributes] or [slice(0, batch.r)]

    def of_user(number: int) -> float:
        low, own = np.maximum(batch.edges(first + number)[0], 0.0), shares.row(number)
        return float(sum(kl(own[each], low[each]) for each in spans))

    return np.array([of_user(number) for number in range(shares.n_candidates)])


def _found_again(prepared: Prepared, lotteries: Lotteries, suffix: str) -> dict[str, Floats]:
    """NDCG and recall, where there is truth."""
    truth, batch = prepared.explored.truth, prepared.batch
    if truth is None:
        return {}
    own = slice(lotteries.first, lotteries.first + len(lotteries.counts))
    owners, rankings, ranks = places_of(batch.slots[own], lotteries.counts)
    candidates = prepared.candidates[batch.starts[own.start + owners] + lotteries.places]
    weights = lotteries.weights[rankings]
    ndcg, recall = truth.ndcg_and_recall(
        prepared.users[own], owners, batch.slots[own], ranks, truth.relevant[candidates], weights
    )
    return {f"ndcg{suffix}": ndcg, f"recall{suffix}": recall}


def _refusals(prepared: Prepared, batch: Batch, found: Lotteries) -> list[Refusal]:
    """The commonest reasons, with one user's words for each choice that they are about."""
    counts: Counter[tuple[str, str]] = Counter()
    words: dict[tuple[str, str], str] = {}
    for number in np.flatnonzero(found.statuses >= Status.NO_CANDIDATES).tolist():
        user = found.first + number
        error: Any = found.errors.get(user)
        message = prepared.message(user, batch.error(user) if error is None else error)
        kind = (field_of(message), type(error).__name__)
        words.setdefault(kind, message)
        counts[kind] += 1
    return [Refusal(words[kind], kind[0], count) for kind, count in counts.most_common(MOST_REASONS)]
