"""What can be asked beyond the paper: several attributes, bands, weights, limits, groups, pinned items, earlier pages.

:class:`BatchTerms` holds it in checked form, for any number of users. :mod:`excalibr._problem.reading` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import finite_numbers, first_true, frozen
from excalibr._problem.memberships import CategoriesLike, Memberships
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError


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
        lower = finite_numbers("Band.low", low, ("r",))
        upper = finite_numbers("Band.high", high, lower.shape, "as Band.low has")
        object.__setattr__(self, "low", frozen(lower))
        object.__setattr__(self, "high", frozen(upper))
        at = first_true(lower > upper)
        if at is not None:
            found = f"of category {at} are {self.low[at]:g} and {self.high[at]:g}"
            raise InputError("Band.low and Band.high", found, "have low ≤ high")


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
        How much attention the shown items got, on the scale of this page's own weights before they are normalised:
        1/log(i + 1), 1/√i, 1/i or 1 in slot i by name, and as given where they are an array. Either a name ("log", …),
        for pages that were weighed from their first slot on, or a number for each item, the candidates first.

    Examples
    --------
    Half of each is wanted, and the first slot of the last page, seen as much as this one, was a drama: now a comedy.

    >>> import excalibr
    >>> rows = [[1, 0], [1, 0], [0, 1]]
    >>> before = excalibr.Shown(candidates=[0], position_weights="uniform")
    >>> policy = excalibr.calibrate([0.9, 0.8, 0.5], rows, [0.5, 0.5], k=1, position_weights="uniform", shown=before)
    >>> policy.rankings.tolist(), policy.problem.target.tolist()
    ([[2]], [0.0, 1.0])
    """

    candidates: ArrayLike | Sequence[ArrayLike] | None = None
    categories: CategoriesLike | dict[str, CategoriesLike] | None = None
    position_weights: str | ArrayLike = "log"


class AttributeSpan(NamedTuple):
    """A named run of categories: columns ``start`` to ``stop`` of the stacked memberships."""

    name: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class BatchTerms:
    """What is asked beyond scores, rows and targets, of any number of users; what is None is not asked."""

    weights: Floats | None = None  # (r,) what a unit of deviation of each category costs; None: 1, as in the paper
    relative: bool = False  # whether that is divided by what each user wants
    page_parts: Floats | None = None  # (users,) this page's part of all that a user sees
    seen: Memberships | None = None  # users × r, what earlier pages showed of each category, in units of this page
    floors: Floats | None = None  # (r,) hard limits of each category's expected share; -inf where there is none
    caps: Floats | None = None  # (r,) the same from above; inf where there is none
    unavailable: Booleans | None = None  # (N,) true for the candidates that were shown before
    pins: tuple[Integers, Integers, Integers] | None = None  # (users + 1,) where each user's begin; slots; candidates
    groups: tuple[Integers, Integers] | None = None  # of each row, -1 for none; the most of each in a ranking

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The same as the kernel takes it."""
        floats = (self.weights, self.floors, self.caps, self.page_parts)
        seen = self.seen or _NOTHING_SEEN
        return (
            self.relative,
            *(_NO_NUMBERS if each is None else np.ascontiguousarray(each) for each in floats),
            *(seen.indptr, seen.indices, seen.values),
            _NO_FLAGS if self.unavailable is None else self.unavailable,
            *(self.pins or (_NO_PLACES, _NO_PLACES, _NO_PLACES)),
            *(self.groups or (_NO_PLACES, _NO_PLACES)),
        )


_NO_NUMBERS = frozen(np.empty(0))
_NO_PLACES = frozen(np.empty(0, dtype=np.int64))
_NO_FLAGS = frozen(np.empty(0, dtype=np.bool_))
_NOTHING_SEEN = Memberships(_NO_PLACES, _NO_PLACES, _NO_NUMBERS, 0)
