"""What a solve took."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SolveInfo"]


class SolveInfo(NamedTuple):
    """What a solve by the exact method took.

    Attributes
    ----------
    engine
        Which engine found the answer: "simplex" (column generation), "proximal" (Newton steps in exposure space),
        "interior" (column generation with an interior-point master), or "none" where nothing was left to decide.
    sorts
        How often the candidates were sorted, in all engines together.
    steps
        Pivots, Newton steps and interior-point steps, in all engines together.
    status
        "converged": the tolerance is proven; "sorts spent": ``max_sorts`` was reached first; "stalled": rounding left
        no room for more. The gap is proven in every case.
    seconds
        Time in the kernel.
    allowed_gap
        The gap that was asked: ``tolerance`` · (1 − λ)·(max s − min s), or, if larger, 1e-13 of the largest price;
        infinite for single and even draws, which have a gap to the best lottery by their nature.
    """

    engine: str
    sorts: int
    steps: int
    status: str
    seconds: float
    allowed_gap: float
