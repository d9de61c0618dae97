"""A population with very large scores, in another unit: the tolerances of linear programs and line searches are fixed.

Units are powers of two, so that nothing is rounded on the way there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp

from excalibr._population.passes import Pass
from excalibr._population.subproblems import Population
from excalibr._types import Floats

LARGEST_EXPONENT = 12
"""Of two: mean spreads up to it are left as they are."""


def unit_of(population: Population) -> float:
    """The power of two above the mean spread of the gains where it is very large; otherwise 1."""
    exponent = frexp(population.gain_spread)[1]
    return 2.0**exponent if exponent > LARGEST_EXPONENT else 1.0


@dataclass(frozen=True, eq=False)
class RescaledPopulation:
    """The same users, with scores, prices and bounds in this unit."""

    population: Population
    unit: float

    @property
    def users(self) -> int:
        """How many there are."""
        return self.population.users

    @property
    def n_groups(self) -> int:
        """G."""
        return self.population.n_groups

    @property
    def threads(self) -> int:
        """On how many threads to work."""
        return self.population.threads

    @property
    def spread(self) -> float:
        """The mean spread of the scores."""
        return self.population.spread / self.unit

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores."""
        return self.population.gain_spread / self.unit

    def run(self, prices: Floats, *, surrogate: bool = False) -> Pass:
        """A pass at these prices of the groups."""
        return self.population.run(self.unit * prices, surrogate=surrogate).scaled(1.0 / self.unit)

    def sample(self, users: int) -> RescaledPopulation:
        """About so many of the users."""
        return RescaledPopulation(self.population.sample(users), self.unit)
