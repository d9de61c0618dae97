"""Batch: the problems of many users as a few flat arrays, checked together and immutable afterwards.

What is wrong with the arrays as such (shapes, types) is an error. What is wrong with one user's numbers is that user's
status, and stops nobody else. Every check is one pass over whole arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers, sums_by
from excalibr._calibration import DEFAULT_TRADE_OFF
from excalibr._options import Settings
from excalibr._problem import (
    SUM_TOLERANCE,
    WIDEST_BAND,
    WIDEST_RANGE,
    Attribute,
    Band,
    Memberships,
    Shown,
    without_negligible,
)
from excalibr._sparse import SparseRows, read_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, explain

if TYPE_CHECKING:
    from excalibr._batch.terms import BatchTerms

__all__ = ["Batch", "Beyond", "OwnProblem", "Status"]


class Status(IntEnum):
    """What became of a user; those from ``NO_CANDIDATES`` on could not be calibrated."""

    OK = 0
    STOPPED_EARLY = 1
    NO_CANDIDATES = 2
    NO_TARGET = 3
    BAD_SCORES = 4
    BAD_CATEGORIES = 5
    BAD_TARGET = 6
    BAD_TRADE_OFF = 7
    BAD_K = 8
    FAILED = 9
    BAD_PIN = 10
    BAD_VISIT = 11

    @property
    def text(self) -> str:
        """The status as reports show it.

        >>> Status.BAD_TARGET.text
        'bad target'
        """
        return self.name.lower().replace("_", " ")


NEVER_RANKED = (Status.NO_CANDIDATES, Status.BAD_SCORES, Status.BAD_K)
"""Users with these statuses have no order by scores to fall back to."""


@dataclass(frozen=True, eq=False)
class Beyond:
    """What users may have beyond the paper's problem, see :func:`excalibr.calibrate`.

    Attributes
    ----------
    attributes
        Which columns of the categories and targets are which attribute; empty for a single one.
    highs
        (users, r) the upper edges of targets that are bands, whose lower edges are the targets.
    pinned
        By user, slots and the candidates that keep them, counted from the user's first.
    shown
        By user, the rows of the categories that the user has seen, and their position weights.
    asked
        Whether there may be any of it: users are then solved and measured in the same way whoever is beside them.
    """

    attributes: tuple[Attribute, ...] = ()
    highs: Floats | None = None
    pinned: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    shown: Mapping[int, tuple[Integers, Floats]] = field(default_factory=dict)
    asked: bool = False

    def __bool__(self) -> bool:
        return bool(self.attributes or self.highs is not None or self.pinned or self.shown)


NOTHING_BEYOND = Beyond()


@dataclass(frozen=True, eq=False)
class Batch:
    """The problems of many users, user by user in flat arrays.

    Attributes
    ----------
    scores
        (N,) the scores of all candidates, those of user u at ``starts[u]`` to ``starts[u + 1]``.
    starts
        (users + 1,) where each user's candidates begin.
    items
        (N,) the row of ``memberships`` that each candidate is.
    memberships
        The items' shares of each category, rows that sum to 1.
    targets, highs
        (users, r) rows that sum to 1, for each attribute; or the lower edges of bands, whose upper edges are ``highs``.
    trade_offs, slots
        (users,) each user's own; a user with fewer candidates than slots has as many slots as candidates.
    statuses
        (users,) codes of :class:`Status`, as far as the inputs tell.
    settings
        How to rank.
    given_rows, given_targets
        The items' shares and the targets as they came, for those who check and normalise them themselves.
    own_trade_offs
        Whether users have trade-offs of their own, or all have that of ``settings``.
    beyond
        What users have beyond the paper's problem.
    """

    scores: Floats
    starts: Integers
    items: Integers
    memberships: Memberships
    targets: Floats
    trade_offs: Floats
    slots: Integers
    statuses: Integers
    settings: Settings
    given_rows: SparseRows
    given_targets: Floats
    own_trade_offs: bool = False
    beyond: Beyond = NOTHING_BEYOND
    highs: Floats | None = None

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        indptr: ArrayLike,
        categories: Any,
        targets: ArrayLike,
        *,
        items: ArrayLike | None = None,
        trade_offs: ArrayLike | None = None,
        slots: ArrayLike | None = None,
        settings: Settings | None = None,
        beyond: Beyond = NOTHING_BEYOND,
    ) -> Batch:
        """Check the arguments of :func:`excalibr.calibrate_batch` and build the batch."""
        settings = settings or Settings()
        values = _flat("scores", scores)
        starts = _starts(indptr, len(values))
        users, sizes = len(starts) - 1, np.diff(starts)
        given_rows = _rows(categories)
        memberships, bad_rows = _memberships(given_rows, beyond.attributes)
        chosen = _items(items, len(values), memberships.n_candidates)
        given_targets = _targets(targets, users, memberships.n_categories)
        wanted, highs, bad_targets = _normalised_targets(given_targets, beyond)
        balance, bad_trade_offs = _trade_offs(trade_offs, users, settings)
        places, bad_slots = _slots(slots, sizes, settings)
        wrong = {
            Status.BAD_K: bad_slots,
            Status.BAD_TRADE_OFF: bad_trade_offs,
            Status.BAD_TARGET: bad_targets,
            Status.BAD_CATEGORIES: _users_with(bad_rows[chosen], starts),
            Status.BAD_SCORES: _users_with(~(np.abs(values) <= WIDEST_RANGE), starts),
            Status.NO_CANDIDATES: sizes == 0,
        }
        arrays = (frozen(values), frozen(starts), frozen(chosen), memberships, frozen(wanted), balance, places)
        given = (given_rows, given_targets, trade_offs is not None, beyond, highs)
        return cls(*arrays, _statuses(wrong, users), settings, *given)

    @property
    def users(self) -> int:
        """Number of users."""
        return len(self.starts) - 1

    @property
    def good(self) -> Booleans:
        """(users,) whether the user can be calibrated."""
        return np.asarray(self.statuses < Status.NO_CANDIDATES)

    @cached_property
    def terms(self) -> BatchTerms:
        """What is asked of the users, as the kernel takes it."""
        from excalibr._batch.terms import read_terms

        return read_terms(self)

    @cached_property
    def scaled_scores(self) -> Floats:
        """The scores, brought to the range from 0 to 1 user by user where that is asked."""
        if self.settings.normalise is None or not len(self.scores):
            return self.scores
        sizes = np.diff(self.starts)
        begins, owners = self.starts[:-1][sizes > 0], np.repeat(np.arange(int((sizes > 0).sum())), sizes[sizes > 0])
        with np.errstate(invalid="ignore", over="ignore"):  # of users whose scores cannot be used
            lowest, highest = np.minimum.reduceat(self.scores, begins), np.maximum.reduceat(self.scores, begins)
            spread = (highest - lowest)[owners]
            above = self.scores - lowest[owners]
            return frozen(np.where(spread > 0, above / np.where(spread > 0, spread, 1.0), 0.0))

    def questions(self, *, fall_back: bool) -> Any:
        """The users' questions for the kernel; with ``fall_back``, whoever cannot be calibrated asks for an order."""
        from excalibr._batch.terms import user_arrays
        from excalibr._solver.questions import BY_RELEVANCE, LEFT_OUT, SOLVED, Aim, questions_of

        settings = self.settings
        solved = self.good.copy()
        solved[list(self.terms.reasons)] = False
        otherwise = np.where(np.isin(self.statuses, NEVER_RANKED) | (not fall_back), LEFT_OUT, BY_RELEVANCE)
        asked = np.where(solved, SOLVED, otherwise).astype(np.int64)
        aim = Aim(draws=settings.draws)
        if settings.relevance_loss is not None:
            aim = Aim("relevance_loss", float(settings.relevance_loss), settings.draws)
        elif settings.max_deviation is not None:
            aim = Aim("max_deviation", float(settings.max_deviation), settings.draws)
        return questions_of(user_arrays(self, self.terms, asked), settings.limits(), aim)

    def with_statuses(self, statuses: Integers) -> Batch:
        """The same batch with what is known of its users from elsewhere; a worse status of our own stays."""
        return replace(self, statuses=frozen(np.where(self.good, statuses, self.statuses)))

    def own_problem(self, user: int) -> OwnProblem:
        """One user's part, as :func:`excalibr.calibrate` takes it."""
        candidates = slice(self.starts[user], self.starts[user + 1])
        options = self.settings.given() | {"k": int(self.slots[user])}
        if self.own_trade_offs:
            options["trade_off"] = float(self.trade_offs[user])
        if not isinstance(self.settings.position_weights, str):
            options["position_weights"] = self.settings.weights_of(int(self.slots[user]))
        rows: Any = self.given_rows[self.items[candidates]]
        if not self.beyond:
            return OwnProblem((self.scores[candidates], rows, self.given_targets[user]), options)
        options |= self._own_terms(user)
        return OwnProblem((self.scores[candidates], self._by_attribute(rows), self._own_target(user)), options)

    def _own_terms(self, user: int) -> dict[str, Any]:
        """The user's pinned and shown items, as :func:`excalibr.calibrate` takes them."""
        terms: dict[str, Any] = {}
        if user in self.beyond.pinned:
            terms["pinned"] = self.beyond.pinned[user]
        if user in self.beyond.shown:
            items, weights = self.beyond.shown[user]
            terms["shown"] = Shown(categories=self._by_attribute(self.given_rows[items]), position_weights=weights)
            if not isinstance(self.settings.position_weights, str):  # on the scale that they were given in
                own = np.asarray(self.settings.position_weights, dtype=np.float64)
                terms["position_weights"] = own[: self.slots[user]]
        return terms

    def _own_target(self, user: int) -> Any:
        low = self.given_targets[user]
        high = low if self.beyond.highs is None else self.beyond.highs[user]

        def target(columns: slice) -> Any:
            is_point = (low[columns] == high[columns]).all()
            return low[columns] if is_point else Band(low[columns], high[columns])

        named = self.beyond.attributes
        return {each.name: target(each.columns) for each in named} if named else target(slice(None))

    def _by_attribute(self, rows: Any) -> Any:
        named = self.beyond.attributes
        return {each.name: rows[:, each.columns] for each in named} if named else rows


@dataclass(frozen=True, eq=False)
class OwnProblem:
    """One user's scores, categories and target, and the options of :func:`excalibr.calibrate`."""

    arrays: tuple[Floats, Any, Any]
    options: dict[str, Any]


def _flat(argument: str, values: ArrayLike) -> Floats:
    array = numbers(argument, values)
    if array.ndim != 1:
        raise InputError(explain(argument, f"have shape {array.shape}", "have one dimension"))
    return array


def _starts(indptr: ArrayLike, size: int) -> Integers:
    starts = np.array(indptr)
    if starts.ndim != 1 or not starts.size or starts.dtype.kind not in "iu":
        found = f"has shape {starts.shape} and type {starts.dtype}"
        raise InputError(explain("indptr", found, "be whole numbers of shape (users + 1,)"))
    starts = starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
        found = f"goes from {starts[0]} to {starts[-1]}"
        raise InputError(explain("indptr", found, f"rise from 0 to the number of scores ({size}), never falling"))
    return starts


def _rows(categories: Any) -> SparseRows:
    rows = read_rows("categories", categories, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    if not rows.shape[1]:
        raise InputError(explain("categories", f"have shape {rows.shape}", "have at least one category"))
    return rows


def _memberships(rows: SparseRows, attributes: tuple[Attribute, ...]) -> tuple[Memberships, Booleans]:
    """The rows brought to a sum of 1 for each attribute, and which cannot be: not finite, negative, or another sum."""
    starts, values = rows.indptr.astype(np.int64), np.array(rows.data, dtype=np.float64)
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(starts))
    bad = np.zeros(rows.shape[0], dtype=np.bool_)
    bad[owner[~((values >= 0) & np.isfinite(values))]] = True
    for attribute in attributes or (Attribute("", 0, rows.shape[1]),):
        own = (rows.indices >= attribute.start) & (rows.indices < attribute.stop)
        sums = sums_by(owner[own], values[own], rows.shape[0])
        wrong = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
        values[own] /= np.where(wrong, 1.0, sums)[owner[own]]
        bad |= wrong
    parts = (frozen(starts), frozen(rows.indices.astype(np.int64)), frozen(values))
    return Memberships(*parts, int(rows.shape[1])), bad


def _items(items: ArrayLike | None, size: int, rows: int) -> Integers:
    if items is None:
        if rows != size:
            must = f"have {size} rows, one for each score"
            raise InputError(explain("categories", f"have {rows} rows", must, "pass items=… to share rows."))
        return np.arange(size, dtype=np.int64)
    chosen = np.array(items)
    if chosen.shape != (size,) or (size and chosen.dtype.kind not in "iu"):
        found = f"have shape {chosen.shape} and type {chosen.dtype}"
        raise InputError(explain("items", found, f"be whole numbers of shape ({size},), one for each score"))
    if size and not (chosen.min() >= 0 and chosen.max() < rows):
        found = f"go from {chosen.min()} to {chosen.max()}"
        raise InputError(explain("items", found, f"be rows of categories, 0 to {rows - 1}"))
    return chosen.astype(np.int64)


def _targets(targets: ArrayLike, users: int, r: int) -> Floats:
    given = numbers("targets", targets)
    if given.shape == (r,):
        given = np.tile(given, (users, 1))
    if given.shape != (users, r):
        must = f"have shape ({users}, {r}), a row for each user, or ({r},), one for all"
        raise InputError(explain("targets", f"have shape {given.shape}", must))
    return given


def _normalised_targets(given: Floats, beyond: Beyond) -> tuple[Floats, Floats | None, Booleans]:
    """The targets divided by their sums, the upper edges of bands, and which users' cannot be used.

    An attribute's target is a band where its edges differ; a band is taken as it is.
    """
    lows, highs = given.copy(), None if beyond.highs is None else np.array(beyond.highs, dtype=np.float64)
    bad = np.zeros(len(given), dtype=np.bool_)
    for attribute in beyond.attributes or (Attribute("", 0, given.shape[1]),):
        own = lows[:, attribute.columns]
        sums = own.sum(axis=1)
        wrong = ~((own >= 0) & np.isfinite(own)).all(axis=1) | ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
        points = without_negligible(own / np.where(wrong, 1.0, sums)[:, None])
        if highs is None:
            lows[:, attribute.columns] = points
        else:
            upper = highs[:, attribute.columns]
            band = (own != upper).any(axis=1)
            bounded = (np.abs(own) <= WIDEST_BAND) & (np.abs(upper) <= WIDEST_BAND)
            wrong = np.where(band, ~(bounded & (own <= upper)).all(axis=1), wrong)
            lows[:, attribute.columns] = np.where(band[:, None], without_negligible(own), points)
            highs[:, attribute.columns] = np.where(band[:, None], without_negligible(upper), points)
        bad |= wrong
    lows[bad] = 1.0 / given.shape[1]
    if highs is not None:
        highs[bad] = lows[bad]
    return lows, None if highs is None else frozen(highs), bad


def _trade_offs(given: ArrayLike | None, users: int, settings: Settings) -> tuple[Floats, Booleans]:
    """Each user's trade-off, and which of them cannot be; those are 0."""
    default = DEFAULT_TRADE_OFF if settings.trade_off is None else float(settings.trade_off)
    values = _each(given, "trade_offs", users, default)
    bad = ~((values >= 0) & (values <= 1))
    return frozen(np.where(bad, 0.0, values)), bad


def _slots(given: ArrayLike | None, sizes: Integers, settings: Settings) -> tuple[Integers, Booleans]:
    """Each user's slots, no more than candidates or position weights, and which cannot be; those are one at most."""
    values = _each(given, "slots", len(sizes), np.inf if settings.k is None else float(settings.k))
    bad = ~((values >= 1) & ((values == np.floor(values)) | np.isinf(values)))
    there = np.minimum(sizes, settings.most_slots())
    return frozen(np.minimum(np.where(bad, 1, values), there).astype(np.int64)), bad


def _statuses(wrong: dict[Status, Booleans], users: int) -> Integers:
    """The last status in the list that holds for each user."""
    statuses = np.zeros(users, dtype=np.int64)
    for status, marked in wrong.items():
        statuses[marked] = status
    return frozen(statuses)


def _each(values: ArrayLike | None, argument: str, users: int, default: float) -> Floats:
    if values is None:
        return np.full(users, default)
    given = numbers(argument, values)
    if given.shape != (users,):
        raise InputError(explain(argument, f"have shape {given.shape}", f"have shape ({users},), one for each user"))
    return given


def _users_with(rows: Booleans, starts: Integers) -> Booleans:
    """Which users have at least one of the marked candidates."""
    marked = np.flatnonzero(rows)
    users = np.zeros(len(starts) - 1, dtype=bool)
    users[np.searchsorted(starts, marked, side="right") - 1] = True
    return users
