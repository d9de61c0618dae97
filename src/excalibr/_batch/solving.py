"""``calibrate_batch``, and the loop under it: ranges of users in threads, by the compiled loop or one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr import methods
from excalibr._batch.answers import Effort, Lotteries, Policies, join, no_effort, problem_of
from excalibr._batch.checked import NEVER_RANKED, Batch, Status
from excalibr._native import kernel
from excalibr._options import Settings, read_settings
from excalibr._parallel import Advance, checked_threads, over_ranges, progress_bar
from excalibr._policy import Policy
from excalibr._solver.failures import Failure, error_of
from excalibr._types import Floats, Integers
from excalibr.errors import BatchWarning, ExcalibrError, InputError, SolverError, explain
from excalibr.positions import slots_by_weight

__all__ = ["calibrate_batch", "measure", "solve_users", "sum_up"]

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
    if batch.settings.method == "excalibr":
        yield from _solved_by_the_kernel(batch, finish, fall_back, threads, advance)
    else:
        solve = _one_by_one_solve(batch, fall_back)
        yield from over_ranges(lambda first, last: finish(solve(first, last)), batch.users, threads, advance)


def measure(batch: Batch, lotteries: Lotteries) -> Floats:
    """(users, 6) what the lotteries of a range do.

    Columns: relevance and deviation of the order by scores; relevance and deviation of the lottery in expectation;
    the mean and the largest deviation of a draw. Users without a ranking have nan.
    """
    first, last = lotteries.first, lotteries.first + len(lotteries.counts)
    arrays = (np.ascontiguousarray(lotteries.places), lotteries.weights, np.ascontiguousarray(lotteries.counts))
    measured: Floats = kernel.measure_range(batch.questions(fall_back=False), *arrays, first, last)
    return measured


def sum_up(statuses: Integers, *, level: int = 3) -> None:
    """One warning that says how many users could not be calibrated, or not to the end, and why."""
    codes, counts = np.unique(statuses[statuses != Status.OK], return_counts=True)
    if len(codes):
        listed = ", ".join(f"{count:,} {Status(code).text}" for code, count in zip(codes, counts, strict=True))
        warnings.warn(f"{counts.sum():,} of {len(statuses):,} users: {listed}.", BatchWarning, stacklevel=level)


def _keep(lotteries: Lotteries) -> Lotteries:
    return lotteries


def _solved_by_the_kernel(
    batch: Batch, finish: Callable[[Lotteries], Result], fall_back: bool, threads: int, advance: Advance | None
) -> Iterator[Result]:
    """The loop over users inside the kernel, range by range; an interrupt ends the ranges that are under way."""
    questions = batch.questions(fall_back=fall_back)

    def work(first: int, last: int) -> Result:
        return finish(_lotteries_of_range(batch, kernel.solve_range(questions, first, last), first))

    yield from over_ranges(work, batch.users, threads, advance, questions.cancel)


def _lotteries_of_range(batch: Batch, found: tuple[Any, ...], first: int) -> Lotteries:
    """The kernel's answers for a range of users."""
    (places, weights, counts, prices, gaps, allowed, trade_offs, statuses, engines, sorts, steps, failures, *rest) = (
        found
    )
    outcome = batch.statuses[first : first + len(counts)].copy()
    solved = outcome < Status.NO_CANDIDATES
    outcome[solved & (gaps > allowed)] = Status.STOPPED_EARLY
    errors = {}
    for place in np.flatnonzero(failures).tolist():
        outcome[place] = Status.FAILED
        errors[first + place] = _error(batch, place, failures, rest[0], rest[1])
    for user, reason in batch.terms.reasons.items():
        if first <= user < first + len(counts) and solved[user - first]:
            outcome[user - first], errors[user] = Status.FAILED, InputError(reason)
    effort = Effort(engines, sorts, steps, statuses)
    return Lotteries(first, places, weights, counts, prices, gaps, outcome, trade_offs, effort, errors)


def _error(batch: Batch, place: int, failures: Integers, details: Floats, limit_prices: Floats | None) -> ExcalibrError:
    category, wanted, reached = details[place].tolist()
    prices = None if limit_prices is None else limit_prices[place]
    failure = Failure(int(failures[place]), int(category), wanted, reached, prices)
    terms, settings = batch.terms, batch.settings
    budget = settings.relevance_loss if settings.max_deviation is None else settings.max_deviation
    return error_of(
        failure, batch.beyond.attributes, terms.floors, terms.caps, float(budget or 0.0), settings.max_sorts
    )


def _one_by_one_solve(batch: Batch, fall_back: bool) -> Solve:
    """Another method than the exact one, user after user, at the price of Python for each."""
    r = batch.memberships.n_categories

    def solve(first: int, last: int) -> Lotteries:
        return join([_solve_user(batch, user, fall_back) for user in range(first, last)], r)

    return solve


def _solve_user(batch: Batch, user: int, fall_back: bool) -> Lotteries:
    status, errors = int(batch.statuses[user]), {}
    if status < Status.NO_CANDIDATES:
        try:
            return _lotteries_of(batch, user, _apply_method(batch, user))
        except ExcalibrError as error:
            status, errors[user] = int(Status.FAILED), error
        except MemoryError as error:
            status, errors[user] = int(Status.FAILED), SolverError(f"out of memory {error}".strip())
    ranked = fall_back and status not in NEVER_RANKED
    weights, places = np.ones(int(ranked)), _by_relevance(batch, user) if ranked else _NOWHERE
    nothing = np.full((1, batch.memberships.n_categories), np.nan)
    unknown = np.array([np.nan])
    return Lotteries(
        *(user, places, weights, np.array([len(weights)]), nothing, unknown, np.array([status]), unknown),
        *(no_effort(1), errors),
    )


def _apply_method(batch: Batch, user: int) -> Policy:
    """The method's policy for one user, as :func:`excalibr.calibrate` would make it."""
    own, settings = batch.own_problem(user), batch.settings
    for name in ("draws", "relevance_loss", "max_deviation"):
        if name in own.options:
            hint = f"leave out {name}, or the method."
            raise InputError(explain("method", f"is {settings.method!r}", f"be 'excalibr' where {name} is given", hint))
    return methods.apply(settings.method, problem_of(own), settings.limits())


def _lotteries_of(batch: Batch, user: int, policy: Policy) -> Lotteries:
    prices = policy.category_prices
    prices = np.full(batch.memberships.n_categories, np.nan) if prices is None else prices
    counts, places, status = np.array([len(policy.weights)]), policy.rankings.ravel(), np.array([int(Status.OK)])
    trade_off, gap = np.array([policy.problem.trade_off]), np.array([policy.gap])
    return Lotteries(
        *(user, places, policy.weights, counts, prices[None, :], gap, status, trade_off, no_effort(1)),
        policies={user: policy},
    )


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
