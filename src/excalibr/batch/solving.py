"""``calibrate_batch``, and the loop under it: ranges of users in threads, by the compiled loop or one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr._types import Booleans, Floats, Integers
from excalibr.batch.answers import Lotteries, Policies, join
from excalibr.batch.checked import Batch, Status
from excalibr.calibration import calibrate
from excalibr.errors import BatchWarning, ExcalibrError, ExcalibrWarning
from excalibr.parallel import Advance, checked_threads, over_ranges, progress_bar
from excalibr.policy import Policy
from excalibr.positions import slots_by_weight
from excalibr.settings import Settings, read_settings

__all__ = ["calibrate_batch", "measure", "solve_users", "sum_up"]

NEVER_RANKED = (Status.NO_CANDIDATES, Status.BAD_SCORES, Status.BAD_K)
"""Users with these statuses have no order by scores to fall back to."""

_NOWHERE = np.empty(0, dtype=np.int64)

Result = TypeVar("Result")
Solve: TypeAlias = Callable[[int, int], Lotteries]


def calibrate_batch(
    scores: ArrayLike,
    indptr: ArrayLike,
    categories: Any,
    targets: ArrayLike,
    *,
    items: ArrayLike | None = None,
    trade_offs: ArrayLike | None = None,
    slots: ArrayLike | None = None,
    threads: int | None = None,
    **settings: Any,
) -> Policies:
    """Calibrate many users at once, on threads: for each what :func:`excalibr.calibrate` gives, bit for bit.

    One bad user stops nobody: ``policies.statuses`` says what became of each, and a single warning sums up. A user with
    fewer candidates than ``k`` gets as many slots as candidates.

    Parameters
    ----------
    scores
        (N,) the scores of all users' candidates, one user after another.
    indptr
        (users + 1,) user u has the candidates ``indptr[u]`` to ``indptr[u + 1]``.
    categories
        (N, r) each candidate's share of each category, an array or ``scipy.sparse`` matrix; with ``items``, one row for
        each item instead.
    targets
        (users, r), or (r,) for all alike.
    items
        (N,) which row of ``categories`` each candidate is.
    trade_offs, slots
        (users,) a ``trade_off`` and a ``k`` for each user, in place of the one for all.
    threads
        None is one for each processor. The result is the same for any number.
    **settings
        The other options of :func:`excalibr.calibrate`: ``k``, ``trade_off``, ``position_weights``, ``method``, ….

    Returns
    -------
    Policies

    Examples
    --------
    Two users, one with three candidates and one with two, one slot each:

    >>> import excalibr
    >>> policies = excalibr.calibrate_batch(
    ...     [0.9, 0.8, 0.5, 0.7, 0.6],
    ...     [0, 3, 5],
    ...     [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]],
    ...     [[0.5, 0.5], [0.0, 1.0]],
    ...     k=1,
    ... )
    >>> policies[1].rankings.tolist()
    [[1]]
    """
    options = read_settings(Settings, settings)
    batch = Batch.of(
        scores, indptr, categories, targets, items=items, trade_offs=trade_offs, slots=slots, settings=options
    )
    workers = checked_threads(threads)
    with progress_bar("Calibrating", batch.users) as advance:
        parts = list(solve_users(batch, _keep, threads=workers, advance=advance))
    policies = Policies(batch, join(parts, batch.memberships.n_categories))
    sum_up(policies.statuses)
    return policies


def solve_users(
    batch: Batch,
    finish: Callable[[Lotteries], Result],
    *,
    fall_back: bool = False,
    threads: int = 1,
    advance: Advance | None = None,
) -> Iterator[Result]:
    """Solve range by range, and hand each range's lotteries to ``finish`` in its own thread.

    With ``fall_back``, users who cannot be calibrated are ranked by their scores; those without candidates or with
    scores that are not finite never are.
    """
    plain = batch.settings.is_plain() and not batch.beyond
    solve = _compiled_solve(batch, fall_back) if plain else _one_by_one_solve(batch, fall_back)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)  # one for each user: the statuses tell them together
        yield from over_ranges(lambda first, last: finish(solve(first, last)), batch.users, threads, advance)


def measure(batch: Batch, lotteries: Lotteries) -> Floats:
    """(users, 6) what the lotteries of a range do, see :func:`excalibr.solver.many.measure_range`."""
    if batch.beyond:
        return _measure_one_by_one(batch, lotteries)
    from excalibr.solver.many import measure_range

    first, last = lotteries.first, lotteries.first + len(lotteries.counts)
    return measure_range(batch.as_users, lotteries.places, lotteries.weights, lotteries.counts, first, last)


def sum_up(statuses: Integers, *, level: int = 3) -> None:
    """One warning that says how many users could not be calibrated, or not to the end, and why."""
    codes, counts = np.unique(statuses[statuses != Status.OK], return_counts=True)
    if len(codes):
        listed = ", ".join(f"{count:,} {Status(code).text}" for code, count in zip(codes, counts, strict=True))
        warnings.warn(f"{counts.sum():,} of {len(statuses):,} users: {listed}.", BatchWarning, stacklevel=level)


def _keep(lotteries: Lotteries) -> Lotteries:
    return lotteries


def _compiled_solve(batch: Batch, fall_back: bool) -> Solve:
    """The loop over users inside the kernel."""
    from excalibr.solver.engines import sorts_allowed
    from excalibr.solver.many import solve_range

    kernel: Any = solve_range
    limits = batch.settings.limits()
    asked, at_end = _asked(batch, fall_back), _at_end(batch)
    arrays = (batch.as_users, asked, limits.tolerance, sorts_allowed(limits))
    kernel(*arrays, 0, 0)  # compiled or loaded here, and not by every thread at once

    def solve(first: int, last: int) -> Lotteries:
        places, weights, counts, prices, gaps = kernel(*arrays, first, last)
        statuses = batch.statuses[first:last].copy()
        for short in np.flatnonzero(gaps > limits.tolerance):
            if gaps[short] > limits.tolerance * max(1.0, _spread(batch, first + int(short))):
                statuses[short] = Status.STOPPED_EARLY
        found = Lotteries(first, places, weights, counts, prices, gaps, statuses)
        return _with_ends(batch, found, at_end[first:last], fall_back) if at_end[first:last].any() else found

    return solve


def _at_end(batch: Batch) -> Booleans:
    """Users with a trade-off of 0 or 1: many lotteries are optimal there, and ``calibrate`` looks for the best one."""
    return np.asarray(batch.good & np.isin(batch.trade_offs, (0.0, 1.0)))


def _with_ends(batch: Batch, found: Lotteries, at_end: Booleans, fall_back: bool) -> Lotteries:
    """A range's lotteries, with those of users at an end of the trade-off made one by one and put in their places."""
    ends, slots = np.cumsum(found.counts), batch.slots[found.first : found.first + len(found.counts)]
    place_ends = np.cumsum(found.counts * slots)
    parts = []
    for place, alone in enumerate(at_end.tolist()):
        user, count = found.first + place, found.counts[place]
        if alone:
            parts.append(_solve_user(batch, user, fall_back))
            continue
        own = slice(place, place + 1)
        places = found.places[place_ends[place] - count * slots[place] : place_ends[place]]
        weights = found.weights[ends[place] - count : ends[place]]
        one_each = (found.counts[own], found.prices[own], found.gaps[own], found.statuses[own])
        parts.append(Lotteries(user, places, weights, *one_each))
    return join(parts, batch.memberships.n_categories)


def _one_by_one_solve(batch: Batch, fall_back: bool) -> Solve:
    """One call of ``calibrate`` after another: every method and option, at the price of Python for each user."""
    r = batch.memberships.n_categories

    def solve(first: int, last: int) -> Lotteries:
        return join([_solve_user(batch, user, fall_back) for user in range(first, last)], r)

    return solve


def _solve_user(batch: Batch, user: int, fall_back: bool) -> Lotteries:
    status, reasons = int(batch.statuses[user]), {}
    if status < Status.NO_CANDIDATES:
        try:
            own = batch.own_problem(user)
            return _lotteries_of(batch, user, calibrate(*own.arrays, **own.options))
        except ExcalibrError as error:
            status, reasons[user] = int(Status.FAILED), str(error)
    ranked = fall_back and status not in NEVER_RANKED
    weights, places = np.ones(int(ranked)), _by_relevance(batch, user) if ranked else _NOWHERE
    nothing = np.full((1, batch.memberships.n_categories), np.nan)
    return Lotteries(
        user, places, weights, np.array([len(weights)]), nothing, np.array([np.nan]), np.array([status]), reasons
    )


def _lotteries_of(batch: Batch, user: int, policy: Policy) -> Lotteries:
    limits, gap, r = batch.settings.limits(), policy.gap, batch.memberships.n_categories
    exact = batch.settings.draws == "lottery"  # a single ranking has a gap to the best lottery by its nature
    short = exact and gap > limits.tolerance * max(1.0, _spread(batch, user))
    prices = np.full(r, np.nan) if policy.category_prices is None else policy.category_prices
    statuses = np.array([Status.STOPPED_EARLY if short else Status.OK], dtype=np.int64)
    counts, places = np.array([len(policy.weights)]), policy.rankings.ravel()
    return Lotteries(
        user, places, policy.weights, counts, prices[None, :], np.array([gap]), statuses, policies={user: policy}
    )


def _asked(batch: Batch, fall_back: bool) -> Integers:
    """(users,) whether the kernel solves a user, ranks by score, or leaves the user out."""
    from excalibr.solver.many import BY_RELEVANCE, LEFT_OUT, SOLVED

    otherwise = np.where(np.isin(batch.statuses, NEVER_RANKED) | (not fall_back), LEFT_OUT, BY_RELEVANCE)
    solved = np.where(_at_end(batch), LEFT_OUT, SOLVED)
    return np.where(batch.good, solved, otherwise).astype(np.int64)


def _by_relevance(batch: Batch, user: int) -> Integers:
    """The best scores in the heaviest slots, ties by the lower index; pinned candidates keep their slots."""
    scores, k = batch.scores[batch.starts[user] : batch.starts[user + 1]], int(batch.slots[user])
    ranking = np.full(k, -1, dtype=np.int64)
    for slot, candidate in batch.beyond.pinned.get(user, {}).items():
        if slot < k:
            ranking[slot] = candidate
    by_score = np.argsort(-scores, kind="stable")
    by_score = by_score[~np.isin(by_score, ranking)]
    by_weight = slots_by_weight(batch.settings.weights_of(k))
    free = by_weight[ranking[by_weight] < 0]
    ranking[free] = by_score[: len(free)]
    return ranking


def _measure_one_by_one(batch: Batch, lotteries: Lotteries) -> Floats:
    """The same as the kernel measures, for what it does not know: attributes are summed, bands have no inside."""
    measured = np.full((len(lotteries.counts), 6), np.nan)
    for place in np.flatnonzero(lotteries.counts).tolist():
        user = lotteries.first + place
        scores, ranking = batch.scores[batch.starts[user] : batch.starts[user + 1]], _by_relevance(batch, user)
        if user not in lotteries.policies:  # ranked by relevance
            measured[place, [0, 2]] = scores[ranking] @ batch.settings.weights_of(len(ranking))
            continue
        policy = lotteries.policies[user]
        problem = policy.problem
        before = Policy(problem, ranking[None], np.ones(1))
        deviations = problem.distances(policy.draw_shares).sum(axis=-1)
        measured[place] = (
            *(scores @ before.exposure, problem.distances(before.shares).sum()),
            *(scores @ policy.exposure, problem.distances(policy.shares).sum()),
            *(policy.weights @ deviations, deviations.max()),
        )
    return measured


def _spread(batch: Batch, user: int) -> float:
    scores = batch.scores[batch.starts[user] : batch.starts[user + 1]]
    return float((1.0 - batch.trade_offs[user]) * np.ptp(scores))
