r"""What couples the users: penalties and limits on the groups' shares of everybody's exposure, each with a dual price.

A term j has a group g, a sign σ, a threshold τ and bounds l ≤ 0 ≤ h of its dual price v. A share P of the group costs

.. math:: \max_{l \le v \le h} v\,\sigma\,(P - \tau),

so that a target is one term (σ = 1, from −Λ to Λ), a band two, a floor one with σ = −1 and a cap one with σ = 1. The
prices of floors and caps have no upper bound; a large penalty stands for it. The conjugate of all is Σ σ·τ·v, whatever
the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from excalibr._arrays import sums_by
from excalibr._types import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class CouplingTerms:
    """The coupling terms of G groups.

    Attributes
    ----------
    groups
        (J,) the group of each term.
    signs, thresholds
        (J,) σ and the share from which the term costs.
    lowest, highest
        (J,) the bounds of the dual price.
    hard
        (J,) whether it is a limit, whose upper bound stands for none.
    n_groups
        G.
    """

    groups: Integers
    signs: Floats
    thresholds: Floats
    lowest: Floats
    highest: Floats
    hard: Booleans
    n_groups: int

    def __len__(self) -> int:
        return len(self.groups)

    def group_prices(self, prices: Floats) -> Floats:
        """(G,) what a unit of exposure of each group costs, from the prices of the terms."""
        return sums_by(self.groups, self.signs * prices, self.n_groups)

    def residuals(self, shares: Floats) -> Floats:
        """(J,) σ·(P − τ): above 0 where the share is on the side that costs."""
        return np.asarray(self.signs * (shares[self.groups] - self.thresholds))

    def penalty(self, shares: Floats) -> float:
        """The penalty on the groups' shares."""
        residuals = self.residuals(shares)
        return float(np.maximum(self.lowest * residuals, self.highest * residuals).sum())

    def threshold_value(self, prices: Floats) -> float:
        """Σ σ·τ·v, the groups' part of the dual bound."""
        return float((self.signs * self.thresholds) @ prices)

    def violation(self, shares: Floats) -> float:
        """By how much the limit that is missed most is missed."""
        return float(np.maximum(self.residuals(shares)[self.hard], 0.0).max(initial=0.0))

    def scaled(self, factor: float) -> CouplingTerms:
        """The same with prices and penalties in another unit."""
        return replace(self, lowest=factor * self.lowest, highest=factor * self.highest)

    def with_limit_penalty(self, penalty: float) -> CouplingTerms:
        """The same with this upper bound for the prices of limits: a unit of violation costs as much."""
        return replace(self, highest=np.where(self.hard, penalty, self.highest))

    def only_limits(self) -> CouplingTerms:
        """Only the limits, with a penalty of 1 for a unit of violation."""
        kept = self.hard
        ones = np.ones(int(kept.sum()))
        parts = (self.groups[kept], self.signs[kept], self.thresholds[kept], 0.0 * ones, ones, ~kept[kept])
        return CouplingTerms(*parts, self.n_groups)


def target_terms(groups: Integers, low: Floats, high: Floats, weights: Floats, n_groups: int) -> CouplingTerms:
    """Targets, or bands where low and high differ: a unit below or above costs the group's weight."""
    point = low == high
    band = ~point
    zeros = np.zeros(int(band.sum()))
    return CouplingTerms(
        groups=np.concatenate([groups[point], groups[band], groups[band]]),
        signs=np.concatenate([np.ones(int(point.sum())), zeros + 1.0, zeros - 1.0]),
        thresholds=np.concatenate([low[point], high[band], low[band]]),
        lowest=np.concatenate([-weights[point], zeros, zeros]),
        highest=np.concatenate([weights[point], weights[band], weights[band]]),
        hard=np.zeros(int(point.sum()) + 2 * len(zeros), dtype=np.bool_),
        n_groups=n_groups,
    )


def limit_terms(groups: Integers, thresholds: Floats, sign: float, n_groups: int) -> CouplingTerms:
    """Floors (sign −1) or caps (sign 1), whose penalty is still to be set."""
    count = len(groups)
    hard = np.ones(count, dtype=np.bool_)
    return CouplingTerms(groups, np.full(count, sign), thresholds, np.zeros(count), np.ones(count), hard, n_groups)


def join_terms(parts: list[CouplingTerms]) -> CouplingTerms:
    """The terms of all, of the same groups."""
    arrays = ("groups", "signs", "thresholds", "lowest", "highest", "hard")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays}
    return CouplingTerms(**joined, n_groups=parts[0].n_groups)
