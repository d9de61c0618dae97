"""One run of the command: users streamed from the files through a ``Reranker``, what comes out stored part by part."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from excalibr import __version__
from excalibr._cli.options import WORDS, read_words
from excalibr._cli.rerank.feed import Feed, Pace, UserBlock
from excalibr._cli.rerank.inputs import Inputs, check_apart
from excalibr._cli.rerank.lock import locked
from excalibr._cli.rerank.notices import said_of_users, tell_understood, tell_warnings
from excalibr._cli.rerank.parts import Run, StoredPart, fingerprint
from excalibr._cli.rerank.sources import TableSource, format_of
from excalibr._cli.rerank.streams import Scan, in_user_order, scan
from excalibr._cli.signals import Stop
from excalibr._cli.speech import say
from excalibr._options import read_options
from excalibr._parallel import Advance, progress_bar
from excalibr.errors import InputError
from excalibr.tables import ItemArrays, Tables
from excalibr.tables._reranker import Reranker, read_items_and_prices
from excalibr.tables._results import Tally
from excalibr.tables._users import UserStream

__all__ = ["CHUNK_ROWS", "Job", "feed_of", "read_job", "run_job"]

CHUNK_ROWS = 250_000
"""Rows of candidates that are read before they are re-ranked; memory grows with it, and not with the tables."""

PART_SECONDS = 20.0
STEP_SECONDS = 2.0
"""A part ends with its rows or after so much time, at most a step later: that is the work that a kill can lose."""


ALWAYS_BY_USER = ("history", "users", "pinned", "shown")


@dataclass(frozen=True)
class Job:
    """What was asked.

    Attributes
    ----------
    reranker
        How to rank.
    options
        Column names and numbers, as :class:`Tables` takes them.
    candidates, items
        The tables that there must be.
    by_user
        Tables with a column of users, which are read along with the candidates.
    for_all
        Tables that hold for all users.
    outputs
        What to write where.
    day
        What names the draw besides the user.
    stop
        Whether a signal came.
    """

    reranker: Reranker
    options: dict[str, Any]
    candidates: TableSource
    items: TableSource
    by_user: dict[str, TableSource]
    for_all: dict[str, TableSource]
    outputs: dict[str, Path]
    day: str | None

    stop: Stop = dataclasses.field(default_factory=Stop)

    @cached_property
    def names(self) -> Tables:
        """The options that say how columns are called and read."""
        return read_options(Tables, {"targets": {}, **self.options})

    @property
    def sources(self) -> list[TableSource]:
        """Every table that is read."""
        return [self.candidates, self.items, *self.by_user.values(), *self.for_all.values()]

    def user_id(self, source: TableSource) -> str:
        """The column of users of a table, which has all columns that it needs."""
        self.names.check(source.name, source.schema.names)
        return self.names.column("user_id", source.name, source.schema.names)

    def scan_candidates(self) -> Scan:
        """How many rows and users there are, and whether they are in order."""
        return _scan(self.candidates, self.user_id(self.candidates))

    def stamp(self, inputs: Inputs) -> str:
        """A digest of all that the outputs depend on; the number of threads is not part of it."""
        ranking = {each.name: getattr(self.reranker, each.name) for each in dataclasses.fields(self.reranker)}
        ranking.pop("threads")
        asked = {"version": __version__, "ranking": ranking, "options": self.options, "day": self.day}
        outputs = {name: path.name for name, path in self.outputs.items()}
        return fingerprint({**asked, "files": inputs.stamp(), "outputs": outputs})


def read_job(
    candidates: Path,
    items: Path,
    outputs: Mapping[str, Path],
    day: str | None,
    options: Mapping[str, Any],
    stop: Stop | None = None,
) -> Job:
    """The job that the command line asks for, checked as far as that can be done before any table is read."""
    for name, path in outputs.items():
        format_of(path, "out" if name == "slates" else name)
    stop = stop or Stop()
    needed = TableSource("candidates", candidates, stop.check), TableSource("items", items, stop.check)
    ranking, others, paths = read_words(options)
    beside = {name: TableSource(name, path, stop.check) for name, path in paths.items()}
    check_apart(outputs, [*needed, *beside.values()])
    names_of_columns = read_options(Tables, {**others, **beside})
    by_user = {name: source for name, source in beside.items() if _is_by_user(name, source, names_of_columns)}
    return Job(
        read_options(Reranker, ranking),
        others,
        *needed,
        by_user,
        {name: source for name, source in beside.items() if name not in by_user},
        dict(outputs),
        day,
        stop,
    )


def run_job(job: Job, *, resume: bool) -> str:
    """Do it, or what is left of it, and say in a line what was done."""
    with locked(job.outputs.values()):
        inputs = Inputs.of(job.sources)
        run = Run(job.outputs, job.stamp(inputs), inputs)
        if resume and run.is_finished():
            run.clear()
            return "The outputs are complete: nothing is left to do."
        tally, count = Tally(), 0
        for part in _parts(job, run, run.begin(resume=resume), tally):
            tally.add(part.tally)
            count += 1
        run.finish(count, job.stop.check)
    return _told(job, tally)


def _told(job: Job, tally: Tally) -> str:
    """What was done, in a line; an error where nobody has a slate."""
    ranked, all_users = tally.ranked(job.reranker.fallback), f"{tally.users:,} users"
    those = all_users if ranked == tally.users else f"{ranked:,} of {all_users}"
    told = f"{those} re-ranked into {job.outputs['slates']}. {tally.text(job.reranker.fallback)}".rstrip()
    if tally.users and not ranked:
        raise InputError(told)
    return told


def _is_by_user(name: str, source: TableSource, names: Tables) -> bool:
    there = name == "targets" and names.find("user_id", name, source.schema.names) is not None
    return name in ALWAYS_BY_USER or there


def _parts(job: Job, run: Run, done: list[StoredPart], tally: Tally) -> Iterator[StoredPart]:
    """The parts that were done before, and then those that are made now."""
    for_all = {name: source.read() for name, source in job.for_all.items()}
    asked = job.options | for_all
    items, _ = read_items_and_prices(job.items.read(), for_all.get("prices"), job.names)
    scanned = job.scan_candidates()
    tally.left_out += Counter({"without a user": scanned.without_user})
    tell_understood(items, said_of_users(scanned, job.reranker.k), job.sources, job.names)
    tell_warnings(items, job.reranker, "users" in job.by_user, WORDS)
    feed = feed_of(job, run, scanned)
    with progress_bar("Re-ranking", scanned.users if scanned.is_sorted else None) as show:
        for part in done:
            feed.skip(part.rows)
            show(part.tally.users)
            yield part
        pace, number = Pace(STEP_SECONDS), len(done)
        advance = job.stop.checking(show)
        while (made := _make_part(job, run, number, feed, items, asked, pace, advance)) is not None:
            yield made
            number += 1


def _make_part(
    job: Job, run: Run, number: int, feed: Feed, items: ItemArrays, asked: dict[str, Any], pace: Pace, advance: Advance
) -> StoredPart | None:
    """Solve and keep users until there are enough rows or it took long enough; None where no user is left."""
    solved: list[dict[str, Any]] = []
    rows, tally, began = 0, Tally(), time.monotonic()
    while not solved or (rows < CHUNK_ROWS and time.monotonic() - began < PART_SECONDS):
        block = feed.take(pace.users)
        if block is None:
            break
        start = time.monotonic()
        tables, told = _solve(job, block, items, asked, advance)
        pace.learn(block.users, time.monotonic() - start)
        solved.append(tables)
        tally.add(told)
        rows += len(block.candidates)
    if not solved:
        return None
    made = {
        name: pa.concat_tables([tables[name].cast(solved[0][name].schema) for tables in solved]) for name in solved[0]
    }
    run.keep(number, StoredPart(rows, tally), made)
    return StoredPart(rows, tally)


def _solve(
    job: Job, block: UserBlock, items: ItemArrays, asked: dict[str, Any], advance: Advance
) -> tuple[dict[str, Any], Tally]:
    keep, measured = "lotteries" in job.outputs, "report" in job.outputs
    asked = asked | block.others
    results = job.reranker.solve(
        block.candidates, items, day=job.day, keep=keep, measured=measured, advance=advance, **asked
    )
    made = {"slates": results.slates()}
    if measured:
        made["report"] = results.report(WORDS)
    if keep:
        made["lotteries"] = results.lotteries()
    return made, results.tally


def feed_of(job: Job, run: Run, scanned: Scan) -> Feed:
    """Whole users at a time, with their rows of the other tables."""
    candidates = _stream(job, job.candidates, scanned, run)
    others = {
        name: _stream(job, source, _scan(source, job.user_id(source)), run) for name, source in job.by_user.items()
    }
    return Feed(candidates, others, job.user_id(job.candidates), CHUNK_ROWS, job.stop.check)


def _scan(source: TableSource, user_id: str) -> Scan:
    scanned = scan(source, user_id)
    if not scanned.is_sorted:
        verb = "is" if source.name == "history" else "are"
        say(f"excalibr: {source.name} {verb} not in the order of {user_id!r}: sorting {scanned.rows:,} rows on disk.")
    return scanned


def _stream(job: Job, source: TableSource, scanned: Scan, run: Run) -> UserStream:
    return in_user_order(source, job.user_id(source), scanned, run.folder / f"sorting-{source.name}")
