"""One category's penalty and its dual, number by number: straight on both sides of a band, or curved like KL.

Symbols: t share, y price, l and h the band, w⁻ and w⁺ the weights below and above it, α smoothing, b what was there
before (it only matters where the penalty is curved; elsewhere it is part of the band).

    straight (α = 0)   φ(t) = w⁻·max(l − t, 0) + w⁺·max(t − h, 0)
    curved   (α > 0)   φ(t) = w·(q·log(q/u) − q + u),  q = b + l below the band, b + h above it,
                       u = (1 − α)·(b + t) + α·q,      w = w⁻ or w⁺

Summed over categories with equal weights, b = 0 and l = h = q, the curved one is w·KL(q ‖ (1 − α)·p + α·q).
"""

from __future__ import annotations

import math

from excalibr._jit import lean

__all__ = ["cost_of_share", "dual_of_price", "highest_price", "lowest_price", "share_at_price", "softness_at_price"]


@lean
def cost_of_share(
    share: float, low: float, high: float, below: float, above: float, smoothing: float, base: float
) -> float:
    """φ(t)."""
    if low <= share <= high:
        return 0.0
    edge = low if share < low else high
    weight = below if share < low else above
    if smoothing == 0.0:
        return weight * abs(share - edge)
    wanted = base + edge
    seen = base + (1.0 - smoothing) * share + smoothing * edge
    if wanted <= 0.0:
        return weight * seen
    return weight * (wanted * math.log(wanted / seen) - wanted + seen)


@lean
def dual_of_price(
    price: float, low: float, high: float, below: float, above: float, smoothing: float, base: float
) -> float:
    """φ*(y) = max over t of y·t − φ(t), for a price within its limits."""
    edge = high if price > 0.0 else low
    if smoothing == 0.0 or price == 0.0 or base + edge <= 0.0:
        return edge * price
    weight = above if price > 0.0 else below
    wanted = base + edge
    thinning = 1.0 - price / (weight * (1.0 - smoothing))
    share = (wanted / thinning - base - smoothing * edge) / (1.0 - smoothing)
    return price * share - weight * wanted * (math.log(thinning) - 1.0 + 1.0 / thinning)


@lean
def share_at_price(
    price: float, low: float, high: float, below: float, above: float, smoothing: float, base: float
) -> float:
    """The t of that maximum, the derivative of φ*; at a price of 0 the upper side of the band."""
    edge = low if price < 0.0 else high
    if smoothing == 0.0 or price == 0.0 or base + edge <= 0.0:
        return edge
    weight = above if price > 0.0 else below
    thinning = 1.0 - price / (weight * (1.0 - smoothing))
    return ((base + edge) / thinning - base - smoothing * edge) / (1.0 - smoothing)


@lean
def softness_at_price(
    price: float, low: float, high: float, below: float, above: float, smoothing: float, base: float
) -> float:
    """How quickly that share moves with the price, the second derivative of φ*; 0 where the penalty is straight."""
    edge = low if price < 0.0 else high
    weight = below if price < 0.0 else above
    if smoothing == 0.0 or base + edge <= 0.0 or weight == 0.0:
        return 0.0
    thinning = 1.0 - price / (weight * (1.0 - smoothing))
    return (base + edge) / (thinning * thinning * weight * (1.0 - smoothing) * (1.0 - smoothing))


@lean
def lowest_price(low: float, below: float, smoothing: float, base: float) -> float:
    """The slope of φ where nothing is shown (t = 0): no lower price can be the best."""
    if smoothing == 0.0:
        return -below
    if low <= 0.0:
        return 0.0
    return below * (1.0 - smoothing) * (1.0 - (base + low) / (base + smoothing * low))


@lean
def highest_price(high: float, above: float, smoothing: float, base: float) -> float:
    """The slope of φ where nothing else is shown (t = 1): no higher price can be the best."""
    if smoothing == 0.0:
        return above
    if high >= 1.0:
        return 0.0
    return above * (1.0 - smoothing) * (1.0 - (base + high) / (base + 1.0 - smoothing + smoothing * high))
