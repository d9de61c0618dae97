r"""What is wanted of the groups' shares of everybody's exposure, as prices within bounds.

A term j has a group g, a sign σ, an edge and bounds l ≤ 0 ≤ h of its price v. A share P of the group costs

.. math:: \max_{l \le v \le h} v\,\sigma\,(P - \text{edge}),

so that a target is one term (σ = 1, from −Λ to Λ), a band two, a floor one with σ = −1 and a cap one with σ = 1, their
prices without a ceiling but for a steep one. The conjugate of all is Σ σ·edge·v, whatever the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from excalibr._arrays import sums_by
from excalibr._types import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of G groups.

    Attributes
    ----------
    groups
        (J,) the group of each term.
    signs, edges
        (J,) σ and the edge from which a share costs.
    lowest, highest
        (J,) the bounds of the price.
    hard
        (J,) whether it is a limit, whose bound stands for none.
    n_groups
        G.
    """

    groups: Integers
    signs: Floats
    edges: Floats
    lowest: Floats
    highest: Floats
    hard: Booleans
    n_groups: int

    def __len__(self) -> int:
        return len(self.groups)

    def group_prices(self, prices: Floats) -> Floats:
        """(G,) what a unit of exposure of each group costs, from the prices of the terms."""
        return sums_by(self.groups, self.signs * prices, self.n_groups)

    def misses(self, shares: Floats) -> Floats:
        """(J,) σ·(P − edge): above 0 where the share is on the side that costs."""
        return np.asarray(self.signs * (shares[self.groups] - self.edges))

    def cost(self, shares: Floats) -> float:
        """What the groups' shares cost."""
        misses = self.misses(shares)
        return float(np.maximum(self.lowest * misses, self.highest * misses).sum())

    def edge_value(self, prices: Floats) -> float:
        """Σ σ·edge·v, the groups' part of the bound."""
        return float((self.signs * self.edges) @ prices)

    def missed(self, shares: Floats) -> float:
        """By how much the limits are missed at most."""
        return float(np.maximum(self.misses(shares)[self.hard], 0.0).max(initial=0.0))

    def with_steepness(self, steepness: float) -> Terms:
        """The same with this bound for the prices of limits."""
        return replace(self, highest=np.where(self.hard, steepness, self.highest))

    def limits_alone(self) -> Terms:
        """Only the limits, each unit that they are missed by costing 1."""
        kept = self.hard
        ones = np.ones(int(kept.sum()))
        parts = (self.groups[kept], self.signs[kept], self.edges[kept], 0.0 * ones, ones, ~kept[kept])
        return Terms(*parts, self.n_groups)


def target_terms(groups: Integers, low: Floats, high: Floats, weights: Floats, n_groups: int) -> Terms:
    """Targets, or bands where the edges differ: a unit below or above costs the group's weight."""
    point = low == high
    band = ~point
    zeros = np.zeros(int(band.sum()))
    return Terms(
        groups=np.concatenate([groups[point], groups[band], groups[band]]),
        signs=np.concatenate([np.ones(int(point.sum())), zeros + 1.0, zeros - 1.0]),
        edges=np.concatenate([low[point], high[band], low[band]]),
        lowest=np.concatenate([-weights[point], zeros, zeros]),
        highest=np.concatenate([weights[point], weights[band], weights[band]]),
        hard=np.zeros(int(point.sum()) + 2 * len(zeros), dtype=np.bool_),
        n_groups=n_groups,
    )


def limit_terms(groups: Integers, edges: Floats, sign: float, n_groups: int) -> Terms:
    """Floors (sign −1) or caps (sign 1), with a steepness to be set."""
    count = len(groups)
    hard = np.ones(count, dtype=np.bool_)
    return Terms(groups, np.full(count, sign), edges, np.zeros(count), np.ones(count), hard, n_groups)


def join_terms(parts: list[Terms]) -> Terms:
    """The terms of all, of the same groups."""
    return Terms(
        groups=np.concatenate([part.groups for part in parts]),
        signs=np.concatenate([part.signs for part in parts]),
        edges=np.concatenate([part.edges for part in parts]),
        lowest=np.concatenate([part.lowest for part in parts]),
        highest=np.concatenate([part.highest for part in parts]),
        hard=np.concatenate([part.hard for part in parts]),
        n_groups=parts[0].n_groups,
    )
