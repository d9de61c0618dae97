"""``excalibr experiment``: data, run, figures, tables and report, and what was found of the paper's claims."""

# ruff: noqa: RUF009 — an option is a field with its help text

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from excalibr._cli.lock import locked
from excalibr._cli.options import with_options
from excalibr._cli.printing import print_line, print_warning
from excalibr._cli.signals import stoppable
from excalibr._cli.wording import words_of
from excalibr._experiments import (
    Columns,
    ExperimentResults,
    Plan,
    Setting,
    Source,
    movielens_source,
    run_experiment,
    table_source,
    write_files,
    write_page,
)
from excalibr._experiments.claims import check_claims
from excalibr._experiments.scoring import Progress as ShowProgress
from excalibr._parallel import checked_threads
from excalibr.datasets._archives import MAX_BYTES, MAX_RATIO
from excalibr.errors import InputError

_PLAN = Plan()
_OWN, _LESS, _SIZES = "Data of one's own", "Less of everything", "How many users"
_REPEATED = (
    *("above", "minimum", "user_column", "item_column", "items_item_column", "rating_column"),
    *("timestamp_column", "separator"),
)
_OPTION_NAMES = {"arms": "methods"}  # what the command calls otherwise than a plan
_EVERY = 30.0  # seconds between plain lines of progress
_VERDICTS = {"holds": "green", "not clear": "yellow", "does not hold": "red"}


def _option(text: str, default: Any = dataclasses.MISSING, panel: str | None = None, *names: str) -> Any:
    return field(default=default, metadata={"option": typer.Option(*names, help=text, rich_help_panel=panel)})


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """What the command is asked; what a plan has is named and defaulted as there."""

    out: Path = _option("The folder for results, figures, tables and report.")
    data: Path | None = _option("MovieLens: an official zip, its folder, or a Parquet folder.", None)
    threads: int | None = _option("Processes; by default one a processor. The results are the same.", None)
    time: str | None = _option(
        "What it may take, such as 15m, 90s or 2h, and 15 for minutes: items, users and trade-offs are chosen to fit.",
        None,
    )
    seed: int = _option("Splits users, and draws samples and rankings.", _PLAN.seed)
    split: str = _option("What is held out of a user: a random fifth, or by time the latest.", _PLAN.split)
    min_item_count: int = _option("Leave out items with fewer positives, to save memory.", _PLAN.min_item_count)
    figures: bool = _option("Draw the figures; without them the report has tables only.", True)
    page: Path | None = _option("A folder to write the page experiment.md into as well.", None)
    complete: bool = _option(
        "Whether an official set must have its official size.", True, None, "--complete/--part-of-set"
    )
    max_bytes: int = _option("What the data may unpack to, at most.", MAX_BYTES)
    max_ratio: float = _option("The same, as a multiple of the zip's size.", MAX_RATIO)
    users: int = _option("Test users, at most.", _PLAN.users, _SIZES)
    sample: int = _option("Users for one good ranking in many slots.", _PLAN.sample, _SIZES)
    mip_users: int = _option("Users for MIP greedy where items have several categories.", _PLAN.mip_users, _SIZES)
    timed_users: int = _option("Users of the runtime tables; 0: none.", _PLAN.timed_users, _SIZES)
    attributes: list[str] | None = _option("One attribute only; again for more.", None, _LESS)
    weightings: list[str] | None = _option("log, sqrt, reciprocal or uniform.", None, _LESS)
    settings: list[str] | None = _option("Candidates/slots, such as 150/100.", None, _LESS)
    methods: list[str] | None = _option(", ".join(_PLAN.arms) + ".", None, _LESS)
    trade_offs: list[float] | None = _option("Between 0 and 1; by default spread along users' own curves.", None, _LESS)
    points: int = _option("How many trade-offs are chosen.", _PLAN.points, _LESS)
    metrics: list[str] | None = _option(
        "Further measures to tabulate, such as recall or gini; all by default.", None, _LESS
    )
    regularisations: list[float] | None = _option("Of EASE; the best is taken.", None, _LESS)
    ratings: Path | None = _option("A table of ratings or play counts, CSV, Parquet or Arrow.", None, _OWN)
    items: Path | None = _option("A table of the items' categories.", None, _OWN)
    scores: Path | None = _option("Candidates with scores of your own model, instead of EASE.", None, _OWN)
    held_out: Path | None = _option("With --scores: what its users are judged by.", None, _OWN)
    category_column: list[str] | None = _option(
        "Of the items; again for more.", None, _OWN, "--category-column", "--category"
    )
    separator: str = _option("Between labels, such as |; auto: as they show; none.", Columns(()).separator, _OWN)
    user_column: str = _option("With the user.", "user_id", _OWN, "--user-column", "--user-id")
    item_column: str = _option("With the item.", "item_id", _OWN, "--item-column", "--item-id")
    items_item_column: str | None = _option(
        "In the items, where it differs.", None, _OWN, "--items-item-column", "--items-item-id"
    )
    rating_column: str = _option("Ratings or counts; empty: every row is a positive.", "rating", _OWN)
    timestamp_column: str = _option("When; for a split by time.", "timestamp", _OWN)
    above: float | None = _option("A rating above it is a positive; 3.5, and 0 for plays.", None, _OWN)
    minimum: int = _option("Positives that a user must have.", 5, _OWN)

    @property
    def plan(self) -> Plan:
        """What is run; lists that nobody gave are as a plan has them."""
        given = {each.name: getattr(self, _OPTION_NAMES.get(each.name, each.name)) for each in dataclasses.fields(Plan)}
        given["trade_offs"] = sorted(self.trade_offs or ())
        given["settings"] = [Setting.parse(text) for text in self.settings or ()]
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return Plan(**{name: value for name, value in (given | lists).items() if value not in (None, ())})

    @property
    def seconds(self) -> float | None:
        """The time that it may take."""
        if self.time is None:
            return None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", self.time.strip())
        if found is None or float(found[1]) <= 0:
            raise InputError("--time", f"is {self.time!r}", "be a time such as 15m, 90s or 2h, or minutes such as 15")
        return float(found[1]) * {"s": 1.0, "h": 3600.0}.get(found[2] or "m", 60.0)

    def source(self) -> Source:
        """The data, read and checked."""
        if self.data is not None and self.ratings is None and self.items is None:
            limits = {"max_bytes": self.max_bytes, "max_ratio": self.max_ratio}
            return movielens_source(self.data, complete=self.complete, **limits)
        if self.data is not None or self.ratings is None or self.items is None:
            must = "be given alone, or --ratings, --items and --category-column instead of it"
            raise InputError("--data", "is missing" if self.data is None else "comes with tables of one's own", must)
        if not self.category_column:
            raise InputError("--category-column", "is missing", "name a column of the items table")
        named = (self.user_column, self.item_column, self.rating_column, self.separator)
        columns = Columns(tuple(self.category_column), *named, self.items_item_column, self.timestamp_column)
        others: dict[str, Any] = {name: getattr(self, name) for name in ("scores", "held_out", "above", "minimum")}
        return table_source(self.ratings, self.items, columns, **others)

    def check_apart(self) -> None:
        """The folder's files are written over, so none of them may be read."""
        written = [self.out / name for name in ("parts", "figures", "tables")]
        written += [self.out / f"{name}.parquet" for name in ("results", "summary", "runtimes")]
        for path in (self.data, self.ratings, self.items, self.scores, self.held_out):
            if path is not None and any(path.resolve().is_relative_to(each.resolve()) for each in written):
                found = f"is {self.out}, and {path} is one of the files that are written there"
                raise InputError("--out", found, "be another folder", "an input is never written over.")


@with_options(ExperimentOptions)
def experiment(**options: Any) -> None:
    """Run the paper's experiment: curves, figures, tables, runtimes, and whether the paper's claims hold.

    Interrupted and started again with the same arguments, it goes on where it stopped.
    """
    asked = ExperimentOptions(**options)
    checked_threads(asked.threads)  # before any data are read
    since, console, plan, seconds = monotonic(), Console(highlight=False), asked.plan, asked.seconds
    asked.check_apart()
    interrupted = "Interrupted. Started again with the same arguments, it goes on where it stopped."
    shown = _bar if console.is_terminal else _lines
    with stoppable(lambda _: console.print(interrupted)) as stop, shown(console) as show:
        progress = stop.checking(show)
        source = asked.source()
        if source.understood:
            _print_status(f"{source.understood}.")
        for note in source.notes:
            print_warning(note.message, words_of(experiment))
        how: dict[str, Any] = {"threads": asked.threads, "seconds": seconds, "since": since}
        with locked([asked.out / "experiment"]):
            results = run_experiment(source, plan, asked.out, progress=progress, said=_print_status, **how)
            command = _repeating_options(asked, results.plan)
            _print_status(f"to repeat it: {command}")
            progress("writing figures, tables and report", 0.0, 2.0)
            report = write_files(results, asked.out, figures=asked.figures)
            if asked.page is not None:
                write_page(results, asked.page, command)
    _print_claims(results, console)
    console.print(f"Everything in one file: [bold]{escape(str(report))}[/]", soft_wrap=True)


def _print_status(text: str) -> None:
    print_line(f"excalibr: {text}")


@contextmanager
def _bar(console: Console) -> Iterator[ShowProgress]:
    """A bar, a new one for each kind of work, because their units differ."""
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description:44}"), *columns, console=console, transient=True) as bar:
        task, size = bar.add_task("reading the data", total=None), -1.0

        def show(what: str, done: float, total: float) -> None:
            nonlocal size
            if total != size:
                bar.reset(task)
                size = total
            bar.update(task, description=escape(what), completed=done, total=total)

        yield show


@contextmanager
def _lines(console: Console) -> Iterator[ShowProgress]:
    """A line for what is being done, by a thread of its own: a fit that takes minutes says nothing by itself."""
    last, started, ended = ("reading the data", 0.0, 0.0), monotonic(), threading.Event()

    def show(what: str, done: float, total: float) -> None:
        nonlocal last
        last = (what, done, total)

    def repeat() -> None:
        while not ended.wait(_EVERY):
            console.print(_line(*last, monotonic() - started), markup=False, soft_wrap=True)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()


def _line(what: str, done: float, total: float, seconds: float) -> str:
    """A line, with the time left where it is known.

    >>> _line("genre, 150/100, greedy", 60.0, 240.0, 75.0)
    'excalibr: 1 min 15 s: genre, 150/100, greedy, 25 %, about 3 min to go'
    """
    share = f", {100 * done / total:.0f} %" if total > 1.0 else ""
    left = f", about {(total - done) / 60:.0f} min to go" if total > 60.0 else ""
    return f"excalibr: {int(seconds) // 60} min {int(seconds) % 60} s: {what}{share}{left}"


def _print_claims(results: ExperimentResults, console: Console) -> None:
    table = Table("claim", "here", "figures", title="What the paper claims", title_justify="left", show_lines=True)
    for claim in check_claims(results):
        colour = _VERDICTS.get(claim.verdict.partition(":")[0], "white")
        table.add_row(claim.statement, f"[{colour}]{escape(claim.verdict)}[/]", escape(claim.figures))
    console.print(table)


def _repeating_options(asked: ExperimentOptions, plan: Plan) -> str:
    """The command with everything that was chosen, without the folders of this machine."""

    def option(name: str, value: object) -> str:
        return f"--{_OPTION_NAMES.get(name, name).replace('_', '-')} {quote(str(value))}"

    tables = {name: getattr(asked, name) for name in ("data", "ratings", "items", "scores", "held_out")}
    words = [option(name, path.name) for name, path in tables.items() if path is not None]
    words += [option("category_column", name) for name in asked.category_column or ()]
    for each in dataclasses.fields(asked):
        value = getattr(asked, each.name)
        words += [option(each.name, value)] if each.name in _REPEATED and value != each.default else []
    for name, value in plan.as_record().items():
        if value != _PLAN.as_record()[name]:
            words += [option(name, each) for each in (value if isinstance(value, list) else [value])]
    words += [] if asked.complete else ["--part-of-set"]
    folders = {"out": asked.out, "page": asked.page}
    words += [option(name, path.resolve().name) for name, path in folders.items() if path is not None]
    return " ".join(["excalibr experiment", *words])
