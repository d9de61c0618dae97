"""The picture of a slate before and after: both rankings joined item by item, and the category shares as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from excalibr._text import figure_text
from excalibr._types import Floats
from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CATEGORIES = 20
"""How many categories have bars: those with the largest targets."""

# Okabe and Ito's colours, which stay apart for every kind of colour blindness.
_BLUE, _SKY, _GREEN, _ORANGE, _VERMILION = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00"
_INK, _GREY = "#222222", "#767676"
_BAR_HEIGHT = 0.27
_KINDS = {"up": _BLUE, "down": _VERMILION, "same slot": _INK, "new": _GREEN, "dropped": _GREY}


class Placed(NamedTuple):
    """An item of a slate: its slot, counted from 1, and its slot in the other slate, None where it is not there."""

    title: str
    kinds: str
    slot: int
    other: int | None


class Shares(NamedTuple):
    """(r,) the categories by name, with the edges of their targets and what is seen of them."""

    names: list[str]
    low: Floats
    high: Floats
    before: Floats
    after: Floats
    drawn: Floats


@dataclass(frozen=True, eq=False)
class Picture:
    """What is drawn: the two slates, best slot first, the shares, and the words around them."""

    headline: str
    caption: str
    old: list[Placed]
    new: list[Placed]
    shares: Shares
    kind: str = "Category"
    """What the categories are called."""


def empty_figure(picture: Picture) -> Figure:
    """A figure of the right size that no window knows of."""
    with needs_extra("plot", "matplotlib"):
        from matplotlib.figure import Figure
    return Figure(figsize=size_of(picture), layout="constrained")


def size_of(picture: Picture) -> tuple[float, float]:
    """Width and height in inches, so that slots and bars have room."""
    bars = min(len(picture.shares.names), MOST_CATEGORIES)
    return 15.0, max(7.5, 2.6 + 0.56 * len(picture.new), 2.6 + 0.5 * bars)


def draw(picture: Picture, figure: Figure) -> Figure:
    """Draw it on an empty figure."""
    slates, shares = figure.subplots(1, 2, width_ratios=[1.15, 1], gridspec_kw={"wspace": 0.06})
    _draw_slates(slates, picture)
    _draw_shares(shares, picture)
    figure.suptitle(figure_text(picture.headline) + "\n", fontsize=15, fontweight="bold", color=_INK)
    figure.supxlabel("\n" + figure_text(picture.caption), fontsize=10.5, color=_INK)
    return figure


def _draw_slates(axes: Axes, picture: Picture) -> None:
    for entry in picture.old:
        _draw_entry(axes, entry, side=0, kind=_kind(entry.slot, entry.other, gone="dropped"))
    for entry in picture.new:
        kind = _kind(entry.other, entry.slot, gone="new")
        _draw_entry(axes, entry, side=1, kind=kind)
        if entry.other is not None:
            _join(axes, entry.other, entry.slot, _KINDS[kind])
    for kind, colour in _KINDS.items():
        axes.plot([], [], "o", color=colour, markersize=9, label=kind)
    _style_slates(axes, len(picture.new))


def _kind(old: int | None, new: int | None, gone: str) -> str:
    if old is None or new is None:
        return gone
    return "up" if new < old else "down" if new > old else "same slot"


def _draw_entry(axes: Axes, entry: Placed, side: int, kind: str) -> None:
    """A numbered dot, and on its outer side the title with the genres below."""
    point = (side, entry.slot)
    axes.plot(*point, "o", color=_KINDS[kind], markersize=17, zorder=3)
    axes.annotate(str(entry.slot), point, ha="center", va="center_baseline", color="white", fontsize=9.5)
    outward, align = (15, "left") if side else (-15, "right")
    placed: dict[str, Any] = {"textcoords": "offset points", "ha": align, "va": "center"}
    colour, weight = (_GREY if kind == "dropped" else _INK), ("bold" if kind == "new" else "normal")
    title, kinds = figure_text(entry.title), figure_text(entry.kinds)
    axes.annotate(title, point, (outward, 6), fontsize=11, color=colour, weight=weight, **placed)
    axes.annotate(kinds, point, (outward, -8), fontsize=8.5, color=_GREY, **placed)


def _join(axes: Axes, old: int, new: int, colour: str) -> None:
    """A line that leaves and arrives level, so that crossing lines can be distinguished."""
    along = np.linspace(0.0, 1.0, 60)
    height = old + (new - old) * along**2 * (3.0 - 2.0 * along)
    axes.plot(along, height, color=colour, linewidth=2.2, alpha=0.75, zorder=2)


def _style_slates(axes: Axes, k: int) -> None:
    axes.set(xlim=(-1.0, 2.0), ylim=(k + 0.7, 0.4), yticks=[])
    axes.set_xticks([0, 1], ["Before: by score alone", "After: one draw"], fontsize=12, fontweight="bold", color=_INK)
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", length=0, pad=8)
    axes.set_ylabel("Slot, best first", fontsize=11, color=_INK)
    axes.spines[:].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(_KINDS), frameon=False, fontsize=10.5)


def _draw_shares(axes: Axes, picture: Picture) -> None:
    shares = picture.shares
    order = np.argsort(-shares.high, kind="stable")[:MOST_CATEGORIES]
    rows = np.arange(len(order))
    groups = [
        ("target", shares.low, _GREY),
        ("before", shares.before, _ORANGE),
        ("after, in expectation", shares.after, _SKY),
    ]
    for number, (label, values, colour) in enumerate(groups):
        axes.barh(rows + (number - 1) * _BAR_HEIGHT, 100 * values[order], _BAR_HEIGHT, color=colour, label=label)
    low, high = shares.low[order], shares.high[order]
    if (high > low).any():  # what a band leaves open
        free: dict[str, Any] = {"color": _GREY, "alpha": 0.35, "label": "target, up to"}
        axes.barh(rows - _BAR_HEIGHT, 100 * (high - low), _BAR_HEIGHT, left=100 * low, **free)
    diamond: dict[str, Any] = {"color": _INK, "markeredgecolor": "white", "markersize": 7, "zorder": 5}
    diamond["clip_on"] = False  # many of them stand on the axis
    axes.plot(100 * shares.drawn[order], rows + _BAR_HEIGHT, "D", **diamond, label="after, this draw")
    _style_shares(axes, [shares.names[category] for category in order], picture.kind)


def _style_shares(axes: Axes, names: list[str], kind: str) -> None:
    axes.set_yticks(range(len(names)), [figure_text(name) for name in names], fontsize=11, color=_INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("Share of exposure, %", fontsize=11, color=_INK)
    axes.set_ylabel(kind, fontsize=11, color=_INK)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title("Category shares", fontsize=12, fontweight="bold", color=_INK, pad=32)
    axes.axvline(0.0, color=_INK, linewidth=1.0)
    draw, *bars = axes.get_legend_handles_labels()[0]  # matplotlib lists lines before bars
    placed: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4}
    axes.legend(handles=[*bars, draw], **placed, frameon=False, fontsize=10)
