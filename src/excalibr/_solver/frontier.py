"""The whole frontier: the exact curve between relevance and deviation as a polyline with a certified distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._policy import Policy
from excalibr._solver import Curve, solve
from excalibr._types import Floats
from excalibr.errors import InputError, explain, needs_extra

__all__ = ["Frontier"]


@dataclass(frozen=True, eq=False)
class Frontier:
    """The trade-off between relevance and deviation of one user, from pure relevance to the least deviation.

    Attributes
    ----------
    relevance, deviation
        (m,) the vertices of the curve, both falling. Deviation is in the divergence and weights that were asked for.
    trade_offs
        (m,) the smallest λ at which each vertex is the best of them; the first is 0.
    policies
        The optimal policy of each vertex.
    error
        What was certified: no point of the true curve is further than this from the polyline, with deviation as it is
        and relevance in units of the spread of the scores.
    solves
        How many programs were solved for it.
    """

    relevance: Floats
    deviation: Floats
    trade_offs: Floats
    policies: tuple[Policy, ...]
    error: float
    solves: int
    curve: Curve

    def at(self, trade_off: float) -> Policy:
        """The exact optimum at any λ."""
        return self.curve.at(trade_off).policy

    def within(self, *, relevance_loss: float | None = None, max_deviation: float | None = None) -> Policy:
        """The exact optimum for a budget: the best calibrated for a loss, or the most relevant within a deviation."""
        if (relevance_loss is None) == (max_deviation is None):
            raise InputError(
                explain("relevance_loss and max_deviation", "are both given or both left out", "be one of the two")
            )
        budget = {"trade_off": None, "relevance_loss": relevance_loss, "max_deviation": max_deviation}
        return solve(self.curve.problem.asking(**budget))

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve on matplotlib axes, or on new ones; returns them."""
        with needs_extra("plot", "matplotlib"):
            import matplotlib.pyplot as plt
        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        axes.plot(self.deviation, self.relevance, color="#1b6ca8", linewidth=2, marker="o", markersize=4)
        for place in _labelled(self.trade_offs):
            axes.annotate(
                f"λ = {self.trade_offs[place]:.2g}",
                (self.deviation[place], self.relevance[place]),
                xytext=(8, -10),
                textcoords="offset points",
                fontsize=8,
                color="#555555",
            )
        axes.set_xlabel("deviation from the target")
        axes.set_ylabel("relevance")
        axes.set_title(f"{len(self.relevance)} vertices, exact to {self.error:.1g}", fontsize=10)
        axes.grid(alpha=0.3)
        return axes

    def _repr_html_(self) -> str:
        from excalibr._grid import MOST_ROWS, grid_of, html_of, numbers

        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), MOST_ROWS)).round().astype(int))
        relevance, deviation = self.relevance[shown], self.deviation[shown]
        columns = {
            "from λ": numbers(self.trade_offs[shown]),
            "relevance": numbers(relevance),
            "deviation": numbers(deviation),
        }
        bars = {name: _part(values) for name, values in (("relevance", relevance), ("deviation", deviation))}
        headline = f"The frontier: {len(self)} vertices, exact to {self.error:.1g}"
        return html_of(headline, grid_of(columns, (), len(self) - len(shown), bars=bars))

    def __len__(self) -> int:
        return len(self.relevance)

    def __repr__(self) -> str:
        return (
            f"Frontier({len(self)} vertices, relevance {self.relevance[0]:.6g} to {self.relevance[-1]:.6g}, "
            f"deviation {self.deviation[0]:.6g} to {self.deviation[-1]:.6g}, error {self.error:.1e}, "
            f"{self.solves} solves)"
        )


def _part(values: Floats) -> Floats:
    """How far up each is from the least of them, or from 0, to the largest."""
    least = min(float(values.min()), 0.0)
    spread = float(values.max()) - least
    return (values - least) / spread if spread > 0.0 else np.zeros(len(values))


def _labelled(trade_offs: Floats) -> list[int]:
    """A few vertices, evenly spread, with the first and the last."""
    return sorted({round(place) for place in np.linspace(0, len(trade_offs) - 1, 6)})
