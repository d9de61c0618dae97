"""The scale of a population's numbers: the spread of its scores, and a step to which they are rounded before sums.

Sums over users that share a block are of multiples of a common power of two, and so exact: the same bits however a
population is partitioned, and in whatever order partitions are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, frexp, fsum, ldexp, log2
from typing import NamedTuple

import numpy as np


class RoundingStep(NamedTuple):
    """To multiples of what users' shares and values are rounded; 0 is not at all."""

    shares: float = 0.0
    values: float = 0.0


NO_ROUNDING = RoundingStep()


class ScoreScale(NamedTuple):
    """Sums over users, of which those of partitions can be joined.

    Attributes
    ----------
    weights
        Of all users.
    calibrated
        The weights of users who can be calibrated.
    spreads, gain_spreads
        These weights times the spread of the user's scores, and of (1 − λ)·scores.
    largest
        The largest score, by its size.
    """

    weights: float = 0.0
    calibrated: float = 0.0
    spreads: float = 0.0
    gain_spreads: float = 0.0
    largest: float = 0.0

    @classmethod
    def join(cls, partitions: Iterable[ScoreScale]) -> ScoreScale:
        """Of all partitions together."""
        listed = list(partitions) or [cls()]
        weights, calibrated, spreads, gains = (fsum(each[at] for each in listed) for at in range(4))
        return cls(weights, calibrated, spreads, gains, max(each.largest for each in listed))

    @property
    def spread(self) -> float:
        """The mean spread of the scores, to as many digits as do not depend on the order of adding."""
        return _leading_digits(self.spreads / self.calibrated) if self.calibrated > 0 else 0.0

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores, in the same way."""
        return _leading_digits(self.gain_spreads / self.calibrated) if self.calibrated > 0 else 0.0

    def rounding(self) -> RoundingStep:
        """Steps so small, relative to all users' weights, that sums over them are exact."""
        share = 2.0 ** (frexp(_leading_digits(self.weights))[1] - 50)
        return RoundingStep(share, share * 2.0 ** ceil(log2(self.largest + 1.0) + 3))


def _leading_digits(value: float) -> float:
    """The 24 leading bits of a number of any size: sums in another order differ in the last of 53."""
    mantissa, exponent = frexp(value)
    return ldexp(float(np.float32(mantissa)), exponent)


class WithScoreScale:
    """A population whose scale is known before any pass."""

    scale: ScoreScale

    @property
    def spread(self) -> float:
        """The mean spread of the scores."""
        return self.scale.spread

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores."""
        return self.scale.gain_spread
