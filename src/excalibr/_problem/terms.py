"""What can be asked beyond the paper: several attributes, bands, weights, limits, groups, pinned items, earlier pages.

:class:`Terms` holds it in checked form, beside the scores and rows of a :class:`Problem`. The readers
of what callers write are in :mod:`excalibr._problem.reading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, numbers
from excalibr._problem.checks import WIDEST_BAND, without_negligible
from excalibr._problem.memberships import CategoriesLike
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, explain

__all__ = ["Attribute", "Band", "Shown", "Terms"]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A target that is a range: a category's share costs nothing from ``low`` to ``high``.

    Parameters
    ----------
    low, high
        (r,) finite, low ≤ high.

    Examples
    --------
    >>> Band([0.2, 0.3], [0.5, 0.7]).high.tolist()
    [0.5, 0.7]
    """

    low: Floats
    high: Floats

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        edges = {"low": numbers("Band.low", low), "high": numbers("Band.high", high)}
        for name, edge in edges.items():
            if edge.ndim != 1 or not (np.abs(edge) <= WIDEST_BAND).all():
                must = f"be r numbers within ±{WIDEST_BAND:g}"
                raise InputError(explain(f"Band.{name}", f"is {edge.tolist()}", must))
            object.__setattr__(self, name, frozen(without_negligible(edge)))
        if edges["low"].shape != edges["high"].shape:
            shapes = f"have shapes {edges['low'].shape} and {edges['high'].shape}"
            raise InputError(explain("Band.low and Band.high", shapes, "have the same shape (r,)"))
        if (self.low > self.high).any():
            at = int(np.argmax(self.low > self.high))
            found = f"of category {at} are {self.low[at]:g} and {self.high[at]:g}"
            raise InputError(explain("Band.low and Band.high", found, "have low ≤ high"))


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What a person has already seen: it counts toward the target, and is not shown again.

    Parameters
    ----------
    candidates
        Indices of candidates of this call that were shown, in the order of their weights: a ranking, or several pages
        as a list of rankings.
    categories
        (m, r) the category rows of items that were shown and are not among the candidates; a mapping where the call's
        ``categories`` are one.
    position_weights
        How much attention the shown items got, on the scale of this page's own weights: a name ("log", …) for a page
        that was weighed from its first slot on, or a number for each item, the candidates' first. The page's own are
        1/log(i + 1), 1/√i, 1/i, 1 by name, and as given where they are an array.
    """

    candidates: ArrayLike | Sequence[ArrayLike] | None = None
    categories: CategoriesLike | dict[str, CategoriesLike] | None = None
    position_weights: str | ArrayLike = "log"


class Attribute(NamedTuple):
    """A named run of categories: columns ``start`` to ``stop`` of the stacked memberships."""

    name: str
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        """Its columns."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What is asked beyond the paper's program, for r categories in all and n candidates.

    Attributes
    ----------
    attributes
        The attributes by name; empty where the caller gave a single array.
    high
        (r,) the upper edge of the target's band; its lower edge is the problem's ``target``.
    weights
        (r,) what a unit of deviation of each category costs, against 1 in the paper.
    smoothing
        0 for the L1 divergence, Steck's α for KL.
    floors, caps
        (r,) hard limits of each category's expected share; -inf and inf where there are none.
    base
        (r,) what earlier pages showed of each category, in units of this page.
    unavailable
        (n,) true for the candidates that were shown before.
    pinned_slots, pinned_candidates
        Which candidate keeps which slot.
    groups, group_limits
        (n,) the group of each candidate, -1 for none, and how many of each group a ranking may have at most.
    """

    attributes: tuple[Attribute, ...]
    high: Floats
    weights: Floats
    smoothing: float
    floors: Floats
    caps: Floats
    base: Floats
    unavailable: Booleans
    pinned_slots: Integers
    pinned_candidates: Integers
    groups: Integers
    group_limits: Integers

    @property
    def limited(self) -> Integers:
        """The categories with a floor or a cap."""
        return np.flatnonzero(np.isfinite(self.floors) | np.isfinite(self.caps))
