"""One run of the command: users streamed from the files through a ``Reranker``, what comes out stored part by part."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from excalibr import __version__
from excalibr._cli.lock import locked
from excalibr._cli.options import WORDS, read_words
from excalibr._cli.printing import print_line, print_warning
from excalibr._cli.rerank.inputs import Inputs, check_apart, format_of
from excalibr._cli.rerank.parts import Run, StoredPart, check_columns
from excalibr._cli.rerank.user_blocks import BlockSize, Scan, UserBlock, UserBlocks, in_user_order, scan
from excalibr._cli.signals import Stop
from excalibr._messages import counted
from excalibr._options import read_options
from excalibr._parallel import progress_bar
from excalibr.errors import InputError
from excalibr.tables import NO_ROOM, ItemArrays, Tables, items_text, review_items
from excalibr.tables._reranker import Reranker, read_items_and_prices
from excalibr.tables._results import Results, Tally
from excalibr.tables._sources import TableSource
from excalibr.tables._users import UserStream

CHUNK_ROWS = 250_000
"""Rows of candidates that are read before they are re-ranked; memory grows with it, and not with the tables."""

PART_SECONDS = 20.0
STEP_SECONDS = 2.0
"""A part ends with its rows or after so much time, at most a step later: that is the work that a kill can lose."""

ALWAYS_BY_USER = ("history", "users", "pinned", "shown")
NUMBERS = {"candidates": "score", "history": "weight", "targets": "weight", "shown": "weight"}
"""What must be numbers in tables that are read in pieces, where a later error knows only a row's place in its piece."""


@dataclass(frozen=True)
class Job:
    """What was asked: how to rank, with which column names and numbers, which tables, and what to write where.

    Tables ``by_user`` have a column of users and are read along with the candidates. ``day`` names the draw besides
    the user.
    """

    reranker: Reranker
    options: dict[str, Any]
    candidates: TableSource
    items: TableSource
    by_user: dict[str, TableSource]
    for_all: dict[str, TableSource]
    outputs: dict[str, Path]
    day: str | None
    stop: Stop

    @cached_property
    def names(self) -> Tables:
        """How columns are called and read, and which tables there are."""
        return read_options(Tables, self.options | self.by_user | self.for_all)

    @property
    def sources(self) -> list[TableSource]:
        """Every table that is read."""
        return [self.candidates, self.items, *self.by_user.values(), *self.for_all.values()]

    def user_id(self, source: TableSource) -> str:
        """The column of users of a table, which has all columns that it needs."""
        self.names.check(source.name, source.schema.names)
        return self.names.column("user_id", source.name, source.schema.names)

    def scan(self, source: TableSource) -> Scan:
        """How many rows and users a table has, and whether they are in order; where not, that is said."""
        scanned = scan(source, self.user_id(source))
        role = NUMBERS.get(source.name)
        numbers = role and self.names.find(role, source.name, source.schema.names)
        if numbers is not None:
            source.check_numbers(numbers)
        if not scanned.is_sorted:
            order = f"{'is' if source.name == 'history' else 'are'} not in the order of {scanned.user_id!r}"
            print_line(f"excalibr: {source.name} {order}: sorting {scanned.rows:,} rows on disk.")
        return scanned

    @property
    def asked(self) -> dict[str, Any]:
        """The options that the outputs depend on; the number of threads is none of them."""
        ranking = {each.name: getattr(self.reranker, each.name) for each in dataclasses.fields(self.reranker)}
        ranking.pop("threads")
        return {"version": __version__, **ranking, **self.options, "day": self.day}


def read_job(
    candidates: Path, items: Path, outputs: dict[str, Path], day: str | None, options: Mapping[str, Any], stop: Stop
) -> Job:
    """The job that the command line asks for, checked as far as that can be done before any table is read."""
    for name, path in outputs.items():
        format_of(path, "out" if name == "slates" else name)
    needed = TableSource("candidates", candidates, stop.check), TableSource("items", items, stop.check)
    ranking, others, paths = read_words(options)
    named = {name: TableSource(name, path, stop.check) for name, path in paths.items()}
    check_apart(outputs, [*needed, *named.values()])
    names = read_options(Tables, {**others, **named})
    has_users = {*ALWAYS_BY_USER}
    if "targets" in named and names.find("user_id", "targets", named["targets"].schema.names) is not None:
        has_users.add("targets")
    by_user = {name: source for name, source in named.items() if name in has_users}
    for_all = {name: source for name, source in named.items() if name not in has_users}
    return Job(read_options(Reranker, ranking), others, *needed, by_user, for_all, outputs, day, stop)


def run_job(job: Job, *, resume: bool) -> str:
    """Do it, or what is left of it, and say in a line what was done."""
    with locked(job.outputs.values()):
        inputs = Inputs(job.sources)
        run = Run(job.outputs, job.asked, inputs)
        if resume and run.is_finished():
            run.clear()
            return "The outputs are complete: nothing is left to do."
        done = run.begin(resume=resume)
        with run.cleared_if_wrong():
            tally = _run_parts(job, run, done)
    ranked, all_users = tally.ranked(job.reranker.fallback), counted(tally.users, "user")
    those = all_users if ranked == tally.users else f"{ranked:,} of {all_users}"
    summary = f"{those} re-ranked into {job.outputs['slates']}. {tally.text(job.reranker.fallback)}".rstrip()
    if tally.users and not ranked:
        raise InputError(summary)
    return summary


def _run_parts(job: Job, run: Run, done: list[StoredPart]) -> Tally:
    """Make the parts that are not done yet, and the outputs of all of them; what became of the users."""
    for name, path in job.outputs.items():
        if name in ("slates", "lotteries"):  # which have all columns of the candidates
            check_columns("out" if name == "slates" else name, path, job.candidates.schema)
    for_all = {name: source.read() for name, source in job.for_all.items()}
    items, _ = read_items_and_prices(job.items.read(), for_all.get("prices"), job.names)
    scanned = job.scan(job.candidates)
    _print_understood(items, scanned, job)
    tally, count = Tally(), len(done)
    tally.left_out += Counter({"without a user": scanned.without_user})
    blocks = blocks_of(job, run, scanned)
    with progress_bar("Re-ranking", scanned.users if scanned.is_sorted else None) as show:
        for part in done:
            blocks.skip(part.rows)
            show(part.tally.users)
            tally.add(part.tally)
        solve = partial(
            job.reranker.solve,
            items=items,
            day=job.day,
            keep="lotteries" in job.outputs,
            measured="report" in job.outputs,
            advance=job.stop.checking(show),
            **(job.options | for_all),
        )
        size = BlockSize(STEP_SECONDS)
        while (made := _make_part(run, count, blocks, solve, size)) is not None:
            tally.add(made.tally)
            count += 1
    run.finish(count, job.stop.check)
    return tally


def _make_part(
    run: Run, number: int, blocks: UserBlocks, solve: Callable[..., Results], size: BlockSize
) -> StoredPart | None:
    """Solve and keep users until there are enough rows or it took long enough; None where no user is left."""
    solved: list[dict[str, Any]] = []
    rows, tally, began = 0, Tally(), time.monotonic()
    while not solved or (rows < CHUNK_ROWS and time.monotonic() - began < PART_SECONDS):
        block = blocks.take(size.users)
        if block is None:
            break
        start = time.monotonic()
        tables, solved_tally = _solve(block, solve, run.outputs)
        size.adapt(block.users, time.monotonic() - start)
        solved.append(tables)
        tally.add(solved_tally)
        rows += len(block.candidates)
    if not solved:
        return None
    made = {
        name: pa.concat_tables([tables[name].cast(solved[0][name].schema) for tables in solved]) for name in solved[0]
    }
    part = StoredPart(rows, tally)
    run.keep(number, part, made)
    return part


def _solve(block: UserBlock, solve: Callable[..., Results], outputs: Collection[str]) -> tuple[dict[str, Any], Tally]:
    results = solve(block.candidates, **block.others)
    made = {"slates": results.slates()}
    if "report" in outputs:
        made["report"] = results.report(WORDS)
    if "lotteries" in outputs:
        made["lotteries"] = results.lotteries()
    return made, results.tally


def blocks_of(job: Job, run: Run, scanned: Scan) -> UserBlocks:
    """Whole users at a time, with their rows of the other tables."""

    def stream(scanned: Scan) -> UserStream:
        return in_user_order(scanned, run.folder / f"sorting-{scanned.source.name}")

    others = {name: stream(job.scan(source)) for name, source in job.by_user.items()}
    return UserBlocks(stream(scanned), others, scanned.user_id, CHUNK_ROWS)


def _print_understood(items: ItemArrays, scanned: Scan, job: Job) -> None:
    """One line on standard error: categories, users, and what nobody named; then one for each thing that looks wrong.

    An error where a column is not there.
    """
    dialects = []
    for source in job.sources:
        dialects += source.dialects
        _find_columns(source, items, job.names)
    reranker = job.reranker
    users = _users_text(scanned, reranker.k)
    understood = "; ".join([items_text(items.columns), users, *job.names.recognised_text(), *dialects])
    print_line(f"excalibr: {understood}.")
    named = reranker.k is not None or "users" in job.by_user or not isinstance(reranker.position_weights, str)
    for note in [*review_items(items), *([] if named else [NO_ROOM])]:
        print_warning(note.message, WORDS)


def _find_columns(source: TableSource, items: ItemArrays, options: Tables) -> None:
    columns = source.schema.names
    options.check(source.name, columns)
    if source.name == "history" and options.half_life is not None:
        options.column("timestamp", "history", columns)
    if source.name == "targets":
        options.find("user_id", "targets", columns)
    if source.name in ("targets", "prior") and not {items.columns[0].name, "category"} & set(columns):
        options.find("category", source.name, columns)


def _users_text(scanned: Scan, k: int | None) -> str:
    """How many users and candidates there are, as far as one pass over the users tells."""
    rows = scanned.rows - scanned.without_user
    if not scanned.is_sorted or not scanned.users:
        return f"{counted(rows, 'row')} of candidates" + (f", {counted(k, 'slot')} a user" if k else "")
    candidates = rows / scanned.users
    whole = candidates == round(candidates)
    about = f"{candidates:,.0f}" if whole else f"about {candidates:,.{0 if candidates > 10 else 1}f}"
    of_candidates = "1 candidate" if candidates == 1 else f"{about} candidates"
    slots = f"{counted(min(k, round(candidates)), 'slot')} of {of_candidates}" if k else f"{about} candidates and slots"
    return f"{counted(scanned.users, 'user')}; {slots}"
