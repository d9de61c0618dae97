"""Limits on everybody's shares that no lotteries keep: which conflict, proven, and how near one can get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._messages import Message, Option
from excalibr._population.column_generation import BalanceSolution, balance_population, limit_tolerance
from excalibr._population.coupling import CouplingTerms
from excalibr._types import Floats
from excalibr.errors import InfeasibleError, SolverError

TOLERANCE = 1e-4
MAX_PASSES = 30
MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Conflict:
    """Limits that were missed: by how much, at least where that is proven, and at what prices."""

    terms: CouplingTerms
    prices: Floats
    shares: Floats
    missed: float
    proven: bool

    def error(self, labels: list[tuple[str, str]]) -> InfeasibleError | SolverError:
        """What to raise; ``labels`` are attribute and category of each group."""
        if not self.proven:
            found = f"a limit of a group is missed by {self.missed:.3g} after the passes that were allowed"
            return SolverError(Message(f"{found}. Hint: raise ", Option("max_passes"), "."))
        order = np.argsort(-np.abs(self.prices), kind="stable")
        conflicting = [number for number in order.tolist() if abs(self.prices[number]) > 1e-9][:MOST_NAMED]
        named = ", ".join(self._text(number, labels) for number in conflicting)
        text = f"no lotteries of all users keep these limits together: {named}"
        return InfeasibleError(f"{text}. The nearest miss them by {self.missed:.4g} in all.")

    def _text(self, number: int, labels: list[tuple[str, str]]) -> str:
        attribute, category = labels[self.terms.groups[number]]
        kind = "floor" if self.terms.signs[number] < 0 else "cap"
        reached = self.shares[self.terms.groups[number]]
        return f"{kind} {self.terms.thresholds[number]:g} of {attribute} {category!r} (nearest {reached:.4g})"


def find_conflict(population: Any, found: BalanceSolution, tolerance: float) -> Conflict | None:
    """None where the primal solution keeps the limits; otherwise what a search with the limits alone proves."""
    missed = found.terms.violation(found.primal.shares)
    if missed <= limit_tolerance(tolerance):
        return None
    terms = found.terms.only_limits()
    nearest = balance_population(population.without_scores(), terms, tolerance=TOLERANCE, max_passes=MAX_PASSES)
    proven = nearest.bound < -limit_tolerance(tolerance)
    pairs = zip(nearest.passes, nearest.prices, strict=True)
    best = int(np.argmin([each.bound + terms.threshold_value(prices) for each, prices in pairs]))
    return Conflict(
        terms, nearest.prices[best], nearest.primal.shares, -nearest.objective if proven else missed, proven
    )
