"""What re-ranked tables give back: slates, lotteries and a report, gathered from the caller's own rows; and a tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from excalibr._arrays import spans, starts_of
from excalibr._many_users import measure
from excalibr._messages import CommandWords, counted, message_of
from excalibr._native import kernel
from excalibr._policy import Lotteries
from excalibr._problem import NEVER_RANKED, Batch, Status
from excalibr._propensities import propensities_of_draws
from excalibr._seeds import encode as encode_key
from excalibr._solver import ENGINES, STATUSES
from excalibr._types import Floats, Integers
from excalibr.errors import ExcalibrError, InputTypeError
from excalibr.tables._by_name import with_names, with_ranks_and_items
from excalibr.tables._candidates import CandidateArrays
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Tables
from excalibr.tables._summary import NO_ROOM, Note, items_text, review_items

MEASURES = ("relevance_before", "deviation_before", "relevance", "deviation", "draw_deviation", "worst_draw_deviation")

EFFORT = ("engine", "sorts", "steps", "solver_status")

REPORT_COLUMNS = ("candidates", "slots", *MEASURES, "gap", "rankings", *EFFORT, "status")


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """What is kept of a range of users once it is solved; None is what nobody asked for."""

    shown: Integers  # candidates of the batch, slot by slot and user by user; a user with a ranking has all its slots
    counts: Integers
    gaps: Floats
    statuses: Integers
    reasons: dict[int, str]
    effort: Integers  # (users, 4) as ``EFFORT``, engines and solver statuses by the kernel's numbers
    measures: Floats | None  # (users, 6) as ``MEASURES``
    rankings: Integers | None  # all that may be shown, as ``shown`` is, ranking by ranking
    weights: Floats | None  # the probability of each of these rankings
    propensities: Floats | None  # (shown, 3) of the ranking, of the item in its slot, and in any slot


@dataclass(frozen=True, eq=False)
class Finish:
    """What a thread does with the lotteries of a range: draw, measure, and let go of what nobody asked for.

    With ``questions`` what the lotteries do is measured.
    """

    batch: Batch
    keys: Sequence[Hashable]
    seed: int
    day: Hashable
    keep: bool
    questions: kernel.Questions | None
    visits: Integers | None = None
    propensities: bool = False

    def __call__(self, lotteries: Lotteries) -> SolvedPart:
        """The part of one range."""
        first, last, counts = lotteries.first, lotteries.first + len(lotteries.counts), lotteries.counts
        starts, slots = self.batch.starts[first:last], np.where(counts > 0, self.batch.slots[first:last], 0)
        visits = None if self.visits is None else self.visits[first:last]
        drawn = lotteries.chosen(keys_with(self.keys[first:last], self.day), self.seed, slots, visits)
        begins = starts_of(counts * slots)[:-1] + drawn * slots
        places = lotteries.places[spans(begins, slots)]
        rankings = (lotteries.places, lotteries.weights, counts, slots)
        return SolvedPart(
            places + np.repeat(starts, slots),
            counts,
            lotteries.gaps,
            lotteries.statuses,
            lotteries.reasons,
            np.stack(lotteries.effort, axis=1),
            None if self.questions is None else _measured(self.questions, self.batch, lotteries),
            lotteries.places + np.repeat(starts, counts * slots) if self.keep else None,
            lotteries.weights if self.keep else None,
            propensities_of_draws(*rankings, drawn, places) if self.propensities else None,
        )


def _measured(questions: kernel.Questions, batch: Batch, lotteries: Lotteries) -> Floats:
    """What the lotteries of a range do; where that cannot be computed for a user, nan for that user and nobody else."""
    try:
        return measure(questions, lotteries)
    except (ExcalibrError, MemoryError, ArithmeticError):
        if len(lotteries.counts) == 1:
            return np.full((1, len(MEASURES)), np.nan)
        users = len(lotteries.counts)
        slots = batch.slots[lotteries.first : lotteries.first + users]
        alone = (lotteries.of_users(user, user + 1, slots) for user in range(users))
        return np.concatenate([_measured(questions, batch, own) for own in alone])


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The answers for one table of candidates; what was asked for when it was solved can be had as tables.

    :meth:`excalibr.Reranker.solve` makes it. ``tally`` counts what was not used as it came, ``understood`` says in a
    line what the tables hold, ``notes`` what looks wrong about them.
    """

    options: Tables
    items: ItemArrays
    candidates: CandidateArrays
    batch: Batch
    parts: list[SolvedPart]

    def __repr__(self) -> str:
        return f"Results({self.understood})"

    @property
    def understood(self) -> str:
        """One line on what the tables hold, as they were read."""
        return understood_text(self.options, self.items, self.batch)

    @property
    def notes(self) -> list[Note]:
        """What to warn of: categories that look wrong, and slots that leave nothing to choose."""
        return [*review_items(self.items), *([NO_ROOM] if self._no_room() else [])]

    def slates(self) -> Any:
        """One ranking per user: user, rank, item, score and the kept columns."""
        slots = self._slots
        added = {self.options.rank: spans(np.ones(len(slots), dtype=np.int64), slots), **self._propensities()}
        return self._gather(self._joined("shown"), added, [])

    def lotteries(self) -> Any:
        """Every ranking with its probability."""
        slots, counts = self._slots, self._counts
        each = np.repeat(slots, counts)  # the slots of each ranking
        ranking = spans(np.ones(len(counts), dtype=np.int64), counts)
        added = {
            self.options.ranking: np.repeat(ranking, each),
            self.options.probability: np.repeat(self._joined("weights", kind=float), each),
            self.options.rank: spans(np.ones(len(each), dtype=np.int64), each),
        }
        return self._gather(self._joined("rankings"), added, [self.options.ranking, self.options.probability])

    def report(self, words: CommandWords | None = None) -> Any:
        """One row per user, in the order of the users; reasons in Python's words, or in those of a command."""
        measures = self._joined("measures", len(MEASURES), kind=float).T.copy()
        no_target = self.statuses >= Status.NO_CANDIDATES
        for name, values in zip(MEASURES, measures, strict=True):
            if "deviation" in name:
                values[no_target] = np.nan
        statuses = [Status(code).text for code in self.statuses.tolist()]
        for number, reason in reasons_in_names(self.reasons, self.candidates, self.items).items():
            statuses[number] = f"{statuses[number]}: {message_of(reason, words)}"
        solved = (*measures, self._joined("gaps", kind=float), self._counts, *self._effort())
        columns = (np.diff(self.batch.starts), self._slots, *solved, statuses)
        added = dict(zip(REPORT_COLUMNS, columns, strict=True))
        user = self._named("user_id")
        return self.candidates.frame.take(self.candidates.first_rows, [user, *added], added)

    def _effort(self) -> tuple[Any, ...]:
        """Engine, sorts, steps and solver status of each user; of who was not solved, "none" and zeros."""
        engines, sorts, steps, statuses = self._joined("effort", len(EFFORT)).T.copy()
        ended = [STATUSES[code] if engine else "none" for engine, code in zip(engines.tolist(), statuses, strict=True)]
        return [ENGINES[code] for code in engines.tolist()], sorts, steps, ended

    @cached_property
    def tally(self) -> Tally:
        """How many users and rows were not used as they came, and why."""
        tally = Tally(users=self.batch.users, left_out=Counter(self.candidates.left_out))
        for code in self.statuses[self.statuses != Status.OK].tolist():
            tally.statuses[Status(code).text] += 1
        if self.batch.options.k is not None:
            tally.tight = int(((self.batch.slots == np.diff(self.batch.starts)) & (self.batch.slots > 1)).sum())
        return tally

    @cached_property
    def _counts(self) -> Any:
        return self._joined("counts")

    @cached_property
    def statuses(self) -> Any:
        """(users,) codes of :class:`Status`."""
        return self._joined("statuses")

    @property
    def reasons(self) -> dict[int, str]:
        """Why users failed, in the words of arrays: see :func:`reasons_in_names`."""
        return {user: reason for part in self.parts for user, reason in part.reasons.items()}

    @cached_property
    def _slots(self) -> Integers:
        """(users,) how many slots are filled."""
        return np.where(self._counts > 0, self.batch.slots, 0)

    def _propensities(self) -> dict[str, Floats]:
        """The columns of slates that say how probable they were, where they were asked for."""
        if not self.options.propensities:
            return {}
        columns = self._joined("propensities", 3, kind=float).T.copy()
        return dict(zip(self.options.propensity_columns, columns, strict=True))

    def _joined(self, name: str, *width: int, kind: type = int) -> Any:
        """An array of the parts for all users together, empty where no part has it."""
        arrays = [getattr(part, name) for part in self.parts]
        return np.concatenate([np.empty((0, *width), dtype=kind), *(each for each in arrays if each is not None)])

    def _no_room(self) -> bool:
        """Whether nobody named a number of slots, so that every user has as many as candidates."""
        sizes = np.diff(self.batch.starts)
        several = sizes > 1
        return self.batch.options.k is None and bool(several.any() and (self.batch.slots == sizes)[several].all())

    def _named(self, role: str) -> str:
        """How the candidates call a column."""
        return self.options.column(role, "candidates", self.candidates.frame.columns)

    def _gather(self, shown: Integers, added: dict[str, Any], after_user: list[str]) -> Any:
        options, frame = self.options, self.candidates.frame
        first = [self._named("user_id"), *after_user, options.rank, self._named("item_id"), self._named("score")]
        first += [name for name in added if name not in first]
        others = [name for name in frame.columns if name not in first]
        return frame.take(self.candidates.rows[shown], [*first, *others], added)


def reasons_in_names(reasons: Mapping[int, str], given: CandidateArrays, items: ItemArrays) -> dict[int, str]:
    """Why users failed, with categories and items by name, and ranks in place of slots."""

    def in_names(user: int, reason: str) -> str:
        own = given.items[given.starts[user] : given.starts[user + 1]]
        reason = with_ranks_and_items(reason, lambda place: items.ids[int(own[place])].as_py())
        return with_names(reason, items)

    return {user: in_names(user, reason) for user, reason in reasons.items()}


def understood_text(options: Tables, items: ItemArrays, batch: Batch) -> str:
    """What the tables were understood to hold: categories, users, slots, and columns that nobody named."""
    sizes = np.diff(batch.starts)
    slots, candidates = (int(np.median(counts)) if len(counts) else 0 for counts in (batch.slots, sizes))
    varied = " (median)" if len(np.unique(sizes)) > 1 or len(np.unique(batch.slots)) > 1 else ""
    filled = f"{counted(slots, 'slot')} of {counted(candidates, 'candidate')}{varied}"
    return "; ".join([items_text(items.columns), counted(batch.users, "user"), filled, *options.recognised_text()])


_CALIBRATED = {Status.STOPPED_EARLY: "stopped early", Status.TIME_LIMIT_REACHED: "reached their time limit"}


@dataclass
class Tally:
    """Counts over one table or many: users by status, rows left out by reason, users without candidates to spare."""

    users: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    tight: int = 0

    def add(self, other: Tally) -> None:
        """Count another table's as well."""
        self.users += other.users
        self.statuses += other.statuses
        self.left_out += other.left_out
        self.tight += other.tight

    def text(self, fallback: str) -> str:
        """One line, empty when all was used as it came.

        >>> Tally(users=9, statuses=Counter({"no target": 2})).text("relevance")
        '2 of 9 users could not be calibrated and are ranked by relevance (2 no target).'
        """
        bad, left = Counter(self.statuses), self._without_slate(fallback)
        parts = []
        for status, fate in _CALIBRATED.items():
            if count := bad.pop(status.text, 0):
                parts.append(f"{count:,} of {self.users:,} users {fate}, with the gap that was proven.")
        fates = {"could not be calibrated and are ranked by relevance": bad - left, "have no slate": left}
        for fate, some in fates.items():
            if some:
                parts.append(f"{sum(some.values()):,} of {self.users:,} users {fate} ({_listed(some)}).")
        if self.tight:
            parts.append(
                f"{counted(self.tight, 'user has', 'users have')} no more candidates than slots: pass more of them."
            )
        if self.left_out:
            parts.append(f"Rows left out: {_listed(self.left_out)}.")
        return " ".join(parts)

    def ranked(self, fallback: str) -> int:
        """How many users have a slate.

        >>> Tally(users=9, statuses=Counter({"no candidates": 2, "no target": 1})).ranked("relevance")
        7
        """
        return self.users - sum(self._without_slate(fallback).values())

    def _without_slate(self, fallback: str) -> Counter[str]:
        """Users who are not even ranked by relevance, by status."""
        bad = self.statuses.keys() - {status.text for status in _CALIBRATED}
        never = bad & {status.text for status in NEVER_RANKED} if fallback == "relevance" else bad
        return Counter({status: self.statuses[status] for status in never})


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))


def check_day(day: Hashable) -> None:
    """Refuse what cannot name a draw, before anything is solved."""
    try:
        encode_key(day)
    except InputTypeError:
        must, hint = "be a string, number, date, bytes, None or a tuple of these", "pass str(day), if that names it."
        raise InputTypeError("day", f"is {day!r}", must, hint) from None


def keys_with(users: Sequence[Hashable], day: Hashable) -> list[Hashable]:
    """The keys that rankings are drawn by: the users, each with the day where there is one."""
    return list(users) if day is None else [(user, day) for user in users]
