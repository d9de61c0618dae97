"""What a category distribution costs: nothing inside a band, and below and above it a straight or a curved penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from excalibr._types import Floats


@dataclass(frozen=True, slots=True)
class Penalty:
    r"""What a category distribution p costs: nothing inside a band, a weight of its own below it and above it.

    Straight (``smoothing`` = 0), ``Σ_j below_j · max(low_j − p_j, 0) + above_j · max(p_j − high_j, 0)``, each array of
    shape (r,). The paper's λ·Σ|p_j − q_j| is ``low = high = q`` and ``below = above = λ``.

    Curved (``smoothing`` = α), each category costs its weight times

    .. math:: q \log\frac{q}{u} - q + u, \qquad u = (1-\alpha)(b + p) + \alpha q

    with q the nearer edge of the band plus ``base``, b. Summed over categories with equal weights this is
    :math:`\mathrm{KL}(q \,\|\, (1-\alpha)p + \alpha q)`.
    """

    low: Floats
    high: Floats
    below: Floats
    above: Floats
    smoothing: float = 0.0
    base: Floats | None = None

    def costs(self, shares: Floats) -> Floats:
        """What each category's share costs, for shares of shape (r,) or (…, r)."""
        lacking, surplus = np.maximum(self.low - shares, 0.0), np.maximum(shares - self.high, 0.0)
        if not self.smoothing:
            return np.asarray(self.below * lacking + self.above * surplus)
        return np.asarray(self.below * self._curved(self.low, -lacking) + self.above * self._curved(self.high, surplus))

    @property
    def price_offset(self) -> Floats | float:
        """How much lower the prices of a KL penalty are reported than its slopes: −w(1 − α)·q/u, not w(1 − α)(1 − q/u).

        The difference is the same for every candidate where weights are equal, and changes no ranking.
        """
        return (1.0 - self.smoothing) * self.above if self.smoothing else 0.0

    @property
    def price_of_nothing(self) -> Floats:
        """(r,) the reported price of a category of which nothing can be shown: the slope there that is nearest to 0."""
        lacking, surplus = self.low > 0.0, self.high < 0.0
        if not self.smoothing:
            return np.where(lacking, -self.below, np.where(surplus, self.above, 0.0))
        edge, base = np.where(lacking, self.low, np.minimum(self.high, 0.0)), 0.0 if self.base is None else self.base
        wanted = base + edge
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(wanted > 0.0, wanted / (base + self.smoothing * edge), 0.0)  # q/u
        free = ~lacking & (self.high > 0.0)
        return np.asarray(-(1.0 - self.smoothing) * self.above * np.where(free, 1.0, ratio))

    def _curved(self, edge: Floats, excess: Floats) -> Floats:
        """q·log(q/u) − q + u for shares that exceed an edge of the band by so much."""
        wanted = edge if self.base is None else edge + self.base
        change = (1.0 - self.smoothing) * excess
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.where(wanted > 0.0, wanted * np.log1p(change / wanted), 0.0)
        return np.asarray(change - logarithms)
