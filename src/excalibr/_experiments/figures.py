"""The figures: a metric against KL, one line a method with error bars, laid out as the paper has them.

Every figure comes twice, with the paper's methods alone and with ours, as PNG and SVG. A method has the same colour and
marker everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.curves import Curves, MethodCurve
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING, Setting
from excalibr._text import figure_text
from excalibr._writing import beside
from excalibr.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

__all__ = ["Figure", "draw", "figures_of", "write_figures"]

# Okabe and Ito's colours, which stay apart for every kind of colour blindness, and a marker each besides.
_STYLES = {
    "relevance": ("#000000", "*"),
    "greedy-simple": ("#E69F00", "v"),
    "greedy": ("#009E73", "s"),
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
    "kl_of_expectation": "KL of the expectation",
    "kl_of_draw_mean": "KL of a draw, mean",
    "l1_of_draw_mean": "L1 of a draw, mean",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a row of panels for each of ``rows`` (weighting, x, y), a column for each attribute.

    Attributes
    ----------
    name
        Of its files.
    title
        Above it; says which of the paper's figures it stands beside.
    setting
        Candidates and slots.
    rows
        (weighting, metric across, metric up) of each row.
    ours
        Whether it has our arms besides the paper's.
    only
        The arms, where it has just some of them.
    """

    name: str
    title: str
    setting: Setting
    rows: tuple[tuple[str, str, str], ...]
    ours: bool
    only: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """Its title, and whether it has further methods."""
        return self.title + (", with further methods" if self.ours and not self.only else "")

    @property
    def arms(self) -> list[str]:
        """Names of the arms in it."""
        return list(self.only) or [name for name, arm in ARMS.items() if arm.of_paper or self.ours]


def figures_of(curves: Curves) -> Iterator[Figure]:
    """The paper's figures and the further ones, those of them that the experiment has curves for."""
    wanted = [*_paper_figures(), *_other_figures(curves)]
    weightings, settings = curves.weightings, curves.settings
    for figure in wanted:
        rows = tuple(row for row in figure.rows if row[0] in weightings)
        if figure.setting in settings and rows:
            yield replace(figure, rows=rows)


def write_figures(curves: Curves, folder: Path, *, only: Sequence[str] | None = None, svg: bool = True) -> list[Path]:
    """Write figures into a folder, all of them or those named; returns the PNG files."""
    written = []
    for figure in figures_of(curves):
        if only is not None and figure.name not in only:
            continue
        drawing = draw(figure, curves)
        for kind in ("png", "svg") if svg else ("png",):
            with beside(folder / f"{figure.name}.{kind}") as path, _settings():
                drawing.savefig(path, format=kind, dpi=90, facecolor="white", metadata=_undated(kind))
                if kind == "png":
                    _with_fewer_colours(path)
        written.append(folder / f"{figure.name}.png")
    return written


def draw(figure: Figure, curves: Curves) -> Drawing:
    """A figure as matplotlib has it."""
    attributes = curves.attributes
    with _settings():
        from matplotlib.figure import Figure as Canvas

        size = (max(3.9 * len(attributes), 7.0), 3.1 * len(figure.rows) + 1.1)
        drawing = Canvas(figsize=size, layout="constrained")
        panels = drawing.subplots(len(figure.rows), len(attributes), squeeze=False)
        for row, (weighting, x, y) in enumerate(figure.rows):
            for column, attribute in enumerate(attributes):
                axes = panels[row][column]
                _draw_panel(axes, figure, curves, attribute, weighting, x, y)
                _label(axes, figure, attribute, weighting, x, y, first=column == 0)
        _legend(drawing, panels)
        drawing.suptitle(figure.caption, fontweight="bold", fontsize=12)
    return drawing


def _settings() -> Any:
    """Of matplotlib, while figures are drawn and written; with them the same figure has the same bytes."""
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError:
        raise missing_extra("matplotlib", "plot") from None
    return rc_context({"svg.hashsalt": "excalibr", "font.size": 10})


def _paper_figures() -> Iterator[Figure]:
    kl, both = "kl_of_expectation", ("log", "sqrt")
    for ours in (False, True):
        end = "-with-ours" if ours else ""
        yield _figure("figure-1", "NDCG, {s} (the paper's Figure 1)", PAPER_SETTING, both, kl, "ndcg", ours, end)
        yield _figure("figure-2", "MRR, {s} (the paper's Figure 2)", PAPER_SETTING, ("log",), kl, "mrr", ours, end)
        equal = Setting(100, 100)
        yield _figure("figure-3", "NDCG, {s} (the paper's Figure 3)", equal, both, kl, "ndcg", ours, end)
        last = ("reciprocal",)
        yield _figure("figure-4", "NDCG, {s} (the paper's Figure 4)", PAPER_SETTING, last, kl, "ndcg", ours, end)
        wide = Setting(200, 100)
        yield _figure("figure-n200", "NDCG, {s} (in the paper's text)", wide, ("log",), kl, "ndcg", ours, end)


def _other_figures(curves: Curves) -> Iterator[Figure]:
    """A slate of few slots, of the expectation and of a draw; and any setting that the paper does not have."""
    title = f"One list: NDCG against what it shows, {_words(SLATE_SETTING)}"
    lists = tuple(("log", across, "ndcg") for across in ("l1_of_draw_mean", "kl_of_draw_mean"))
    compared = ("relevance", "greedy", "excalibr", "single", "single-kl")
    yield Figure("figure-list", title, SLATE_SETTING, lists, True, compared)
    rows = tuple(("log", across, "ndcg") for across in ("kl_of_expectation", "kl_of_draw_mean"))
    for ours in (False, True):
        end = "-with-ours" if ours else ""
        yield Figure(f"figure-k10{end}", f"A slate: NDCG, {_words(SLATE_SETTING)}", SLATE_SETTING, rows, ours)
        row = (("log", "kl_of_draw_mean", "ndcg"),)
        title = f"NDCG against what one draw gets, {_words(PAPER_SETTING)}"
        yield Figure(f"figure-draw{end}", title, PAPER_SETTING, row, ours)
        known = (PAPER_SETTING, SLATE_SETTING, Setting(100, 100), Setting(200, 100))
        for setting in (each for each in curves.settings if each not in known):
            name = f"figure-{setting.candidates}-{setting.slots}{end}"
            every = tuple((weighting, "kl_of_expectation", "ndcg") for weighting in curves.weightings)
            yield Figure(name, f"NDCG, {_words(setting)}", setting, every, ours)


def _figure(
    name: str, title: str, setting: Setting, weightings: Sequence[str], x: str, y: str, ours: bool, end: str
) -> Figure:
    rows = tuple((weighting, x, y) for weighting in weightings)
    return Figure(name + end, title.format(s=_words(setting)), setting, rows, ours)


def _words(setting: Setting) -> str:
    if setting.candidates == setting.slots:
        return f"n = k = {setting.slots}"
    return f"n = {setting.candidates}, k = {setting.slots}"


def _draw_panel(axes: Axes, figure: Figure, curves: Curves, attribute: str, weighting: str, x: str, y: str) -> None:
    found = [curves.get(attribute, weighting, figure.setting, arm) for arm in figure.arms]
    present = [curve for curve in found if curve is not None]
    for number, curve in enumerate(present):
        _draw_curve(axes, curve, x, y, order=number)
    # The bars of a small sample would flatten everything else: the range is that of the points.
    points = np.concatenate([curve.means[y] for curve in present])
    points = points[np.isfinite(points)]  # a sample of one user can have a mean that is not defined
    if not points.size:
        return
    margin = 0.08 * (float(np.ptp(points)) or 0.1) + float(np.nan_to_num(present[0].errors[y].max()))
    axes.set_ylim(points.min() - margin, points.max() + margin)


def _draw_curve(axes: Axes, curve: MethodCurve, x: str, y: str, order: int) -> None:
    colour, marker = _STYLES[curve.arm]
    single = len(curve.trade_offs) == 1
    across, up = curve.means[x], curve.means[y]
    if not single:  # from relevance only, which is the sweep's trade-off 0, without a point of its own
        axes.plot([curve.start[x], *across[:1]], [curve.start[y], *up[:1]], color=colour, linewidth=1.4, zorder=3)
    _, _, bars = axes.errorbar(
        across,
        up,
        xerr=curve.errors[x],
        yerr=curve.errors[y],
        label=_label_of(curve),
        color=colour,
        marker=marker,
        markersize=12 if single else 5,
        linestyle="none" if single else "-",
        linewidth=1.4,
        elinewidth=0.9,
        zorder=20 if single else 4 + order,
    )
    for bar in bars:
        bar.set_alpha(0.3)


def _label_of(curve: MethodCurve) -> str:
    sampled = ARMS[curve.arm].sample_with(curve.setting.slots)
    return ARMS[curve.arm].label + (f" ({curve.users} users)" if sampled else "")


def _label(axes: Axes, figure: Figure, attribute: str, weighting: str, x: str, y: str, *, first: bool) -> None:
    axes.set_title(f"{figure_text(attribute)}, weights {_WEIGHTINGS.get(weighting, weighting)}", fontsize=10)
    axes.set_xlabel(_NAMES.get(x, x))
    if first:
        axes.set_ylabel(_NAMES.get(y, y).format(k=figure.setting.slots))
    axes.set_xlim(left=0.0)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(drawing: Drawing, panels: Any) -> None:
    found: dict[str, Any] = {}
    for axes in panels.ravel():
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    drawing.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(4, len(found)), frameon=False
    )


def _with_fewer_colours(path: Path) -> None:
    """A palette instead of full colours, which a plot does not need: a third of the size."""
    from PIL import Image  # matplotlib brings it

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)


def _undated(kind: str) -> dict[str, None]:
    """No date in the file, so that the same picture has the same bytes."""
    return {"Date": None} if kind == "svg" else {}
