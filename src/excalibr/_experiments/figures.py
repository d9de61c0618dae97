"""The figures: a metric against KL, one line per method with error bars, laid out as the paper has them.

As PNG and SVG; a method has the same colour and marker everywhere. A method that ran on a sample has no curve beside
those of all users: it is in the figures of paired differences, on its own users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, L1, SHARES, Curves, MethodCurve, margins
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING, Plan, Setting
from excalibr._text import figure_text
from excalibr._types import Floats
from excalibr._writing import atomic_write
from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# Okabe and Ito's colours, which stay apart for every kind of colour blindness, and a marker each besides.
_STYLES = {
    "relevance": ("#000000", "*"),
    "greedy-simple": ("#E69F00", "v"),
    "greedy": ("#009E73", "s"),
    "greedy-projected": ("#7F3C8D", "h"),
    "mip-greedy": ("#CC79A7", "D"),
    "excalibr": ("#0072B2", "o"),
    "excalibr-kl": ("#D55E00", "^"),
    "single": ("#56B4E9", "P"),
    "single-kl": ("#8C6D1F", "X"),
}
_WEIGHTINGS = {"log": "1/log(i + 1)", "sqrt": "1/√i", "reciprocal": "1/i", "uniform": "equal"}
_NAMES = {
    "ndcg": "NDCG@{k}",
    "mrr": "MRR",
    KL: "KL of the expectation",
    L1: "L1 of the expectation",
    DRAW_KL: "KL of a draw, mean",
    DRAW_L1: "L1 of a draw, mean",
}
_PNG_DPI = 150


class FigureRow(NamedTuple):
    """A row of panels: the position weights, and the metrics across and up."""

    weighting: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a row of panels for each of ``rows``, a column for each attribute."""

    name: str  # of its files
    title: str  # above it; says which of the paper's figures it stands beside
    setting: Setting
    rows: tuple[FigureRow, ...]
    arms: tuple[str, ...]
    less: str = ""  # the arm that others are shown the paired difference from, at equal shares of the metric across


def figures_of(curves: Curves) -> Iterator[Figure]:
    """The paper's figures and the further ones, those of them that the experiment has curves for."""
    for figure in (*_paper_figures(), *_other_figures(curves)):
        rows = tuple(row for row in figure.rows if _has_curves(figure, curves, row.weighting))
        if rows:
            yield replace(figure, rows=rows)


def _has_curves(figure: Figure, curves: Curves, weighting: str) -> bool:
    """Whether a row of a figure has anything to show beside relevance only, or beside what others are compared with."""
    shown = {each.arm for each in curves if (each.weighting, each.setting) == (weighting, figure.setting)}
    return figure.less in ("", *shown) and bool(shown & set(figure.arms) - {"relevance", figure.less})


def write_figures(figures: Iterable[Figure], curves: Curves, folder: Path, kinds: Sequence[str]) -> None:
    """Write figures into a folder, as files of some kinds."""
    for figure in figures:
        drawing = draw(figure, curves)
        for kind in kinds:
            undated = {"Date": None} if kind == "svg" else {}  # so that the same picture has the same bytes
            with atomic_write(folder / f"{figure.name}.{kind}") as path, _settings():
                drawing.savefig(path, format=kind, dpi=_PNG_DPI, facecolor="white", metadata=undated)


def draw(figure: Figure, curves: Curves) -> Drawing:
    """A figure as matplotlib has it."""
    attributes = curves.attributes
    with _settings():
        from matplotlib.figure import Figure as Canvas

        size = (max(3.9 * len(attributes), 8.2), 3.1 * len(figure.rows) + 1.3)
        drawing = Canvas(figsize=size, layout="constrained")
        panels = drawing.subplots(len(figure.rows), len(attributes), squeeze=False)
        for row, panels_of_row in zip(figure.rows, panels, strict=True):
            for attribute, axes in zip(attributes, panels_of_row, strict=True):
                _draw_panel(axes, figure, row, curves, attribute)
                _label(axes, figure, row, attribute, first=attribute == attributes[0])
        _legend(drawing, panels)
        drawing.suptitle(figure.title, fontweight="bold", fontsize=12)
    return drawing


def _settings() -> Any:
    """Of matplotlib, while figures are drawn and written; with them the same figure has the same bytes."""
    with needs_extra("plot", "matplotlib"):
        from matplotlib import rc_context
    return rc_context({"svg.hashsalt": "excalibr", "font.size": 10})


_OF_PAPER = ("relevance", "greedy-simple", "greedy", "greedy-projected", "mip-greedy", "excalibr")
_LOTTERIES = ("relevance", "greedy", "greedy-projected", "mip-greedy", "excalibr", "excalibr-kl")
_LISTS = ("relevance", "greedy", "greedy-projected", "mip-greedy", "excalibr", "single", "single-kl")


def _paper_figures() -> Iterator[Figure]:
    """The paper's own, with the projected greedy beside its two."""
    for name, up, setting, weightings, where in (
        ("figure-1", "ndcg", PAPER_SETTING, ("log", "sqrt"), "the paper's Figure 1"),
        ("figure-2", "mrr", PAPER_SETTING, ("log",), "the paper's Figure 2"),
        ("figure-3", "ndcg", Setting(100, 100), ("log", "sqrt"), "the paper's Figure 3"),
        ("figure-4", "ndcg", PAPER_SETTING, ("reciprocal",), "the paper's Figure 4"),
        ("figure-n200", "ndcg", Setting(200, 100), ("log",), "in the paper's text"),
    ):
        rows = tuple(FigureRow(weighting, KL, up) for weighting in weightings)
        yield Figure(name, f"{up.upper()}, {_words(setting)} ({where})", setting, rows, _OF_PAPER)


def _other_figures(curves: Curves) -> Iterator[Figure]:
    """Our methods, paired differences, a list of few slots; and any setting that the paper does not have."""
    less, others = "NDCG less the projected greedy's, on the same users", (tuple(ARMS)[1:], "greedy-projected")
    own = [each for each in curves.settings if each not in Plan().settings]

    def figure(
        setting: Setting, name: str, title: str, xs: tuple[str, ...], arms: tuple[str, ...], less: str
    ) -> Figure:
        end = f"-{setting.candidates}-{setting.slots}" if setting in own else ""
        rows = tuple(FigureRow(curves.weighting, x, "ndcg") for x in xs)
        return Figure(f"figure-{name}{end}", f"{title}, {_words(setting)}", setting, rows, arms, less)

    for setting in (PAPER_SETTING, *own):
        yield figure(setting, "lotteries", "NDCG, lotteries of L1 and of KL", (KL, DRAW_KL), _LOTTERIES, "")
        yield figure(setting, "differences", less, (KL, L1), *others)
    for setting in (SLATE_SETTING, *(each for each in own if each.is_short)):
        draws = (DRAW_KL, DRAW_L1)
        yield figure(setting, "list", "One list: NDCG against what it shows", draws, _LISTS, "")
        yield figure(setting, "list-differences", f"One list: {less}", draws, *others)


def _words(setting: Setting) -> str:
    if setting.candidates == setting.slots:
        return f"n = k = {setting.slots}"
    return f"n = {setting.candidates}, k = {setting.slots}"


def _draw_panel(axes: Axes, figure: Figure, row: FigureRow, curves: Curves, attribute: str) -> None:
    found = [curves.get(attribute, row.weighting, figure.setting, arm) for arm in figure.arms if arm != figure.less]
    present = [curve for curve in found if curve is not None]
    base = curves.get(attribute, row.weighting, figure.setting, figure.less)
    if not figure.less:
        _draw_curves(axes, [curve for curve in present if curve.complete], row.x, row.y)
    elif base is not None:
        _draw_differences(axes, present, base, row.x, row.y)


def _draw_curves(axes: Axes, present: Sequence[MethodCurve], x: str, y: str) -> None:
    for number, curve in enumerate(present):
        across, up = curve.means[x], curve.means[y]
        how: dict[str, Any] = {"markersize": 12, "linestyle": "none", "zorder": 20}
        if ARMS[curve.arm].sweeps:  # from relevance only, the sweep's trade-off 0, without a point of its own
            start = [curve.start[x], across[0]], [curve.start[y], up[0]]
            axes.plot(*start, color=_STYLES[curve.arm][0], linewidth=1.4, zorder=3)
            how = {"zorder": 4 + number}
        _draw_points(axes, curve.arm, across, up, alpha=0.3, xerr=curve.errors[x], yerr=curve.errors[y], **how)
    points = np.concatenate([curve.means[y] for curve in present]) if present else np.empty(0)
    if not points[np.isfinite(points)].size:
        return
    margin = 0.08 * (float(np.nanmax(points) - np.nanmin(points)) or 0.1)
    margin += float(np.nan_to_num(present[0].errors[y].max()))
    axes.set_ylim(np.nanmin(points) - margin, np.nanmax(points) + margin)


def _draw_differences(axes: Axes, present: Sequence[MethodCurve], base: MethodCurve, x: str, y: str) -> None:
    """At equal shares of what relevance only has, two standard errors either way."""
    axes.axhline(0.0, color=_STYLES[base.arm][0], linewidth=1.4, label=base.label)
    shown = []
    for number, curve in enumerate(present):
        colour, marker = _STYLES[curve.arm]
        found = margins(curve, base, y, x)
        across = SHARES + 0.004 * (number - 0.5 * len(present))  # side by side
        _draw_points(axes, curve.arm, across, found.values, alpha=0.4, yerr=2 * found.errors)
        hollow: dict[str, Any] = {"color": "white", "markeredgecolor": colour, "markersize": 5, "zorder": 5}
        axes.plot(across[found.wide], found.values[found.wide], marker, **hollow)
        shown.append(found.values)
    sampled = [f"{curve.label}: {curve.users} users" for curve in present if not curve.complete]
    if sampled:
        axes.text(0.98, 0.02, "\n".join(sampled), transform=axes.transAxes, ha="right", va="bottom", fontsize=7)
    heights = np.concatenate([*shown, [0.0]])
    low, high = max(float(np.nanmin(heights)), -0.08), float(np.nanmax(heights))
    axes.set_ylim(low - 0.15 * (high - low) - 0.002, high + 0.15 * (high - low) + 0.002)


def _draw_points(axes: Axes, arm: str, across: Floats, up: Floats, *, alpha: float, **how: Any) -> None:
    """An arm's points in its colour and with its marker, with paler bars of their errors."""
    colour, marker = _STYLES[arm]
    style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.4, "elinewidth": 0.9}
    _, _, bars = axes.errorbar(across, up, label=ARMS[arm].label, **(style | how))
    for bar in bars:
        bar.set_alpha(alpha)


def _label(axes: Axes, figure: Figure, row: FigureRow, attribute: str, *, first: bool) -> None:
    axes.set_title(f"{figure_text(attribute)}, weights {_WEIGHTINGS[row.weighting]}", fontsize=10)
    axes.set_xlabel(_NAMES[row.x] + (" ÷ relevance only's" if figure.less else ""), fontsize=9)
    if first:
        axes.set_ylabel(_NAMES[row.y].format(k=figure.setting.slots) + (", difference" if figure.less else ""))
    axes.set_xlim(left=0.0)
    axes.locator_params(axis="x", nbins=6)  # numbers such as 0.175 would touch
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(drawing: Drawing, panels: Any) -> None:
    found: dict[str, Any] = {}
    for axes in panels.ravel():
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    order = [arm.label for arm in ARMS.values()]
    found = dict(sorted(found.items(), key=lambda each: order.index(each[0])))
    columns = min(max(2, int(drawing.get_figwidth() / 2.4)), len(found))
    drawing.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns, frameon=False)
