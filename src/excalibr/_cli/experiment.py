"""``excalibr experiment``: the paper's experiment on MovieLens or on one's own tables, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from excalibr._cli.signals import Stop, stoppable
from excalibr._cli.speech import say, say_warning
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
from excalibr._experiments.processes import Progress as Tell
from excalibr._messages import message_of
from excalibr.datasets._archives import MAX_BYTES, MAX_RATIO
from excalibr.errors import InputError, explain

__all__ = ["experiment"]

_PLAN = Plan()  # its defaults are the options'
_OWN, _LESS, _SIZES = "Data of one's own", "Less of everything", "How many users"
_VERDICTS = {"holds": "green", "partly": "yellow", "does not hold": "red"}


def experiment(
    out: Annotated[Path, typer.Option(help="The folder for results, figures, tables and report.")],
    data: Annotated[
        Path | None, typer.Option(help="MovieLens: an official zip, the folder it unpacks to, or a Parquet folder.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Processes to work on; the results are the same.")] = 1,
    seed: Annotated[int, typer.Option(help="Splits users, and draws samples and rankings.")] = _PLAN.seed,
    figures: Annotated[bool, typer.Option(help="Draw the figures; without them the report has tables only.")] = True,
    page: Annotated[Path | None, typer.Option(help="A folder to write the page experiment.md into as well.")] = None,
    complete: Annotated[
        bool, typer.Option("--complete/--part-of-set", help="Whether an official set must have its official size.")
    ] = True,
    max_bytes: Annotated[int, typer.Option(help="What the data may unpack to, at most.")] = MAX_BYTES,
    max_ratio: Annotated[float, typer.Option(help="The same, as a multiple of the zip's size.")] = MAX_RATIO,
    users: Annotated[int, typer.Option(help="Test users, at most.", rich_help_panel=_SIZES)] = _PLAN.users,
    sample: Annotated[
        int, typer.Option(help="Users for one good ranking in many slots.", rich_help_panel=_SIZES)
    ] = _PLAN.sample,
    mip_users: Annotated[int, typer.Option(help="Users for MIP greedy.", rich_help_panel=_SIZES)] = _PLAN.mip_users,
    timed_users: Annotated[
        int, typer.Option(help="Users of the runtime tables; 0 leaves them out.", rich_help_panel=_SIZES)
    ] = _PLAN.timed_users,
    attributes: Annotated[
        list[str] | None, typer.Option(help="One attribute only; again for more.", rich_help_panel=_LESS)
    ] = None,
    weightings: Annotated[
        list[str] | None, typer.Option(help="log, sqrt, reciprocal or uniform.", rich_help_panel=_LESS)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option(help="Candidates/slots, such as 150/100.", rich_help_panel=_LESS)
    ] = None,
    methods: Annotated[list[str] | None, typer.Option(help=", ".join(_PLAN.arms) + ".", rich_help_panel=_LESS)] = None,
    trade_offs: Annotated[
        list[float] | None, typer.Option(help="Between 0 and 1; again for more.", rich_help_panel=_LESS)
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="A table of ratings, CSV, Parquet or Arrow.", rich_help_panel=_OWN)
    ] = None,
    items: Annotated[Path | None, typer.Option(help="A table of the items' categories.", rich_help_panel=_OWN)] = None,
    category_column: Annotated[
        list[str] | None,
        typer.Option("--category-column", "--category", help="Of the items; again for more.", rich_help_panel=_OWN),
    ] = None,
    separator: Annotated[
        str,
        typer.Option(
            help="Between several labels, such as |; auto: as they show; none: nothing.", rich_help_panel=_OWN
        ),
    ] = Columns(()).separator,
    user_column: Annotated[
        str, typer.Option("--user-column", "--user-id", help="With the user.", rich_help_panel=_OWN)
    ] = "user_id",
    item_column: Annotated[
        str, typer.Option("--item-column", "--item-id", help="With the item.", rich_help_panel=_OWN)
    ] = "item_id",
    items_item_column: Annotated[
        str | None,
        typer.Option(
            "--items-item-column", "--items-item-id", help="In the items, where it differs.", rich_help_panel=_OWN
        ),
    ] = None,
    rating_column: Annotated[
        str, typer.Option(help="Empty: every row is a positive.", rich_help_panel=_OWN)
    ] = "rating",
    above: Annotated[float, typer.Option(help="A rating above it is a positive.", rich_help_panel=_OWN)] = 3.5,
    minimum: Annotated[int, typer.Option(help="Positives that a user must have.", rich_help_panel=_OWN)] = 5,
) -> None:
    """Run the paper's experiment: curves, figures, tables, runtimes, and whether the paper's claims hold.

    Interrupted and started again with the same arguments, it goes on where it stopped.
    """
    plan = Plan(
        users=users,
        sample=sample,
        mip_users=mip_users,
        timed_users=timed_users,
        trade_offs=tuple(sorted(trade_offs)) if trade_offs else _PLAN.trade_offs,
        attributes=tuple(attributes or ()),
        weightings=tuple(weightings or _PLAN.weightings),
        settings=tuple(map(Setting.parse, settings)) if settings else _PLAN.settings,
        arms=tuple(methods or _PLAN.arms),
        seed=seed,
    )
    named = (user_column, item_column, rating_column, separator, items_item_column)
    columns = Columns(tuple(category_column or ()), *named)
    console = Console(highlight=False)
    _check_apart(out, [data, ratings, items])
    with _said_on_interrupt(console) as stop, _bar(console, stop) as tell:
        limits = {"max_bytes": max_bytes, "max_ratio": max_ratio}
        source = _source(data, ratings, items, columns, above, minimum, complete, limits)
        _tell_understood(source)
        results = run_experiment(source, plan, out, threads=threads, progress=tell)
        tell("writing figures, tables and report", 0.0, 2.0)
        report = write_files(results, out, figures=figures)
        if page is not None:
            write_page(results, page, _command(data, ratings, items, columns, plan))
    _print_claims(results, console)
    console.print(f"Everything in one file: [bold]{escape(str(report))}[/]", soft_wrap=True)


def _source(
    data: Path | None,
    ratings: Path | None,
    items: Path | None,
    columns: Columns,
    above: float,
    minimum: int,
    complete: bool,
    limits: dict[str, float],
) -> Source:
    own = ratings is not None and items is not None
    if (data is None) == (not own) or (data is not None and (ratings or items)):
        must = "be given alone, or --ratings, --items and --category-column instead of it"
        found = "is missing" if data is None else "comes with tables of one's own"
        raise InputError(explain("--data", found, must))
    if data is not None:
        return movielens_source(data, complete=complete, **limits)
    if not columns.categories:
        raise InputError(explain("--category-column", "is missing", "name a column of the items table"))
    assert ratings is not None
    assert items is not None
    return table_source(ratings, items, columns, above=above, minimum=minimum)


def _check_apart(out: Path, inputs: Sequence[Path | None]) -> None:
    """The folder's files are written over, so none of them may be read."""
    written = [out / "parts", out / "figures", out / "tables"]
    written += [out / f"{name}.parquet" for name in ("results", "summary", "runtimes")]
    for path in inputs:
        if path is not None and any(path.resolve().is_relative_to(each.resolve()) for each in written):
            found = f"is {out}, and {path} is one of the files that are written there"
            raise InputError(explain("--out", found, "be another folder", "an input is never written over."))


def _tell_understood(source: Source) -> None:
    """What was understood of tables of one's own, and what looks wrong, on standard error."""
    if source.understood:
        say(f"excalibr: {source.understood}.")
    for note in source.notes:
        say_warning(message_of(note.message, words_of(experiment)))


@contextmanager
def _said_on_interrupt(console: Console) -> Iterator[Stop]:
    with stoppable() as stop:
        try:
            yield stop
        except (Exception, KeyboardInterrupt) as error:
            if stop.signal is None and not isinstance(error, KeyboardInterrupt):
                raise
            console.print("Interrupted. Started again with the same arguments, it goes on where it stopped.")
            raise typer.Exit(stop.code) from None


@contextmanager
def _bar(console: Console, stop: Stop) -> Iterator[Tell]:
    """A bar with the time left; a new one for each kind of work, because their units differ."""
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description:44}"), *columns, console=console, transient=True) as bar:
        task, size = bar.add_task("reading the data", total=None), -1.0

        def tell(what: str, done: float, total: float) -> None:
            nonlocal size
            stop.check()
            if total != size:
                bar.reset(task)
                size = total
            bar.update(task, description=escape(what), completed=done, total=total)

        yield tell


def _command(data: Path | None, ratings: Path | None, items: Path | None, columns: Columns, plan: Plan) -> str:
    """The command as a page shows it: what is not as by default, without the folders of this machine."""
    words = ["excalibr experiment"]
    if data is not None:
        words.append(f"--data {quote(data.name)}")
    elif ratings is not None and items is not None:
        words.append(f"--ratings {quote(ratings.name)} --items {quote(items.name)}")
        words += [f"--category-column {quote(name)}" for name in columns.categories]
    for name, value in plan.as_record().items():
        if value != _PLAN.as_record()[name]:
            option = "--" + {"arms": "methods"}.get(name, name).replace("_", "-")
            words += [f"{option} {quote(str(each))}" for each in (value if isinstance(value, list) else [value])]
    return " ".join([*words, "--out results --page docs"])


def _print_claims(results: ExperimentResults, console: Console) -> None:
    table = Table("claim", "here", "figures", title="What the paper claims", title_justify="left", show_lines=True)
    for claim in check_claims(results):
        colour = _VERDICTS.get(claim.verdict, "white")
        table.add_row(claim.said, f"[{colour}]{claim.verdict}[/]", escape(claim.figures))
    console.print(table)
