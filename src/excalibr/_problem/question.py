"""One user's problem, checked once and then immutable: every method takes a :class:`Problem`.

This is the only room where inputs are checked. Symbols: n candidates, k slots, r categories; s scores, A memberships
(n × r), q target, e position weights, λ trade-off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen
from excalibr._problem.checks import is_real, is_whole, read_scores, read_slots, read_target, read_trade_off
from excalibr._problem.memberships import CategoriesLike, Memberships, read_memberships
from excalibr._problem.penalty import Penalty
from excalibr._problem.reading import PLAIN, Wishes, read_attributes, read_terms
from excalibr._problem.terms import Attribute, Band, Terms
from excalibr._types import Floats
from excalibr.errors import InputError, explain, unknown_name
from excalibr.positions import position_weights as weigh_positions

__all__ = ["Limits", "Problem"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a solver may stop: at a proven gap, or after so many sorts of the candidates.

    The gap is relative to (1 − λ)·(largest score − smallest score), as far as rounding beside the slopes allows.
    """

    tolerance: float = 1e-9
    max_sorts: int | None = None

    def __post_init__(self) -> None:
        if not (is_real(self.tolerance) and 0.0 < self.tolerance < np.inf):
            raise InputError(explain("tolerance", f"is {self.tolerance!r}", "be a positive number"))
        if self.max_sorts is not None and not (is_whole(self.max_sorts) and self.max_sorts >= 1):
            raise InputError(explain("max_sorts", f"is {self.max_sorts!r}", "be a whole number of at least 1, or None"))


@dataclass(frozen=True, slots=True)
class Problem:
    r"""A user's candidates, the target and what is asked: checked by :meth:`of`, immutable afterwards.

    .. math::

        \max_x\; (1-\lambda)\, s^\top x - \lambda \sum_j |(A^\top x)_j - q_j|
        \quad\text{over the exposures } x \text{ of lotteries over rankings of } k \text{ candidates}

    Attributes
    ----------
    scores
        s, (n,) finite.
    memberships
        A, n × r, non-negative, rows sum to 1; for several attributes their columns side by side.
    target
        q, (r,): what this page should show of each category. Non-negative with a sum of 1, unless ``terms`` say
        otherwise: the lower edge of a band, or what is left to show after earlier pages.
    position_weights
        e, (k,) non-negative, sums to 1, in slot order.
    trade_off
        λ in [0, 1]: 0 is relevance only, 1 is calibration only.
    terms
        What is asked beyond that, or None.

    Examples
    --------
    >>> problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> problem.n, problem.k, problem.r
    (3, 2, 2)
    """

    scores: Floats
    memberships: Memberships
    target: Floats
    position_weights: Floats
    trade_off: float
    terms: Terms | None = None

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        categories: CategoriesLike | Any,
        target: ArrayLike | Any,
        *,
        k: int | None = None,
        trade_off: float = 0.5,
        position_weights: str | ArrayLike = "log",
        normalise: str | None = None,
        **wishes: Any,
    ) -> Problem:
        """Check the arguments of :func:`excalibr.calibrate` and build the problem."""
        wanted = Wishes(**wishes) if wishes else PLAIN
        return cls.read(scores, categories, target, k, trade_off, position_weights, normalise, wanted)

    @classmethod
    def read(
        cls,
        scores: ArrayLike,
        categories: CategoriesLike | Any,
        target: ArrayLike | Any,
        k: int | None,
        trade_off: float,
        position_weights: str | ArrayLike,
        normalise: str | None,
        wishes: Wishes,
    ) -> Problem:
        """The same for arguments that are all there, without the detour by their names."""
        checked = _normalised(read_scores(scores), normalise)
        if wishes.plain and not isinstance(categories, Mapping) and not isinstance(target, (Mapping, Band)):
            memberships = read_memberships(categories, len(checked))
            slots = weigh_positions(position_weights, read_slots(k, len(checked)))
            target = read_target(target, memberships.n_categories)
            return cls(checked, memberships, target, slots, read_trade_off(trade_off))
        memberships, low, high, attributes = read_attributes(categories, target, len(checked))
        slots = weigh_positions(position_weights, read_slots(k, len(checked)))
        low, terms = read_terms(wishes, memberships, low, high, attributes, position_weights, slots)
        return cls(checked, memberships, low, slots, read_trade_off(trade_off), terms)

    @property
    def n(self) -> int:
        """Number of candidates."""
        return len(self.scores)

    @property
    def k(self) -> int:
        """Number of slots."""
        return len(self.position_weights)

    @property
    def r(self) -> int:
        """Number of categories, of all attributes together."""
        return len(self.target)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes by name; empty where the caller gave a single array."""
        return () if self.terms is None else self.terms.attributes

    @property
    def gains(self) -> Floats:
        """(1 − λ)·s, what a unit of exposure of each candidate is worth before categories count."""
        return (1.0 - self.trade_off) * self.scores

    @property
    def penalty(self) -> Penalty:
        """What the category distribution costs in the objective, λ included, in the solver's general form."""
        return self.penalty_at(self.trade_off)

    @property
    def divergence(self) -> Penalty:
        """What the category distribution costs by itself: the deviation that λ multiplies."""
        return self.penalty_at(1.0)

    def penalty_at(self, trade_off: float) -> Penalty:
        """The same with another λ."""
        terms = self.terms
        if terms is None:
            slopes = np.full(self.r, trade_off)
            return Penalty(self.target, self.target, slopes, slopes)
        slopes = trade_off * terms.weights
        return Penalty(self.target, terms.high, slopes, slopes, terms.smoothing, terms.base)

    def distances(self, shares: Floats) -> Floats:
        """How far each share is from its target, or from the nearer edge of its band; for shapes (r,) and (…, r)."""
        high = self.target if self.terms is None else self.terms.high
        return np.asarray(np.maximum(self.target - shares, 0.0) + np.maximum(shares - high, 0.0))

    def with_trade_off(self, trade_off: float) -> Problem:
        """The same problem at another trade-off."""
        trade_off = read_trade_off(trade_off)
        return Problem(self.scores, self.memberships, self.target, self.position_weights, trade_off, self.terms)


def _normalised(scores: Floats, normalise: str | None) -> Floats:
    """The scores as they are, or brought to the range from 0 to 1."""
    if normalise is None:
        return scores
    if normalise != "range":
        raise unknown_name("normalise", normalise, ("range",))
    lowest, highest = scores.min(), scores.max()
    spread = highest - lowest
    return frozen((scores - lowest) / spread if spread > 0 else np.zeros_like(scores))
