"""What any number of users want of each category, as sparse as they say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from excalibr._problem.memberships import Memberships
from excalibr._types import Booleans, Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The targets of users, each a row of what it lists; a single row is everybody's.

    Attributes
    ----------
    lows
        Users × r, the lower edges.
    highs
        The upper edges, beside the values of ``lows``; those values themselves where no target is a band.
    rest
        (users, attributes) a category that a row does not list may have a share from 0 to this; None: to 0.
    sizes
        (attributes,) how many categories each has.
    """

    lows: Memberships
    highs: Floats
    rest: Floats | None
    sizes: Integers

    @classmethod
    def of_one_attribute(cls, lows: Memberships, highs: Floats | None = None, rest: Floats | None = None) -> Targets:
        """Targets of a single attribute; without ``highs`` they are no bands. ``rest`` is (users,)."""
        left = None if rest is None else rest[:, None]
        return cls(lows, lows.values if highs is None else highs, left, np.array([lows.n_categories]))

    @property
    def rows(self) -> int:
        """How many there are, one for all alike included."""
        return self.lows.n_candidates

    @property
    def banded(self) -> bool:
        """Whether some target is a band."""
        return self.highs is not self.lows.values

    @property
    def for_kernel(self) -> tuple[Any, Floats | None]:
        """Both edges as the kernel takes them."""
        rest = None if self.rest is None else np.ascontiguousarray(self.rest).ravel()
        return (self.lows.indptr, self.lows.indices, self.lows.values, rest), self.highs if self.banded else None

    def of(self, users: Integers) -> Targets:
        """Those of some users; one for all stays one."""
        return self if self.rows == 1 else self._taken(users)

    def edges(self, user: int) -> tuple[Floats, Floats]:
        """(r,) both edges of a user's target; one array twice where no target is a band."""
        own = self._taken(np.array([0 if self.rows == 1 else user]))
        low = own.lows.dense()[0]
        if not own.banded:
            return low, low
        high = np.zeros(len(low)) if own.rest is None else np.repeat(own.rest[0], own.sizes)
        high[own.lows.indices] = own.highs
        return low, high

    def or_else(self, other: Targets, good: Booleans) -> Targets:
        """These for users who are good, and the one of others for everybody else."""
        if good.all():
            return self
        lows, users = Memberships.stacked([self.lows, other.lows]), np.where(good, np.arange(len(good)), self.rows)
        highs, rest = lows.values, None
        if self.banded or other.banded:
            highs = np.concatenate([self.highs, other.highs])
        if self.rest is not None:
            rest = np.vstack([self.rest, np.zeros((1, len(self.sizes)))])
        return Targets(lows, highs, rest, self.sizes)._taken(users)

    def or_else_anything(self, good: Booleans) -> Targets:
        """These for users who are good, and for everybody else the first category of each attribute."""
        if self.rows != len(good):  # one for all
            return self
        size = len(self.sizes)
        firsts = Memberships(
            np.array([0, size]), np.cumsum(self.sizes) - self.sizes, np.ones(size), self.lows.n_categories
        )
        return self.or_else(Targets(firsts, firsts.values, None, self.sizes), good)

    def _taken(self, rows: Integers) -> Targets:
        lows = self.lows.of(rows)
        highs = replace(self.lows, values=self.highs).of(rows).values if self.banded else lows.values
        return Targets(lows, highs, None if self.rest is None else self.rest[rows], self.sizes)

    @staticmethod
    def side_by_side(parts: Sequence[Targets]) -> Targets:
        """Several attributes of the same users: the categories of the second after those of the first."""
        rows = max(part.rows for part in parts)
        each = [part if part.rows == rows else part._taken(np.zeros(rows, dtype=np.int64)) for part in parts]
        lows = Memberships.side_by_side([part.lows for part in each])
        highs, rest = lows.values, None
        if any(part.banded for part in each):
            highs = Memberships.side_by_side([replace(part.lows, values=part.highs) for part in each]).values
        if any(part.rest is not None for part in each):
            rest = np.hstack([np.zeros((rows, len(part.sizes))) if part.rest is None else part.rest for part in each])
        return Targets(lows, highs, rest, np.concatenate([part.sizes for part in each]))
