"""The comparison as a picture: both slates joined film by film, and the genres' shares as bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from excalibr import _picture as picture
from excalibr._cli.demo.comparison import Comparison, Entry, percent
from excalibr._writing import beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "write"]


def write(comparison: Comparison, path: Path) -> None:
    """Write the picture as PNG: beside its place first and then renamed, so that no half of one is left behind."""
    figure = draw(comparison)
    with beside(path) as name:
        figure.savefig(name, format="png", dpi=150, facecolor="white")


def draw(comparison: Comparison) -> Figure:
    """The picture as a matplotlib figure."""
    target, before, after = comparison.candidates.target, comparison.before, comparison.after
    seen = (before.distribution, after.distribution, comparison.shown.distribution)
    made = picture.Picture(
        headline=_headline(comparison),
        caption=_caption(comparison),
        old=[_entry(entry) for entry in comparison.old_entries],
        new=[_entry(entry) for entry in comparison.new_entries],
        shares=picture.Shares(list(comparison.catalogue.genres), target, target, *seen),
        kind="Genre",
    )
    return picture.draw(made, picture.empty_figure(made))


def _entry(entry: Entry) -> picture.Placed:
    return picture.Placed(entry.film.title, ", ".join(entry.film.genres), entry.slot, entry.other)


def _headline(comparison: Comparison) -> str:
    kept, removed = (percent(share(comparison.after)) for share in (comparison.kept, comparison.removed))
    return f"{comparison.user}: {kept} of the relevance kept, {removed} of the deviation removed, in expectation"


def _caption(comparison: Comparison) -> str:
    after, shown = comparison.after, comparison.shown
    return (
        f"Trade-off {after.problem.trade_off:g}. A lottery of {len(after.weights)} rankings, "
        f"proven optimal within {after.gap:.1e}. This draw by itself: "
        f"{percent(comparison.kept(shown))} kept, {percent(comparison.removed(shown))} removed."
    )
