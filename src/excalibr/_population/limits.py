"""Limits of everybody's shares that no lotteries keep: which conflict, proven, and how near one can get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._population.balancing import Balanced, balance_crowd, limit_slack
from excalibr._population.terms import Terms
from excalibr._types import Floats
from excalibr.errors import InfeasibleError, SolverError

TOLERANCE = 1e-4
MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Conflict:
    """Limits that were missed: by how much, at least where that is proven, and at what prices."""

    terms: Terms
    prices: Floats
    shares: Floats
    missed: float
    proven: bool

    def error(self, labels: list[tuple[str, str]]) -> InfeasibleError | SolverError:
        """What to raise; ``labels`` are attribute and category of each group."""
        if not self.proven:
            found = f"a limit of a group is missed by {self.missed:.3g} after the passes that were allowed"
            return SolverError(f"{found}. Hint: raise max_passes.")
        order = np.argsort(-np.abs(self.prices), kind="stable")
        against = [number for number in order.tolist() if abs(self.prices[number]) > 1e-9][:MOST_NAMED]
        named = ", ".join(self._text(number, labels) for number in against)
        text = f"no lotteries of all users keep these limits together: {named}"
        return InfeasibleError(f"{text}. The nearest miss them by {self.missed:.4g} in all.")

    def _text(self, number: int, labels: list[tuple[str, str]]) -> str:
        attribute, category = labels[self.terms.groups[number]]
        kind = "floor" if self.terms.signs[number] < 0 else "cap"
        reached = self.shares[self.terms.groups[number]]
        return f"{kind} {self.terms.edges[number]:g} of {attribute} {category!r} (nearest {reached:.4g})"


def conflict_of(crowd: Any, found: Balanced, tolerance: float) -> Conflict | None:
    """None where the mixture keeps the limits; otherwise what a search for the limits alone says."""
    missed = found.terms.missed(found.mixed.shares)
    if missed <= limit_slack(tolerance):
        return None
    terms = found.terms.limits_alone()
    nearest = balance_crowd(crowd.without_scores(), terms, tolerance=TOLERANCE, max_passes=30)
    proven = nearest.bound < -limit_slack(tolerance)
    best = int(np.argmin([each.value + terms.edge_value(own) for each, own in _pairs(nearest)]))
    return Conflict(terms, nearest.prices[best], nearest.mixed.shares, -nearest.objective if proven else missed, proven)


def _pairs(found: Balanced) -> list[tuple[Any, Floats]]:
    return list(zip(found.passes, found.prices, strict=True))
