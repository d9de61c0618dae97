"""The comparison as tables that line up on a terminal of 80 columns or more."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from excalibr._cli.demo.comparison import Comparison, Entry, percent
from excalibr._policy import Policy

__all__ = ["bar", "move", "show"]

_WIDE = 116  # columns from which genres are written out
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TARGET, _BEFORE, _AFTER, _SHOWN = "white", "dark_orange", "deep_sky_blue1", "green3"


def show(comparison: Comparison, console: Console) -> None:
    """Print the slates, the category shares, what was gained and lost, and the lottery."""
    problem = comparison.after.problem
    console.rule(f"[bold]{comparison.user}[/]: {problem.k} of {problem.n} candidates, trade-off {problem.trade_off:g}")
    wide = console.width >= _WIDE
    console.print(_slates(comparison, wide))
    if any(entry.other is None for entry in comparison.old_entries):
        console.print()
        console.print(_dropped(comparison, wide))
    console.rule("Share of exposure by genre")
    console.print(_shares(comparison, bar_width=16 if wide else 8))
    console.rule("What it costs and what it brings")
    console.print(_balance(comparison))
    console.rule("The lottery")
    console.print(_lottery(comparison))
    _print_proof(comparison.after, console)


def move(old: int | None, new: int) -> Text:
    """How a film came to its slot.

    >>> [move(old, 3).plain for old in (5, 1, 3, None)]
    ['▲2', '▼2', '=', 'new']
    """
    if old is None:
        return Text("new", style="bold green3")
    if old == new:
        return Text("=", style="dim")
    return Text(f"▲{old - new}", style="deep_sky_blue1") if old > new else Text(f"▼{new - old}", style="dark_orange")


def bar(share: float, longest: float, width: int) -> str:
    """A bar of eighths of a character; ``longest`` fills the width.

    >>> bar(0.5, 1.0, 4), bar(0.03, 1.0, 4)
    ('██  ', '▏   ')
    """
    eighths = round(8 * width * share / longest) if longest > 0 else 0
    eighths = max(eighths, 1) if share > 0 else 0
    return (_EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(width)


def _plain_table() -> Table:
    return Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)


def _slates(comparison: Comparison, wide: bool) -> Table:
    table = _plain_table()
    table.add_column("#", justify="right")
    table.add_column("Before, by score", no_wrap=True, overflow="ellipsis")
    table.add_column("genres", no_wrap=True, overflow="ellipsis", style="dim")
    table.add_column("After, one draw", no_wrap=True, overflow="ellipsis")
    table.add_column("genres", no_wrap=True, overflow="ellipsis", style="dim")
    table.add_column("move", justify="right", no_wrap=True)
    for old, new in zip(comparison.old_entries, comparison.new_entries, strict=True):
        table.add_row(
            str(old.slot),
            Text(old.film.title, style="strike dim" if old.other is None else ""),
            _genres(old, wide),
            Text(new.film.title, style="bold" if new.other is None else ""),
            _genres(new, wide),
            move(new.other, new.slot),
        )
    return table


def _genres(entry: Entry, wide: bool) -> str:
    return ", ".join(entry.film.genres) if wide else " ".join(genre[:3] for genre in entry.film.genres)


def _dropped(comparison: Comparison, wide: bool) -> Table:
    table = _plain_table()
    table.add_column("#", justify="right")
    table.add_column("Dropped", no_wrap=True, min_width=20)
    table.add_column("genres", no_wrap=True, style="dim")
    for entry in comparison.old_entries:
        if entry.other is None:
            table.add_row(str(entry.slot), entry.film.title, _genres(entry, wide))
    return table


def _shares(comparison: Comparison, bar_width: int) -> Table:
    """Genres by their share of the target; those that nobody shows or wants are left out."""
    columns = {
        "Target": (comparison.candidates.target, _TARGET),
        "Before": (comparison.before.distribution, _BEFORE),
        "After, expected": (comparison.after.distribution, _AFTER),
        "After, this draw": (comparison.shown.distribution, _SHOWN),
    }
    shares = np.array([values for values, _ in columns.values()])
    table = _plain_table()
    table.add_column("Genre", no_wrap=True)
    for name in columns:
        table.add_column(name, no_wrap=True, min_width=bar_width + 7)
    for genre in np.argsort(-comparison.candidates.target, kind="stable"):
        if shares[:, genre].max() > 1e-9:
            cells = zip(shares[:, genre], (style for _, style in columns.values()), strict=True)
            table.add_row(
                comparison.catalogue.genres[genre],
                *(_share(value, float(shares.max()), bar_width, style) for value, style in cells),
            )
    return table


def _share(value: float, longest: float, width: int, style: str) -> Text:
    return Text(f"{100 * value:4.1f} % ") + Text(bar(value, longest, width), style=style)


def _balance(comparison: Comparison) -> Table:
    table = _plain_table()
    for heading in ("", "Before", "After, expected", "After, this draw"):
        table.add_column(heading, no_wrap=True, min_width=12)
    after, shown = comparison.after, comparison.shown
    table.add_row(
        "Relevance",
        f"{comparison.before.relevance:.3f}",
        *(f"{policy.relevance:.3f}, {percent(comparison.kept(policy))} kept" for policy in (after, shown)),
    )
    table.add_row(
        "Deviation",
        f"{comparison.before.deviation:.3f}",
        *(f"{policy.deviation:.3f}, {percent(comparison.removed(policy))} removed" for policy in (after, shown)),
    )
    return table


def _lottery(comparison: Comparison) -> Table:
    """Each ranking by itself, then the whole; an arrow marks the ranking that was drawn."""
    after = comparison.after
    table = _plain_table()
    for heading in ("Ranking", "Probability", "Relevance", "Deviation"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    drawn = (after.rankings == comparison.shown.rankings[0]).all(axis=1)
    rows = zip(after.weights, after.draw_relevances, after.draw_deviations, drawn, strict=True)
    for number, (weight, relevance, deviation, is_drawn) in enumerate(rows, 1):
        chance = f"{100 * weight:.1f} %" if weight >= 0.0005 else "< 0.1 %"
        table.add_row(str(number), chance, f"{relevance:.3f}", f"{deviation:.3f}", "◀ drawn" if is_drawn else "")
    relevance = f"{after.relevance:.3f}"
    table.add_row("all", "100.0 %", relevance, f"{after.weights @ after.draw_deviations:.3f}", "mean of a draw")
    table.add_row("all", "100.0 %", relevance, f"{after.deviation:.3f}", "of the expectation")
    return table


def _print_proof(policy: Policy, console: Console) -> None:
    console.print(
        f"[bold]Proven:[/] the objective is {policy.objective:.6f}, and no lottery over rankings "
        f"can exceed it by more than {policy.gap:.1e}."
    )
