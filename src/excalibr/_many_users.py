"""Many users at once: ``calibrate_batch``, and the loop under it. Ranges of users in threads, by the compiled loop.

Other methods than the exact one are one Python call per user. One bad user stops nobody.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr import methods
from excalibr._arrays import starts_of
from excalibr._messages import Message, Option
from excalibr._native import kernel
from excalibr._options import AIMS, Options, read_options
from excalibr._parallel import Advance, checked_threads, one_blas_thread, over_ranges, progress_bar
from excalibr._policy import Effort, Lotteries, Policies, Policy, join, no_effort
from excalibr._problem import Band, Batch, CategoriesLike, Status
from excalibr._solver import STATUSES, TIME_LIMIT_REACHED, questions_of
from excalibr._solver.seam import error_of
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import BatchWarning, ExcalibrError, InputError, InputTypeError, SolverError

Result = TypeVar("Result")


def calibrate_batch(
    scores: ArrayLike,
    indptr: ArrayLike,
    categories: Any,
    targets: CategoriesLike,
    *,
    items: ArrayLike | None = None,
    trade_offs: ArrayLike | None = None,
    slots: ArrayLike | None = None,
    item_prices: ArrayLike | None = None,
    threads: int | None = None,
    **options: Any,
) -> Policies:
    """Calibrate many users at once, on threads: for each what :func:`excalibr.calibrate` gives, bit for bit.

    One bad user stops nobody: ``policies.statuses`` says what became of each, and a single warning sums up. A user with
    fewer candidates than ``k`` gets as many slots as candidates.

    Parameters
    ----------
    scores
        (N,) the scores of all users' candidates, one user after another.
    indptr
        (users + 1,) user u has the candidates from ``indptr[u]`` up to, but not including, ``indptr[u + 1]``.
    categories
        (N, r) each candidate's share of each category, an array or ``scipy.sparse`` matrix; with ``items``, one row for
        each item instead.
    targets
        (users, r), an array or ``scipy.sparse`` matrix, or (r,) for all alike: wanted shares, which sum to 1.
    items
        (N,) which row of ``categories`` each candidate is.
    trade_offs, slots
        (users,) a ``trade_off`` and a ``k`` for each user, in place of the one for all.
    item_prices
        (rows of ``categories``,) what a unit of exposure of each costs, as for :func:`excalibr.calibrate`.
    threads
        None is one for each processor. The result is the same for any number.
    **options
        The other options of :func:`excalibr.calibrate`: ``k``, ``trade_off``, ``position_weights``, ``method``, ….
        Bands, several attributes, ``pinned`` and ``shown`` are given as tables, to :class:`excalibr.Reranker`.

    Returns
    -------
    Policies

    Raises
    ------
    InputError, InputTypeError
        Where arrays do not fit together, or an option has a wrong value or type.

    Warns
    -----
    BatchWarning
        Once, with how many users could not be calibrated, or not to the end, and why.

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
    _refuse_what_a_batch_lacks(categories, targets, options)
    asked = read_options(Options, options)
    if trade_offs is not None and asked.asked[1]:
        both = Message(Option("trade_offs"), " and ", Option(AIMS[asked.asked[1]]))
        raise InputError(both, "are both given", "not go together", "keep one of them.")
    batch = Batch.of(
        *(scores, indptr, categories, targets), items=items, trade_offs=trade_offs, slots=slots, options=asked
    ).with_item_prices(item_prices)
    workers = checked_threads(threads)
    with progress_bar("Calibrating", batch.users) as advance:
        parts = list(solve_users(batch, lambda solved: solved, threads=workers, advance=advance))
    policies = Policies(batch, join(parts))
    _warn_of_statuses(policies.statuses)
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
    scores that are not finite never are. An interrupt ends the kernel's ranges that are under way.
    """
    solver = Solver.of(batch, fall_back=fall_back)
    with nullcontext() if batch.options.method == "excalibr" else one_blas_thread():
        yield from over_ranges(
            lambda first, last: finish(solver.solve(first, last)), batch.users, threads, advance, solver.cancel
        )


@dataclass(frozen=True, eq=False)
class Solver:
    """Solves ranges of a batch's users, by the compiled loop or one by one; :attr:`cancel` ends those under way."""

    solve: Callable[[int, int], Lotteries]
    cancel: Callable[[], None]

    @classmethod
    def of(cls, batch: Batch, *, fall_back: bool = False, wanted: Booleans | None = None) -> Solver:
        """For a batch; the exact method leaves out users who are not wanted."""
        if batch.options.method != "excalibr":
            plain = questions_of(batch, solve=False, fall_back=fall_back)
            return cls(
                lambda first, last: join([_solve_user(batch, user, plain) for user in range(first, last)]),
                lambda: None,
            )
        questions = questions_of(batch, fall_back=fall_back, wanted=wanted)
        orders = questions_of(batch, solve=False, fall_back=True) if fall_back else None

        def solve(first: int, last: int) -> Lotteries:
            lotteries = solve_range(batch, questions, first, last)
            return lotteries if orders is None else _with_orders(batch, lotteries, orders)

        return cls(solve, questions.cancel)


def measure(questions: kernel.Questions, lotteries: Lotteries) -> Floats:
    """(users, 6) what the lotteries of a range do.

    Columns: relevance and deviation of the order by scores; relevance and deviation of the lottery in expectation;
    the mean and the largest deviation of a draw. Users without a ranking have nan.
    """
    first, last = lotteries.first, lotteries.first + len(lotteries.counts)
    arrays = (np.ascontiguousarray(lotteries.places), lotteries.weights, np.ascontiguousarray(lotteries.counts))
    return kernel.measure_range(questions, *arrays, first, last)


def _refuse_what_a_batch_lacks(categories: Any, targets: Any, options: dict[str, Any]) -> None:
    """An error that says who takes pins, earlier pages, several attributes and bands."""
    hint = "calibrate takes {} for one user, and Reranker for many."
    for name, what in (("pinned", "pins"), ("shown", "earlier pages")):
        if name in options:
            raise InputError(name, "is given", "be left out", hint.format(what))
    if "verbose" in options:
        raise InputError("verbose", "is given", "be left out", "calibrate prints the iterations of one user.")
    attributes, bands = hint.format("several attributes"), hint.format("bands")
    if isinstance(categories, Mapping):
        raise InputTypeError("categories", "are a mapping", "be an array or a scipy.sparse matrix", attributes)
    if isinstance(targets, Mapping):
        raise InputTypeError("targets", "are a mapping", "be an array of numbers", attributes)
    rows = targets if isinstance(targets, (list, tuple)) else [targets]
    if any(isinstance(row, Band) for row in rows):
        raise InputTypeError("targets", "have a Band", "be an array of numbers", bands)


def _warn_of_statuses(statuses: Integers) -> None:
    """One warning that says how many users could not be calibrated, or not to the end, and why."""
    codes, counts = np.unique(statuses[statuses != Status.OK], return_counts=True)
    if len(codes):
        listed = ", ".join(f"{count:,} {Status(code).text}" for code, count in zip(codes, counts, strict=True))
        warnings.warn(f"{counts.sum():,} of {len(statuses):,} users: {listed}.", BatchWarning, stacklevel=3)


def solve_range(batch: Batch, questions: kernel.Questions, first: int, last: int) -> Lotteries:
    """The kernel's answers for a range of users."""
    found = kernel.solve_range(questions, first, last)
    places, weights, counts, (price_counts, priced, prices), gaps, allowed, trade_offs, objectives, *rest = found
    statuses, engines, sorts, steps, failures, details, (limit_counts, *limit_prices), _ = rest
    outcome = batch.statuses[first:last].copy()
    solved = outcome < Status.NO_CANDIDATES
    outcome[solved & (gaps > allowed)] = Status.STOPPED_EARLY
    outcome[solved & (statuses == STATUSES.index(TIME_LIMIT_REACHED))] = Status.TIME_LIMIT_REACHED
    errors: dict[int, ExcalibrError] = {}
    limit_starts = starts_of(limit_counts)
    for place in np.flatnonzero(failures).tolist():
        outcome[place] = Status.FAILED
        category, wanted, reached = details[place].tolist()
        own = slice(*limit_starts[[place, place + 1]])
        conflict, conflicting = (array[own] for array in limit_prices)
        kind = int(failures[place])
        errors[first + place] = error_of(batch, kind, int(category), wanted, reached, (conflict, conflicting))
    errors |= {user: InputError(why) for user, why in batch.reasons.items() if first <= user < last}
    effort = Effort(engines, sorts, steps, statuses)
    lotteries = (places, weights, counts, price_counts, priced, prices)
    return Lotteries(first, *lotteries, gaps, outcome, trade_offs, objectives, effort, errors)


def _with_orders(batch: Batch, lotteries: Lotteries, orders: kernel.Questions) -> Lotteries:
    """The same with the order by scores for users whose question turned out to have no answer."""
    failed = np.flatnonzero((lotteries.statuses == Status.FAILED) & (lotteries.counts == 0))
    if not len(failed):
        return lotteries
    users = (lotteries.first + failed).tolist()
    rankings = [kernel.solve_range(orders, user, user + 1)[0] for user in users]
    slots = batch.slots[lotteries.first : lotteries.first + len(lotteries.counts)]
    before = np.cumsum(lotteries.counts)[failed]
    places_before = np.repeat(np.cumsum(lotteries.counts * slots)[failed], [len(each) for each in rankings])
    counts = lotteries.counts.copy()
    counts[failed] = 1
    places = np.insert(lotteries.places, places_before, np.concatenate(rankings))
    return replace(lotteries, places=places, weights=np.insert(lotteries.weights, before, 1.0), counts=counts)


def _solve_user(batch: Batch, user: int, orders: kernel.Questions) -> Lotteries:
    """Another method's lottery, in Python; of a user who has none, the order by scores or nothing, with the reason."""
    errors: dict[int, ExcalibrError] = {}
    status = int(batch.statuses[user])
    if user in batch.reasons:
        errors[user] = InputError(batch.reasons[user])
    elif status < Status.NO_CANDIDATES:
        try:
            return _lotteries_of(batch, user, methods.apply(batch.options.method, batch.problem(user)))
        except ExcalibrError as error:
            status, errors[user] = int(Status.FAILED), error
        except MemoryError as error:
            status, errors[user] = int(Status.FAILED), SolverError(f"out of memory {error}".strip())
    return replace(solve_range(batch, orders, user, user + 1), statuses=np.array([status]), errors=errors)


def _lotteries_of(batch: Batch, user: int, policy: Policy) -> Lotteries:
    categories, prices = policy._known_prices or (np.empty(0, dtype=np.int64), np.empty(0))
    counts, places, status = np.array([len(policy.weights)]), policy.rankings.ravel(), np.array([int(Status.OK)])
    trade_off, gap, objective = (
        np.array([value]) for value in (policy.problem.trade_off, policy.gap, policy.objective)
    )
    return Lotteries(
        *(user, places, policy.weights, counts, np.array([len(prices)]), categories, prices),
        *(gap, status, trade_off, objective, no_effort(1)),
        policies={user: policy},
    )
