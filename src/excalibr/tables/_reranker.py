"""Reranker: the class that users of tables meet. Tables in, slates, lotteries or a report out, in the caller's kind."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._many_users import solve_users
from excalibr._messages import Message, Option
from excalibr._options import AIMS, Options, one_of, option, read_options
from excalibr._parallel import Advance, checked_threads, progress_bar
from excalibr._problem import Batch, Status
from excalibr._seeds import checked_seed
from excalibr._solver import questions_of
from excalibr._types import Floats, Integers
from excalibr.errors import BatchWarning, InputError
from excalibr.tables._by_name import named_categories, with_numbers
from excalibr.tables._candidates import CandidateArrays, read_candidates
from excalibr.tables._items import ItemArrays, read_items
from excalibr.tables._options import Tables, check_distinct_names
from excalibr.tables._pages import Pinned, read_pinned, read_shown
from excalibr.tables._results import REPORT_COLUMNS, Finish, Results, check_day, reasons_in_names, understood_text
from excalibr.tables._stored import draw_stored
from excalibr.tables._summary import warn_all
from excalibr.tables._user_targets import Wanted, read_wanted, visits_of

if TYPE_CHECKING:
    from excalibr.tables._balance import Balance
    from excalibr.tables._prices import GroupPrices

LOGGER = logging.getLogger("excalibr")

NOTHING_PINNED = Pinned({}, np.zeros(1, dtype=bool))


@dataclass(frozen=True, kw_only=True, eq=False)
class Reranker(Options):
    """Re-ranks tables of candidates for many users: the constructor takes how to rank, the methods take tables.

    Parameters
    ----------
    k, trade_off, relevance_loss, max_deviation, position_weights, divergence, attribute_weights, category_weights, \
relative, floors, caps, max_per_category, normalise, method, draws, tolerance, max_sorts, \
time_limit
        As for :func:`excalibr.calibrate`, for every user; options by category name the categories, as in
        ``floors={"drama": 0.1}``, or with several attributes ``floors={"genre": {"drama": 0.1}}``.
        ``trade_off`` and ``k`` may also come from columns of a users table.
    seed
        A user's ranking is drawn by (seed, user), so that it stays the same from run to run and machine to machine.
    threads
        None is one for each processor; the results are the same for any number.
    fallback
        What users who cannot be calibrated get, for instance because they have no history: "relevance", the order of
        their scores; "nothing"; or "error", to stop at the first of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> candidates = pa.table({
    ...     "user_id": ["ada"] * 4,
    ...     "item_id": [1, 2, 3, 4],
    ...     "score": [0.9, 0.8, 0.5, 0.4],
    ... })
    >>> items = pa.table({"item_id": [1, 2, 3, 4], "category": ["drama", "drama", "comedy", "comedy"]})
    >>> reranker = Reranker(k=2, position_weights="uniform")
    >>> reranker.rerank(candidates, items, targets={"drama": 0.5, "comedy": 0.5}).to_pydict()
    {'user_id': ['ada', 'ada'], 'rank': [1, 2], 'item_id': [1, 3], 'score': [0.9, 0.5]}
    """

    seed: int = option(0, "Rankings are drawn by (seed, user).", lambda _, seed: checked_seed(seed))
    threads: int | None = option(
        None, "Threads; without it, one for each processor.", lambda _, threads: checked_threads(threads)
    )
    fallback: str = option(
        "relevance",
        "For users who cannot be calibrated: relevance, nothing or error.",
        one_of(("relevance", "nothing", "error")),
    )

    def rerank(self, candidates: Any, items: Any, *, day: Hashable = None, **tables: Any) -> Any:
        """One ranking per user, drawn by (seed, user), or by (seed, (user, day)) where a day is given.

        Parameters
        ----------
        candidates
            A table with ``user_id``, ``item_id``, ``score`` and any other columns, which are kept; rows in any order.
        items
            A table with ``item_id``, ``category`` and an optional ``weight``: one row for each item and category, or
            one row per item with a list of categories, or with a text that is split at ``separator``.
        day
            Anything that names the draw besides the user: a date, a page.
        **tables
            ``history`` or ``targets``; ``users``, ``prior``, ``pinned``, ``shown``; ``prices`` of groups of items, as
            :meth:`balance` finds them, which are subtracted from the gains; ``strength``, ``half_life``,
            ``separator``; ``visit``, which visit of the user this is, from 0 (or a column of ``users``): visits
            balance one another, see :meth:`excalibr.Policy.sample`; ``propensities=True`` for the columns
            ``probability`` (of the ranking), ``propensity`` (of the item in its place) and ``propensity_anywhere``;
            and column names: ``user_id``, ``item_id``, ``score``, ``category`` (a list or a mapping of
            them for several attributes), ``attribute``, ``weight``, ``low``, ``high``, ``timestamp``, ``rank``; for
            one table alone ``history_user_id``, ``items_item_id``, ….

        Returns
        -------
        table
            Of the candidates' kind: user, rank (from 1), item, score and the kept columns; by user and rank.

        Raises
        ------
        InputError, InputTypeError
            Where a table or an option cannot be used; for a single user only with ``fallback="error"``.

        Warns
        -----
        BatchWarning
            Once, with how many users and rows could not be used, and why.
        TableWarning, TruncationWarning
            Where a table looks wrong; without ``k``, where every user has as many slots as candidates.
        """
        return self._with_warnings(self.solve(candidates, items, day=day, **tables)).slates()

    def lotteries(self, candidates: Any, items: Any, **tables: Any) -> Any:
        """Every ranking of every user with its probability: user, ranking (from 1), probability, rank, item, ….

        The parameters are those of :meth:`rerank`. Stored, the table can be drawn from later with :meth:`draw`.
        """
        return self._with_warnings(self.solve(candidates, items, keep=True, **tables)).lotteries()

    def report(self, candidates: Any, items: Any, **tables: Any) -> Any:
        """One row per user: candidates, slots, relevance and deviation before and after, gap, rankings, status.

        The parameters are those of :meth:`rerank`. ``deviation`` is of the expectation over the lottery,
        ``draw_deviation`` of a single draw, on average, and ``worst_draw_deviation`` of the worst one. ``engine``,
        ``sorts``, ``steps`` and ``solver_status`` are what the solve took, as ``policy.info`` has it.
        """
        return self._with_warnings(self.solve(candidates, items, measured=True, **tables)).report()

    def draw(self, lotteries: Any, *, day: Hashable = None, **options: Any) -> Any:
        """One ranking per user from stored lotteries, by (seed, user, day), with nothing solved again.

        ``draw(lotteries(...), day=day)`` is ``rerank(..., day=day)``, column for column.

        Parameters
        ----------
        lotteries
            What :meth:`lotteries` returned, in any order of rows, in memory or read back from a file.
        day
            As for :meth:`rerank`.
        **options
            ``visit``, ``users`` with visits of their own, ``propensities`` and column names, as for :meth:`rerank`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> lotteries = pa.table({
        ...     "user_id": ["ada", "ada"], "ranking": [1, 2], "probability": [0.5, 0.5], "rank": [1, 1],
        ...     "item_id": [7, 8], "score": [0.9, 0.8],
        ... })
        >>> [Reranker(seed=1).draw(lotteries, visit=visit)["item_id"].to_pylist() for visit in range(4)]
        [[8], [7], [8], [7]]
        """
        return draw_stored(lotteries, read_options(Tables, {"targets": {}, **options}), self.seed, day)

    def solve(
        self,
        candidates: Any,
        items: Any,
        *,
        day: Hashable = None,
        keep: bool = False,
        measured: bool = False,
        advance: Advance | None = None,
        **tables: Any,
    ) -> Results:
        """Solve once, to ask for slates, lotteries and a report together; ``results.tally`` says what was not used.

        What was understood of the tables is ``results.understood``, and logged under ``excalibr`` at INFO.
        ``keep`` keeps all rankings for :meth:`Results.lotteries`, ``measured`` what :meth:`Results.report` shows.
        ``items`` may also be what :func:`excalibr.tables.read_items` has read from the same table. ``advance`` is
        called with the number of users that are done, in place of a progress bar.
        """
        check_day(day)
        options = read_options(Tables, tables)
        known, prices = read_items_and_prices(items, options.prices, options)
        given, wanted, batch = self.read(candidates, known, options)
        visits, bad_visits = visits_of(wanted.visits, options)
        if bad_visits is not None:
            batch = batch.with_statuses(np.where(bad_visits, Status.BAD_VISIT, batch.statuses))
        stop_at_bad(self, given, known, batch.statuses, batch.reasons)
        check_distinct_names(options, given.frame.columns, lotteries=keep, report=REPORT_COLUMNS if measured else ())
        LOGGER.info("%s", understood_text(options, known, batch))
        visited = None if visits is None else np.broadcast_to(visits, batch.users)
        questions = questions_of(batch) if measured else None
        finish = Finish(batch, given.keys(), self.seed, day, keep, questions, visited, options.propensities)
        how: dict[str, Any] = {"fall_back": self.fallback == "relevance", "threads": checked_threads(self.threads)}
        with nullcontext(advance) if advance else progress_bar("Re-ranking", batch.users) as done:
            if prices is None:
                parts = list(solve_users(batch, finish, **how, advance=done))
            else:
                parts = list(prices.solve(known, finish, **how, advance=done))
        results = Results(options, known, given, batch, parts)
        stop_at_bad(self, given, known, results.statuses, results.reasons)  # some questions turn out to have no answer
        return results

    def balance(self, candidates: Any, items: Any, **asked: Any) -> Balance:
        """Prices for groups of items, so that over all users each group gets its share of what is seen.

        Parameters
        ----------
        candidates, items
            As for :meth:`rerank`; the attributes of ``everyone`` are columns of ``items``.
        **asked
            ``everyone``, by attribute the wanted share of each group: a mapping from groups to shares that sum to 1
            or to pairs of low and high, or a table of ``category`` and ``weight``, or of ``category``, ``low`` and
            ``high``; or one table for all with ``attribute`` as well. ``everyone_weights``, by attribute what a unit
            of deviation costs, against users' own objectives (1 by default); ``everyone_floors`` and
            ``everyone_caps``, by attribute mappings from groups to hard limits; ``everyone_relative``, count deviations
            relative to their targets; ``everyone_tolerance`` (1e-3), the wanted gap; ``max_passes`` (30); ``start``,
            an earlier table of prices.
            All else is as for :meth:`rerank`; a column ``weight`` of ``users`` is how much each user counts.

        Returns
        -------
        Balance
            With ``prices``, ``objective``, ``bound``, ``gap``, ``slates()``, ``lotteries()``, ``report()``.

        Raises
        ------
        InfeasibleError
            Where no lotteries keep ``everyone_floors`` and ``everyone_caps``; says which conflict.

        Warns
        -----
        GapWarning
            Where ``max_passes`` end before ``everyone_tolerance`` is reached.

        Examples
        --------
        Both users would see the big seller's item first; the small one should get a quarter of what is seen:

        >>> import pyarrow as pa
        >>> candidates = pa.table({
        ...     "user_id": ["ada", "ada", "bob", "bob"], "item_id": [1, 2, 1, 2], "score": [0.9, 0.5, 0.9, 0.8],
        ... })
        >>> items = pa.table({"item_id": [1, 2], "category": ["drama", "drama"], "seller": ["big", "small"]})
        >>> balance = Reranker(k=1, trade_off=0.0).balance(
        ...     candidates, items, targets={"drama": 1.0}, everyone={"seller": {"big": 0.75, "small": 0.25}}
        ... )
        >>> balance.prices.select(["category", "share_before", "share_after"]).to_pylist()[1]
        {'category': 'small', 'share_before': 0.0, 'share_after': 0.25}
        >>> round(balance.objective, 6), round(balance.gap, 6)  # bob sees the other item every second time
        (0.875, 0.0)
        """
        from excalibr.tables._balance import balance  # with scipy

        return balance(self, candidates, items, asked)

    def read(self, candidates: Any, items: ItemArrays, options: Tables) -> tuple[CandidateArrays, Wanted, Batch]:
        """The candidates, what their users want, and both as one batch."""
        given = read_candidates(candidates, items, options)
        seen = None if options.shown is None else read_shown(given.users, items, options, self)
        given = given if seen is None else given.without(seen.owners, seen.items)
        wanted = read_wanted(given.users, items, options)
        if self.asked[1] and wanted.trade_offs is not None and np.isfinite(wanted.trade_offs).any():
            both = Message("column 'trade_off' of users and ", Option(AIMS[self.asked[1]]))
            raise InputError(both, "are both given", "not go together", "keep one of them.")
        pinned = NOTHING_PINNED if options.pinned is None else read_pinned(given, items, options)
        with named_categories(items):
            batch = Batch.of(
                given.scores,
                given.starts,
                items.rows,
                wanted.targets,
                items=given.items,
                trade_offs=_or_else(wanted.trade_offs, self.asked_trade_off),
                slots=_or_else(wanted.slots, np.inf if self.k is None else self.k),
                options=with_numbers(self, items),
                attributes=items.attributes,
                pinned=pinned.by_user,
                shown=None if seen is None else (seen.owners, seen.items, seen.weights),
            )
        statuses = np.where(pinned.bad & (wanted.statuses == Status.OK), Status.BAD_PIN, wanted.statuses)
        return given, wanted, batch.with_statuses(statuses)

    def _with_warnings(self, results: Results) -> Results:
        """The results, after warnings of what looks wrong, and one about all that could not be used."""
        warn_all(results.notes, stacklevel=3)
        unused = results.tally.text(self.fallback)
        if unused:
            warnings.warn(unused, BatchWarning, stacklevel=3)
        return results


def stop_at_bad(
    reranker: Reranker, given: CandidateArrays, items: ItemArrays, statuses: Integers, reasons: Mapping[int, str]
) -> None:
    """Where ``fallback`` is "error", the error for the first user who cannot be calibrated."""
    bad = statuses >= Status.NO_CANDIDATES
    if reranker.fallback == "error" and bad.any():
        at = int(np.argmax(bad))
        user = f"user {given.keys()[at]!r}"
        if at in reasons:
            raise InputError(Message(f"candidates: {user}: ", reasons_in_names({at: reasons[at]}, given, items)[at]))
        hint = Message("see ", Option("fallback", ...), ".")
        has = f"{user} has {Status(statuses[at]).text}"
        raise InputError("candidates", has, "have only users who can be calibrated", hint)


def read_items_and_prices(items: Any, table: Any, options: Tables) -> tuple[ItemArrays, GroupPrices | None]:
    """The items, unless they are read already, with the groups that prices are of; and these prices, or None."""
    known = items if isinstance(items, ItemArrays) else read_items(items, options)
    if table is None:
        return known, None
    from excalibr.tables._prices import read_groups, read_prices  # with scipy

    prices = read_prices(table)
    if known is not items:
        known = dataclasses.replace(known, groups=read_groups(items, prices.attributes, options))
    return known, prices


def _or_else(own: Floats | None, default: float) -> Floats | None:
    return None if own is None else np.where(np.isnan(own), default, own)
