"""``excalibr experiment``: data, run, figures, tables and report, and what was found of the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from excalibr._cli.experiment_options import ExperimentOptions, repeating_options
from excalibr._cli.experiment_progress import shown_progress
from excalibr._cli.options import with_options
from excalibr._cli.signals import Stop, stoppable
from excalibr._cli.speech import say, say_warning
from excalibr._cli.wording import words_of
from excalibr._experiments import ExperimentResults, Source, run_experiment, write_files, write_page
from excalibr._experiments.claims import check_claims
from excalibr._messages import message_of

__all__ = ["experiment"]

_VERDICTS = {"holds": "green", "not clear": "yellow", "does not hold": "red"}


@with_options(ExperimentOptions)
def experiment(**options: Any) -> None:
    """Run the paper's experiment: curves, figures, tables, runtimes, and whether the paper's claims hold.

    Interrupted and started again with the same arguments, it goes on where it stopped.
    """
    asked = ExperimentOptions(**options)
    since, console, plan, seconds = monotonic(), Console(highlight=False), asked.plan, asked.seconds
    asked.check_apart()
    with _said_on_interrupt(console) as stop, shown_progress(console, stop) as tell:
        source = asked.source()
        _tell_understood(source)
        results = run_experiment(
            *(source, plan, asked.out), threads=asked.threads, seconds=seconds, since=since, progress=tell, said=_say
        )
        command = repeating_options(asked, results.plan)
        _say(f"to repeat it: {command}")
        tell("writing figures, tables and report", 0.0, 2.0)
        report = write_files(results, asked.out, figures=asked.figures)
        if asked.page is not None:
            write_page(results, asked.page, command)
    _print_claims(results, console)
    console.print(f"Everything in one file: [bold]{escape(str(report))}[/]", soft_wrap=True)


def _say(text: str) -> None:
    say(f"excalibr: {text}")


def _tell_understood(source: Source) -> None:
    """What was understood of tables of one's own, and what looks wrong, on standard error."""
    if source.understood:
        _say(f"{source.understood}.")
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


def _print_claims(results: ExperimentResults, console: Console) -> None:
    table = Table("claim", "here", "figures", title="What the paper claims", title_justify="left", show_lines=True)
    for claim in check_claims(results):
        colour = _VERDICTS.get(claim.verdict.partition(":")[0], "white")
        table.add_row(claim.said, f"[{colour}]{escape(claim.verdict)}[/]", escape(claim.figures))
    console.print(table)
