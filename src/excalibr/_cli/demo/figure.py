"""The comparison as a picture: both slates joined film by film, and the category shares as bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._cli.demo.comparison import Comparison, Entry, percent
from excalibr._text import figure_text
from excalibr._writing import beside
from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "write"]

# Okabe and Ito's colours, which stay apart for every kind of colour blindness.
_BLUE, _SKY, _GREEN, _ORANGE, _VERMILION = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00"
_INK, _GREY = "#222222", "#767676"
_BAR_HEIGHT = 0.27
_KINDS = {"up": _BLUE, "down": _VERMILION, "same slot": _INK, "new": _GREEN, "dropped": _GREY}


def write(comparison: Comparison, path: Path) -> None:
    """Write the picture as PNG: beside its place first and then renamed, so that no half of one is left behind."""
    figure = draw(comparison)
    with beside(path) as name:
        figure.savefig(name, format="png", dpi=150, facecolor="white")


def draw(comparison: Comparison) -> Figure:
    """The picture as a matplotlib figure."""
    with needs_extra("plot", "matplotlib"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(15, max(7.5, 2.6 + 0.56 * comparison.after.problem.k)), layout="constrained")
    slates, shares = figure.subplots(1, 2, width_ratios=[1.15, 1], gridspec_kw={"wspace": 0.06})
    _draw_slates(slates, comparison)
    _draw_shares(shares, comparison)
    figure.suptitle(_headline(comparison), fontsize=15, fontweight="bold", color=_INK)
    figure.supxlabel(_caption(comparison), fontsize=10.5, color=_INK)
    return figure


def _headline(comparison: Comparison) -> str:
    kept, removed = (percent(share(comparison.after)) for share in (comparison.kept, comparison.removed))
    user = figure_text(comparison.user)
    return f"{user}: {kept} of the relevance kept, {removed} of the deviation removed, in expectation\n"


def _caption(comparison: Comparison) -> str:
    after, shown = comparison.after, comparison.shown
    return (
        f"\nTrade-off {after.problem.trade_off:g}. A lottery of {len(after.weights)} rankings, "
        f"proven optimal within {after.gap:.1e}. This draw by itself: "
        f"{percent(comparison.kept(shown))} kept, {percent(comparison.removed(shown))} removed."
    )


def _draw_slates(axes: Axes, comparison: Comparison) -> None:
    for entry in comparison.old_entries:
        _draw_entry(axes, entry, side=0, kind=_kind(entry.slot, entry.other, gone="dropped"))
    for entry in comparison.new_entries:
        kind = _kind(entry.other, entry.slot, gone="new")
        _draw_entry(axes, entry, side=1, kind=kind)
        if entry.other is not None:
            _join(axes, entry.other, entry.slot, _KINDS[kind])
    for kind, colour in _KINDS.items():
        axes.plot([], [], "o", color=colour, markersize=9, label=kind)
    _dress_slates(axes, comparison.after.problem.k)


def _kind(old: int | None, new: int | None, gone: str) -> str:
    if old is None or new is None:
        return gone
    return "up" if new < old else "down" if new > old else "same slot"


def _draw_entry(axes: Axes, entry: Entry, side: int, kind: str) -> None:
    """A numbered dot, and on its outer side the title with the genres below."""
    point = (side, entry.slot)
    axes.plot(*point, "o", color=_KINDS[kind], markersize=17, zorder=3)
    axes.annotate(str(entry.slot), point, ha="center", va="center_baseline", color="white", fontsize=9.5)
    outward, align = (15, "left") if side else (-15, "right")
    placed: dict[str, Any] = {"textcoords": "offset points", "ha": align, "va": "center"}
    colour, weight = (_GREY if kind == "dropped" else _INK), ("bold" if kind == "new" else "normal")
    title, genres = figure_text(entry.film.title), figure_text(", ".join(entry.film.genres))
    axes.annotate(title, point, (outward, 6), fontsize=11, color=colour, weight=weight, **placed)
    axes.annotate(genres, point, (outward, -8), fontsize=8.5, color=_GREY, **placed)


def _join(axes: Axes, old: int, new: int, colour: str) -> None:
    """A line that leaves and arrives level, so that crossing lines can be told apart."""
    along = np.linspace(0.0, 1.0, 60)
    axes.plot(
        along, old + (new - old) * along**2 * (3.0 - 2.0 * along), color=colour, linewidth=2.2, alpha=0.75, zorder=2
    )


def _dress_slates(axes: Axes, k: int) -> None:
    axes.set_xlim(-1.0, 2.0)
    axes.set_ylim(k + 0.7, 0.4)
    axes.set_xticks([0, 1], ["Before: by score alone", "After: one draw"], fontsize=12, fontweight="bold", color=_INK)
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", length=0, pad=8)
    axes.set_yticks([])
    axes.set_ylabel("Slot, best first", fontsize=11, color=_INK)
    axes.spines[:].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(_KINDS), frameon=False, fontsize=10.5)


def _draw_shares(axes: Axes, comparison: Comparison) -> None:
    target = comparison.candidates.target
    groups = [
        ("target", target, _GREY),
        ("before", comparison.before.distribution, _ORANGE),
        ("after, in expectation", comparison.after.distribution, _SKY),
    ]
    order = np.argsort(-target, kind="stable")
    rows = np.arange(len(order))
    for number, (label, shares, colour) in enumerate(groups):
        axes.barh(rows + (number - 1) * _BAR_HEIGHT, 100 * shares[order], _BAR_HEIGHT, color=colour, label=label)
    axes.plot(
        100 * comparison.shown.distribution[order],
        rows + _BAR_HEIGHT,
        "D",
        color=_INK,
        markeredgecolor="white",
        markersize=7,
        clip_on=False,  # many of them stand on the axis
        zorder=5,
        label="after, this draw",
    )
    _dress_shares(axes, [comparison.catalogue.genres[genre] for genre in order])


def _dress_shares(axes: Axes, genres: list[str]) -> None:
    axes.set_yticks(range(len(genres)), [figure_text(genre) for genre in genres], fontsize=11, color=_INK)
    axes.set_ylim(len(genres) - 0.4, -0.6)
    axes.set_xlabel("Share of exposure, %", fontsize=11, color=_INK)
    axes.set_ylabel("Genre", fontsize=11, color=_INK)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title("Category shares", fontsize=12, fontweight="bold", color=_INK, pad=32)
    axes.axvline(0.0, color=_INK, linewidth=1.0)
    draw, *bars = axes.get_legend_handles_labels()[0]  # matplotlib lists lines before bars
    axes.legend(
        handles=[*bars, draw], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=10
    )
