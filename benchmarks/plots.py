"""The page's pictures: headline ratios, growth, and how the kernel's times are spread. Made from results alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.plan import ROWS
from benchmarks.results import GrowthPoint, Results
from benchmarks.run import headline_ratios

__all__ = ["draw"]

BLUE, ORANGE, GREY = "#1b6ca8", "#d1762a", "#777777"
SIZE = {"dpi": 110}
AXES = ("n", "k", "r", "λ")


def draw(results: Results, folder: Path) -> list[str]:
    """Draw what the results have; returns the names of the files."""
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, picture in (("ratios", _ratios), ("growth", _growth), ("spread", _spread)):
        figure = picture(results)
        if figure is not None:
            figure.savefig(folder / f"benchmarks-{name}.png", **SIZE)
            _pyplot().close(figure)
            made.append(f"benchmarks-{name}.png")
    return made


def _pyplot() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot


def _plain_logarithms(axis: Any, *, coarse: bool = False) -> None:
    """Numbers as people write them, at 1, 2 and 5 of every power of ten, or at the powers alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0,) if coarse else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"))
    axis.set_minor_locator(NullLocator())


def _ratios(results: Results) -> Any:
    """Each promised row: the ratio with its interval, and what was to be reached."""
    found = headline_ratios(results)
    rows = [row for row in ROWS if row.name in found][::-1]
    if not rows:
        return None
    figure, axes = _pyplot().subplots(figsize=(7.2, 0.9 + 0.5 * len(rows)), layout="constrained")
    axes.set_xscale("log")
    places = np.arange(len(rows))
    values = [found[row.name] for row in rows]
    spans = [[each.value - each.low for each in values], [each.high - each.value for each in values]]
    axes.errorbar(
        [each.value for each in values], places, xerr=spans, fmt="o", color=BLUE, capsize=4, label="measured, 95 %"
    )
    axes.plot(
        [row.promised for row in rows], places, "|", color=ORANGE, markersize=18, markeredgewidth=2.5, label="target"
    )
    _plain_logarithms(axes.xaxis)
    axes.set_yticks(places, [f"{row.name}  ({'GLOP' if row.peer == 'glop' else 'HiGHS'})" for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("times as long as calibrate (n, k, r on the left)")
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.legend(
        loc="upper left", fontsize=8, frameon=False, ncols=2, bbox_to_anchor=(0.0, 1.12 + 0.02 * (6 - len(rows)))
    )
    return figure


def _growth(results: Results) -> Any:
    """Time and sorts along each axis."""
    if not results.growth:
        return None
    figure, panels = _pyplot().subplots(1, len(AXES), figsize=(11.0, 3.1), layout="constrained")
    for axis, panel in zip(AXES, panels, strict=True):
        points = [point for point in results.growth if point.axis == axis]
        _panel(panel, axis, points)
    panels[0].set_ylabel("milliseconds a call", color=BLUE)
    return figure


def _panel(panel: Any, axis: str, points: list[GrowthPoint]) -> None:
    values = [point.value for point in points]
    panel.plot(values, [1e3 * np.mean(point.seconds) for point in points], "o-", color=BLUE, markersize=4)
    panel.set_xlabel(axis)
    if axis != "λ":
        panel.set_xscale("log")
        panel.set_yscale("log")
        _plain_logarithms(panel.xaxis, coarse=axis == "n")
        _plain_logarithms(panel.yaxis)
    else:
        panel.set_ylim(bottom=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.tick_params(axis="y", colors=BLUE, labelsize=8)
    sorts = panel.twinx()
    sorts.plot(values, [np.mean(point.sorts) for point in points], "s--", color=ORANGE, markersize=3.5, alpha=0.9)
    sorts.set_ylim(bottom=0)
    sorts.tick_params(axis="y", colors=ORANGE, labelsize=8)
    sorts.set_title("sorts", loc="right", fontsize=9, color=ORANGE)
    panel.grid(alpha=0.25)


def _spread(results: Results) -> Any:
    """The share of solves that the kernel finishes within a time, for each set of films."""
    sets = results.of_kind("kernel")
    if not sets:
        return None
    figure, axes = _pyplot().subplots(figsize=(7.2, 3.6), layout="constrained")
    axes.set_xscale("log")
    for each in sets:
        times = np.sort(1e3 * np.median(each.seconds["kernel"], axis=1))
        axes.step(times, np.arange(1, len(times) + 1) / len(times), where="post", label=each.name)
    _plain_logarithms(axes.xaxis)
    axes.axhline(0.99, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate(
        "99 %", (axes.get_xlim()[0], 0.99), fontsize=8, color=GREY, va="top", xytext=(3, -2), textcoords="offset points"
    )
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("milliseconds, the kernel alone")
    axes.set_ylabel("share of solves")
    axes.grid(which="both", alpha=0.2)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
