"""What units a crowd's numbers have: the spread of its scores, and a step to which sums are rounded.

Sums over users that share a block are of numbers rounded to a common power of two, and so exact: the same bits however
a crowd is cut into parts, and in whatever order these are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, frexp, fsum, ldexp, log2
from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """To what users' shares and values are rounded; 0 is not at all."""

    shares: float = 0.0
    values: float = 0.0


NO_STEP = Step()


class Scale(NamedTuple):
    """Sums over users: weights; of those who can be calibrated, visits, and visits × spread of scores and of gains.

    And the largest score.
    """

    weights: float = 0.0
    visits: float = 0.0
    spreads: float = 0.0
    gain_spreads: float = 0.0
    largest: float = 0.0

    @classmethod
    def join(cls, parts: Iterable[Scale]) -> Scale:
        """Of all parts together."""
        listed = list(parts) or [cls()]
        weights, visits, spreads, gains = (fsum(each[at] for each in listed) for at in range(4))
        return cls(weights, visits, spreads, gains, max(each.largest for each in listed))

    @property
    def spread(self) -> float:
        """The mean spread of the scores, to as many digits as do not depend on the order of adding."""
        return _leading_digits(self.spreads / self.visits) if self.visits > 0 else 0.0

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores, in the same way."""
        return _leading_digits(self.gain_spreads / self.visits) if self.visits > 0 else 0.0

    def step(self) -> Step:
        """So small that sums over all users, whatever their weights add up to, still hold every digit of it."""
        share = 2.0 ** (frexp(_leading_digits(self.weights))[1] - 50)
        return Step(share, share * 2.0 ** ceil(log2(self.largest + 1.0) + 3))


def _leading_digits(value: float) -> float:
    """The 24 leading bits of a number of any size: sums in another order differ in the last of 53."""
    mantissa, exponent = frexp(value)
    return ldexp(float(np.float32(mantissa)), exponent)


class Scaled:
    """A crowd that knows the scale of its scores from its beginning."""

    scale: Scale

    @property
    def spread(self) -> float:
        """The mean spread of the scores."""
        return self.scale.spread

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores."""
        return self.scale.gain_spread
