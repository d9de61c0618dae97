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
from excalibr._messages import CommandWords, message_of
from excalibr._native import kernel
from excalibr._policy import Effort, Lotteries
from excalibr._problem import NEVER_RANKED, Batch, Status
from excalibr._propensities import propensities_of_draws
from excalibr._solver import ENGINES, STATUSES
from excalibr._types import Floats, Integers
from excalibr.errors import ExcalibrError
from excalibr.tables._candidates import CandidateArrays
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Tables
from excalibr.tables._summary import NO_ROOM, Note, items_text, review_items

__all__ = ["REPORT_COLUMNS", "Finish", "Results", "SolvedPart", "Tally", "keys_with"]

MEASURES = ("relevance_before", "deviation_before", "relevance", "deviation", "draw_deviation", "worst_draw_deviation")

EFFORT = ("engine", "sorts", "steps", "solver_status")

REPORT_COLUMNS = ("candidates", "slots", *MEASURES, "gap", "rankings", *EFFORT, "status")


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """What is kept of a range of users once it is solved.

    ``shown`` are candidates of the batch, slot by slot and user by user; a user with a ranking has all its slots.
    ``propensities`` are three numbers for each of them: of the ranking, of the item in its slot, and in any slot.
    """

    shown: Integers
    counts: Integers
    gaps: Floats
    statuses: Integers
    reasons: dict[int, str]
    effort: Effort
    measures: Floats | None
    lotteries: Lotteries | None
    propensities: Floats | None = None


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
        first, last = lotteries.first, lotteries.first + len(lotteries.counts)
        slots = np.where(lotteries.counts > 0, self.batch.slots[first:last], 0)
        visits = None if self.visits is None else self.visits[first:last]
        drawn = lotteries.chosen(keys_with(self.keys[first:last], self.day), self.seed, slots, visits)
        begins = starts_of(lotteries.counts * slots)[:-1] + drawn * slots
        places = lotteries.places[spans(begins, slots)]
        rankings = (lotteries.places, lotteries.weights, lotteries.counts, slots)
        return SolvedPart(
            places + np.repeat(self.batch.starts[first:last], slots),
            lotteries.counts,
            lotteries.gaps,
            lotteries.statuses,
            lotteries.reasons,
            lotteries.effort,
            None if self.questions is None else _measured(self.questions, self.batch, lotteries),
            lotteries if self.keep else None,
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


@dataclass(frozen=True, eq=False)
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

    @property
    def understood(self) -> str:
        """One line on what the tables hold, as they were read."""
        return understood_text(self.options, self.items, self.batch)

    @property
    def notes(self) -> list[Note]:
        """What to warn of: categories that look wrong, and slots that leave nothing to choose."""
        return [*review_items(self.items), *([NO_ROOM] if self._no_room() else [])]

    def slates(self) -> Any:
        """One ranking a user: user, rank, item, score and the kept columns."""
        slots = self._slots
        added = {self.options.rank: spans(np.ones(len(slots), dtype=np.int64), slots), **self._propensities()}
        return self._gather(_joined([part.shown for part in self.parts]), added, [])

    def lotteries(self) -> Any:
        """Every ranking with its probability."""
        slots, counts = self._slots, self._counts
        shown = [_all_shown(part.lotteries, self.batch) for part in self.parts if part.lotteries is not None]
        weights = [part.lotteries.weights for part in self.parts if part.lotteries is not None]
        each = np.repeat(slots, counts)  # the slots of each ranking
        ranking = spans(np.ones(len(counts), dtype=np.int64), counts)
        added = {
            self.options.ranking: np.repeat(ranking, each),
            self.options.probability: np.repeat(_joined(weights, float), each),
            self.options.rank: spans(np.ones(len(each), dtype=np.int64), each),
        }
        return self._gather(_joined(shown), added, [self.options.ranking, self.options.probability])

    def report(self, words: CommandWords | None = None) -> Any:
        """A row a user, in the order of the users; reasons in Python's words, or in those of a command."""
        measures = [part.measures for part in self.parts if part.measures is not None]
        table = np.concatenate([np.empty((0, len(MEASURES))), *measures])
        table[self._statuses >= Status.NO_CANDIDATES, 1::2] = np.nan  # no target to deviate from
        table[self._statuses >= Status.NO_CANDIDATES, 4] = np.nan
        gaps = _joined([part.gaps for part in self.parts], float)
        statuses = [Status(code).text for code in self._statuses.tolist()]
        for number, reason in (each for part in self.parts for each in part.reasons.items()):
            statuses[number] = f"{statuses[number]}: {message_of(reason, words)}"
        before = (np.diff(self.batch.starts), self._slots)
        values = (*before, *(column.copy() for column in table.T), gaps, self._counts, *self._effort(), statuses)
        added = dict(zip(REPORT_COLUMNS, values, strict=True))
        user = self._named("user_id")
        return self.candidates.frame.take(self.candidates.first_rows, [user, *added], added)

    def _effort(self) -> tuple[Any, ...]:
        """Engine, sorts, steps and solver status of each user; of who was not solved, "none" and zeros."""
        engines, sorts, steps, statuses = (
            _joined([getattr(part.effort, name) for part in self.parts]) for name in Effort._fields
        )
        ended = [STATUSES[code] if engine else "none" for engine, code in zip(engines.tolist(), statuses, strict=True)]
        return [ENGINES[code] for code in engines.tolist()], sorts, steps, ended

    @cached_property
    def tally(self) -> Tally:
        """How many users and rows were not used as they came, and why."""
        tally = Tally(users=self.batch.users, left_out=Counter(self.candidates.left_out))
        for code in self._statuses[self._statuses != Status.OK].tolist():
            tally.statuses[Status(code).text] += 1
        if self.batch.options.k is not None:
            tally.tight = int(((self.batch.slots == np.diff(self.batch.starts)) & (self.batch.slots > 1)).sum())
        return tally

    @cached_property
    def _counts(self) -> Any:
        return _joined([part.counts for part in self.parts])

    @cached_property
    def _statuses(self) -> Any:
        return _joined([part.statuses for part in self.parts])

    @cached_property
    def _slots(self) -> Integers:
        """(users,) how many slots are filled."""
        return np.where(self._counts > 0, self.batch.slots, 0)

    def _propensities(self) -> dict[str, Floats]:
        """The columns of slates that say how probable they were, where they were asked for."""
        if not self.options.propensities:
            return {}
        given = [part.propensities for part in self.parts if part.propensities is not None]
        columns = np.concatenate([np.empty((0, 3)), *given]).T
        return dict(zip(self.options.propensity_columns, map(np.ascontiguousarray, columns), strict=True))

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


def understood_text(options: Tables, items: ItemArrays, batch: Batch) -> str:
    """What the tables were understood to hold: categories, users, slots, and columns that nobody named."""
    sizes = np.diff(batch.starts)
    slots, candidates = (int(np.median(counts)) if len(counts) else 0 for counts in (batch.slots, sizes))
    varied = " (median)" if len(np.unique(sizes)) > 1 or len(np.unique(batch.slots)) > 1 else ""
    counted = f"{batch.users:,} users; {slots:,} slots of {candidates:,} candidates{varied}"
    return "; ".join([items_text(items.columns), counted, *options.recognised_text()])


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
        early = self.statuses[Status.STOPPED_EARLY.text]
        parts = [f"{early:,} of {self.users:,} users stopped early, with the gap that was proven."] if early else []
        for fate, some in self._by_fate(fallback).items():
            if some:
                parts.append(f"{sum(some.values()):,} of {self.users:,} users {fate} ({_listed(some)}).")
        if self.tight:
            parts.append(f"{self.tight:,} users have no more candidates than slots: pass more of them.")
        if self.left_out:
            parts.append(f"Rows left out: {_listed(self.left_out)}.")
        return " ".join(parts)

    def ranked(self, fallback: str) -> int:
        """How many users have a slate.

        >>> Tally(users=9, statuses=Counter({"no candidates": 2, "no target": 1})).ranked("relevance")
        7
        """
        return self.users - sum(self._by_fate(fallback)[LEFT_OUT].values())

    def _by_fate(self, fallback: str) -> dict[str, dict[str, int]]:
        """Users who could not be calibrated, by what they get and by status."""
        bad = {status: count for status, count in self.statuses.items() if status != Status.STOPPED_EARLY.text}
        never = {status.text for status in NEVER_RANKED} if fallback == "relevance" else set(bad)
        by_relevance = {status: count for status, count in bad.items() if status not in never}
        return {BY_RELEVANCE: by_relevance, LEFT_OUT: {status: bad[status] for status in bad if status in never}}


LEFT_OUT, BY_RELEVANCE = "have no slate", "could not be calibrated and are ranked by relevance"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))


def keys_with(users: Sequence[Hashable], day: Hashable) -> list[Hashable]:
    """The keys that rankings are drawn by: the users, each with the day where there is one."""
    return list(users) if day is None else [(user, day) for user in users]


def _all_shown(lotteries: Lotteries, batch: Batch) -> Integers:
    """The candidates of all rankings of a range."""
    users = np.arange(lotteries.first, lotteries.first + len(lotteries.counts))
    return lotteries.places + np.repeat(batch.starts[users], lotteries.counts * batch.slots[users])


def _joined(arrays: list[Any], kind: type = int) -> Any:
    return np.concatenate([np.empty(0, dtype=np.int64 if kind is int else np.float64), *arrays])
