"""Reranker: the class that users of tables meet. Tables in, slates, lotteries or a report out, in the caller's kind."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import _seeds as seeds
from excalibr._batch import Batch, Beyond, Status, solve_users
from excalibr._calibration import DEFAULT_TRADE_OFF
from excalibr._messages import Message, Option
from excalibr._options import Settings, option, read_settings
from excalibr._parallel import Advance, checked_threads, progress_bar
from excalibr._types import Floats
from excalibr.errors import BatchWarning, InputError, explain, unknown_name
from excalibr.tables._candidates import Candidates, read_candidates
from excalibr.tables._items import Items, read_items
from excalibr.tables._options import Tables
from excalibr.tables._pages import Pinned, Seen, read_pinned, read_shown
from excalibr.tables._results import Finish, Results, draw_stored, understood_text
from excalibr.tables._summary import warn_all
from excalibr.tables._user_targets import read_wanted

__all__ = ["Reranker"]

LOGGER = logging.getLogger("excalibr")

FALLBACKS = ("relevance", "nothing", "error")

NOTHING_PINNED = Pinned({}, np.zeros(1, dtype=bool))


@dataclass(frozen=True, kw_only=True, eq=False)
class Reranker(Settings):
    """Re-ranks tables of candidates for many users: the constructor takes how to rank, the methods take tables.

    Parameters
    ----------
    k, trade_off, relevance_loss, max_deviation, position_weights, divergence, attribute_weights, category_weights, \
relative, floors, caps, max_per_category, normalise, method, draws, tolerance, max_sorts
        As for :func:`excalibr.calibrate`, for every user; options by category name the categories, as in
        ``floors={"drama": 0.1}``, or with several attributes ``floors={"genre": {"drama": 0.1}}``.
        ``trade_off`` and ``k`` may also come from columns of a users table.
    seed
        A user's ranking is drawn by (seed, user), so that it stays the same from run to run and machine to machine.
    threads
        None is one for each processor; the results are the same for any number.
    fallback
        What users get who cannot be calibrated, for instance for want of a history: "relevance", the order of their
        scores; "nothing"; or "error", to stop at the first of them.

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

    seed: int = option(0, "Rankings are drawn by (seed, user).")
    threads: int | None = option(None, "Threads; without it, one for each processor.")
    fallback: str = option("relevance", "For users who cannot be calibrated: relevance, nothing or error.")

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        checked_threads(self.threads)
        seeds.uniforms(self.seed, 0, 1)
        if self.fallback not in FALLBACKS:
            raise unknown_name("fallback", self.fallback, FALLBACKS)

    def rerank(self, candidates: Any, items: Any, *, day: Hashable = None, **tables: Any) -> Any:
        """One ranking a user, drawn by (seed, user), or by (seed, (user, day)) where a day is given.

        Parameters
        ----------
        candidates
            A table with ``user_id``, ``item_id``, ``score`` and any other columns, which are kept; rows in any order.
        items
            A table with ``item_id``, ``category`` and an optional ``weight``: a row for each item and category, or a
            row an item with a list, or with a text and ``separator``.
        day
            Anything that names the draw besides the user: a date, a page.
        **tables
            ``history`` or ``targets``; ``users``, ``prior``, ``pinned``, ``shown``; ``strength``, ``half_life``,
            ``separator``; and column names: ``user_id``, ``item_id``, ``score``, ``category`` (a list or a mapping of
            them for several attributes), ``attribute``, ``weight``, ``low``, ``high``, ``timestamp``, ``rank``; for
            one table alone ``history_user_id``, ``items_item_id``, ….

        Returns
        -------
        table
            Of the candidates' kind: user, rank (from 1), item, score and the kept columns; by user and rank.
        """
        return self._told(self.solve(candidates, items, day=day, **tables)).slates()

    def lotteries(self, candidates: Any, items: Any, **tables: Any) -> Any:
        """Every ranking of every user with its probability: user, ranking (from 1), probability, rank, item, ….

        The parameters are those of :meth:`rerank`. Stored, the table can be drawn from later with :meth:`draw`.
        """
        return self._told(self.solve(candidates, items, keep=True, **tables)).lotteries()

    def report(self, candidates: Any, items: Any, **tables: Any) -> Any:
        """A row a user: candidates, slots, relevance and deviation before and after, gap, rankings, status.

        The parameters are those of :meth:`rerank`. ``deviation`` is of the expectation over the lottery,
        ``draw_deviation`` of a single draw, on average, and ``worst_draw_deviation`` of the worst one. ``engine``,
        ``sorts``, ``steps`` and ``solver_status`` are what the solve took, see :class:`excalibr._policy.SolveInfo`.
        """
        return self._told(self.solve(candidates, items, measured=True, **tables)).report()

    def draw(self, lotteries: Any, *, day: Hashable = None, **columns: str) -> Any:
        """One ranking a user from stored lotteries, by (seed, user, day), with nothing solved again.

        ``draw(lotteries(...), day=day)`` is ``rerank(..., day=day)``.
        """
        return draw_stored(lotteries, read_settings(Tables, {"targets": {}, **columns}), self.seed, day)

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
        options = read_settings(Tables, tables)
        known = items if isinstance(items, Items) else read_items(items, options)
        given = read_candidates(candidates, known, options)
        seen = None if options.shown is None else read_shown(given.users, known, options, self)
        given = given if seen is None else given.without(seen.owners, seen.items)
        batch = self._batch(given, seen, known, options)
        self._stop_at_bad(batch, given)
        LOGGER.info("%s", understood_text(options, known, batch))
        finish = Finish(batch, given.keys(), self.seed, day, keep, measured)
        workers, fall_back = checked_threads(self.threads), self.fallback == "relevance"
        with nullcontext(advance) if advance else progress_bar("Re-ranking", batch.users) as done:
            parts = list(solve_users(batch, finish, fall_back=fall_back, threads=workers, advance=done))
        return Results(options, known, given, batch, parts)

    def _batch(self, given: Candidates, seen: Seen | None, items: Items, options: Tables) -> Batch:
        """The candidates and what their users want, as one batch."""
        wanted = read_wanted(given.users, items, options)
        pinned = NOTHING_PINNED if options.pinned is None else read_pinned(given, items, options)
        shown = {} if seen is None else seen.by_user()
        asked = options.pinned is not None or options.shown is not None
        trade_off = DEFAULT_TRADE_OFF if self.trade_off is None else self.trade_off
        batch = Batch.of(
            given.scores,
            given.starts,
            items.rows,
            wanted.targets,
            items=given.items,
            trade_offs=_or_else(wanted.trade_offs, trade_off),
            slots=_or_else(wanted.slots, np.inf if self.k is None else self.k),
            settings=self.numbered(items.categories.to_pylist(), items.attributes),
            beyond=Beyond(items.attributes, wanted.highs, pinned.by_user, shown, asked),
        )
        statuses = np.where(pinned.bad & (wanted.statuses == Status.OK), Status.BAD_PIN, wanted.statuses)
        return batch.with_statuses(statuses)

    def _stop_at_bad(self, batch: Batch, given: Candidates) -> None:
        if self.fallback == "error" and not batch.good.all():
            at = int(np.argmin(batch.good))
            found = f"user {given.keys()[at]!r} has {Status(batch.statuses[at]).text}"
            hint = Message("see ", Option("fallback", ...), ".")
            raise InputError(explain("candidates", found, "have only users who can be calibrated", hint))

    def _told(self, results: Results) -> Results:
        """The results, after warnings of what looks wrong, and one about all that could not be used."""
        warn_all(results.notes, stacklevel=3)
        told = results.tally.text(self.fallback)
        if told:
            warnings.warn(told, BatchWarning, stacklevel=3)
        return results


def _or_else(own: Floats | None, default: float) -> Floats | None:
    return None if own is None else np.where(np.isnan(own), default, own)
