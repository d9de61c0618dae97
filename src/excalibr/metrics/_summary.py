"""From values of users to a mean with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import numbers
from excalibr.errors import InputError, explain

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean over users, its standard error, and over how many users it was taken."""

    mean: float
    standard_error: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.standard_error:.4f} (n = {self.count})"


def summarise(values: ArrayLike) -> Summary:
    r"""Mean and standard error of the users' values, (users,); a nan (nobody relevant) is left out and not counted.

    .. math::

        \bar v = \frac1m \sum_u v_u, \qquad \mathrm{SE} = \sqrt{\frac{1}{m (m-1)} \sum_u (v_u - \bar v)^2}

    The mean of nobody is nan, and so is the standard error of fewer than two.

    Examples
    --------
    >>> summarise([1.0, 3.0, float("nan")])
    Summary(mean=2.0, standard_error=1.0, count=2)
    """
    known = numbers("values", values)
    if known.ndim != 1:
        hint = "summarise each column by itself."
        raise InputError(explain("values", f"have shape {known.shape}", "have shape (users,)", hint))
    known = known[~np.isnan(known)]
    count = len(known)
    if not count:
        return Summary(nan, nan, 0)
    return Summary(float(known.mean()), float(known.std(ddof=1)) / sqrt(count) if count > 1 else nan, count)
