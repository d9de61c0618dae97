"""``excalibr demo``: one user's slate before and after re-ranking, as tables and as a picture.

The tables line up on a terminal of 80 columns or more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

import excalibr
from excalibr import _picture as picture
from excalibr._grid import percent
from excalibr._policy import Policy
from excalibr._policy.notebook import picture_of
from excalibr._types import Integers
from excalibr._writing import atomic_write
from excalibr.datasets import Candidates, Catalogue, Film, make_catalogue
from excalibr.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE = 116  # columns from which genres are written out
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TARGET, _BEFORE, _AFTER, _SHOWN = "white", "dark_orange", "deep_sky_blue1", "green3"


def demo(
    user: Annotated[str, typer.Option(help="Whose slate to re-rank; a wrong name lists the right ones.")] = "Ada",
    seed: Annotated[int, typer.Option(help="Makes the catalogue, its users and the draw.")] = 7,
    k: Annotated[int, typer.Option("-k", help="Number of slots.")] = 10,
    trade_off: Annotated[float, typer.Option(help="0 is relevance only, 1 is calibration only.")] = 0.5,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("excalibr-demo.png"),
) -> None:
    """Re-rank a small invented catalogue for one user and show what changed."""
    if out.suffix.lower() != ".png":
        raise InputError("out", f"is {str(out)!r}", "end in .png")
    comparison = compare(make_catalogue(seed), user, k=k, trade_off=trade_off)
    console = Console(highlight=False)
    show(comparison, console)
    write(comparison, out)
    console.print(f"The same as a picture: [bold]{escape(str(out))}[/]", soft_wrap=True)


class Entry(NamedTuple):
    """A film of a slate: its slot, counted from 1, and its slot in the other slate, None where it is not there."""

    film: Film
    slot: int
    other: int | None

    def genres(self, wide: bool = True) -> str:
        """Written out, or cut to three letters each."""
        return ", ".join(self.film.genres) if wide else " ".join(genre[:3] for genre in self.film.genres)


@dataclass(frozen=True, eq=False)
class Comparison:
    """One user before and after: ``after`` is the lottery, and ``shown`` the ranking that was drawn of it."""

    user: str
    catalogue: Catalogue
    candidates: Candidates
    after: Policy
    shown: Policy

    @property
    def before(self) -> Policy:
        """The order by score alone."""
        return self.after.before

    @property
    def titles(self) -> list[str]:
        """The candidates' films by name."""
        return [self.catalogue.films[film].title for film in self.candidates.films]

    @property
    def old_entries(self) -> list[Entry]:
        """The slate by score alone, with where each film went."""
        return self._entries(self.before.rankings[0], self.shown.rankings[0])

    @property
    def new_entries(self) -> list[Entry]:
        """The slate that was drawn, with where each film was."""
        return self._entries(self.shown.rankings[0], self.before.rankings[0])

    def _entries(self, ranking: Integers, other: Integers) -> list[Entry]:
        slots = {int(candidate): slot for slot, candidate in enumerate(other, 1)}
        return [
            Entry(self.catalogue.films[self.candidates.films[candidate]], slot, slots.get(int(candidate)))
            for slot, candidate in enumerate(ranking, 1)
        ]


def compare(catalogue: Catalogue, user: str, *, k: int, trade_off: float) -> Comparison:
    """Re-rank a user's candidates and draw the ranking that belongs to the user and the catalogue's seed."""
    candidates = catalogue.candidates(user)
    after = excalibr.calibrate(candidates.scores, candidates.categories, candidates.target, k=k, trade_off=trade_off)
    drawn = after.sample(seed=catalogue.seed, key=user)
    shown = Policy(after.problem, rankings=drawn[None, :], weights=np.ones(1), method="one ranking")
    return Comparison(user, catalogue, candidates, after, shown)


def gains(policy: Policy) -> tuple[str, str]:
    """How much of the relevance a policy keeps, and how much of the deviation it removes: a dash where there was none.

    >>> gains(excalibr.calibrate([0.9, 0.6], [[1, 0], [0, 1]], [1, 0], k=1, trade_off=0.0))
    ('100 %', '–')
    """
    why = policy.explain()
    return percent(why.relevance_kept), "–" if isnan(why.deviation_removed) else percent(why.deviation_removed)


def show(comparison: Comparison, console: Console) -> None:
    """Print the slates, the category shares, what was gained and lost, and the lottery."""
    after = comparison.after
    problem, wide = after.problem, console.width >= _WIDE
    console.rule(f"[bold]{comparison.user}[/]: {problem.k} of {problem.n} candidates, trade-off {problem.trade_off:g}")
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
    console.print(
        f"[bold]Proven:[/] the objective is {after.objective:.6f}, and no lottery over rankings "
        f"can exceed it by more than {after.gap:.1e}."
    )


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


def _table(*columns: Column | str) -> Table:
    table = Table(*columns, box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
    return table


def _slates(comparison: Comparison, wide: bool) -> Table:
    table = _table(
        Column("#", justify="right"),
        *("Before, by score", Column("genres", style="dim")),
        *("After, one draw", Column("genres", style="dim")),
        Column("move", justify="right"),
    )
    for old, new in zip(comparison.old_entries, comparison.new_entries, strict=True):
        table.add_row(
            str(old.slot),
            *(Text(old.film.title, style="strike dim" if old.other is None else ""), old.genres(wide)),
            *(Text(new.film.title, style="bold" if new.other is None else ""), new.genres(wide)),
            move(new.other, new.slot),
        )
    return table


def _dropped(comparison: Comparison, wide: bool) -> Table:
    table = _table(Column("#", justify="right"), Column("Dropped", min_width=20), Column("genres", style="dim"))
    for entry in comparison.old_entries:
        if entry.other is None:
            table.add_row(str(entry.slot), entry.film.title, entry.genres(wide))
    return table


def _shares(comparison: Comparison, bar_width: int) -> Table:
    """Genres by their share of the target; those that nobody shows or wants are left out."""
    columns = {
        "Target": (comparison.candidates.target, _TARGET),
        "Before": (comparison.before.distribution, _BEFORE),
        "After, expected": (comparison.after.distribution, _AFTER),
        "After, this draw": (comparison.shown.distribution, _SHOWN),
    }
    longest = max(shares.max() for shares, _ in columns.values())
    table = _table("Genre", *(Column(name, min_width=bar_width + 7) for name in columns))
    for genre in np.argsort(-comparison.candidates.target, kind="stable"):
        if any(shares[genre] > 1e-9 for shares, _ in columns.values()):
            cells = [
                Text(f"{100 * shares[genre]:4.1f} % ") + Text(bar(shares[genre], longest, bar_width), style=style)
                for shares, style in columns.values()
            ]
            table.add_row(comparison.catalogue.genres[genre], *cells)
    return table


def _balance(comparison: Comparison) -> Table:
    before = comparison.before
    table = _table(*(Column(each, min_width=12) for each in ("", "Before", "After, expected", "After, this draw")))
    relevances, deviations = [f"{before.relevance:.3f}"], [f"{before.deviation:.3f}"]
    for policy in (comparison.after, comparison.shown):
        kept, removed = gains(policy)
        relevances.append(f"{policy.relevance:.3f}, {kept} kept")
        deviations.append(f"{policy.deviation:.3f}, {removed} removed")
    table.add_row("Relevance", *relevances)
    table.add_row("Deviation", *deviations)
    return table


def _lottery(comparison: Comparison) -> Table:
    """Each ranking by itself, then the whole; an arrow marks the ranking that was drawn."""
    after = comparison.after
    headings = ("Ranking", "Probability", "Relevance", "Deviation")
    table = _table(*(Column(heading, justify="right") for heading in headings), "")
    drawn = (after.rankings == comparison.shown.rankings[0]).all(axis=1)
    rows = zip(after.weights, after.draw_relevances, after.draw_deviations, drawn, strict=True)
    for number, (weight, relevance, deviation, is_drawn) in enumerate(rows, 1):
        table.add_row(
            str(number), percent(weight), f"{relevance:.3f}", f"{deviation:.3f}", "◀ drawn" if is_drawn else ""
        )
    relevance = f"{after.relevance:.3f}"
    table.add_row("all", percent(1.0), relevance, f"{after.weights @ after.draw_deviations:.3f}", "mean of a draw")
    table.add_row("all", percent(1.0), relevance, f"{after.deviation:.3f}", "of the expectation")
    return table


def write(comparison: Comparison, path: Path) -> None:
    """Write the picture as PNG: beside its place first and then renamed, so that no half of one is left behind."""
    figure = draw(comparison)
    with atomic_write(path) as name:
        figure.savefig(name, format="png", dpi=150, facecolor="white")


def draw(comparison: Comparison) -> Figure:
    """The picture as a matplotlib figure: both slates joined film by film, and the genres' shares as bars."""
    made = picture_of(comparison.after, comparison.titles, comparison.catalogue.genres, comparison.shown.rankings[0])
    kept, removed = gains(comparison.shown)
    headline = f"{comparison.user}: {made.headline}"
    caption = f"{made.caption}. This draw by itself: {kept} kept, {removed} removed."
    made = replace(made, headline=headline, caption=caption, kind="Genre")
    return picture.draw(made, picture.empty_figure(made))
