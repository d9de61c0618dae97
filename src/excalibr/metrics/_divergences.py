"""How far a category distribution is from a target: KL, L1, Hellinger and Jensen–Shannon.

Each function takes distributions p of shape (..., r) and a target q of shape (r,) or (..., r), of shares of at least 0,
and returns one number for each distribution, 0 where p = q. All logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import numbers
from excalibr._options import KL_SMOOTHING
from excalibr._types import Floats
from excalibr.errors import InputError, explain

__all__ = ["DIVERGENCES", "hellinger", "jensen_shannon", "kl", "l1"]


_SMALLEST = float(np.finfo(np.float64).tiny)


def kl(distribution: ArrayLike, target: ArrayLike, smoothing: float = KL_SMOOTHING) -> Floats:
    r"""Kullback–Leibler divergence of the smoothed distribution from the target, in nats.

    .. math::

        \mathrm{KL}(q \,\|\, \tilde p) = \sum_{j:\, q_j > 0} q_j \ln \frac{q_j}{\tilde p_j},
        \qquad \tilde p = (1-\alpha)\, p + \alpha q

    Steck's smoothing keeps it finite where p_j = 0 < q_j: it is at most −ln α, 4.6 for the default α = 0.01. Libraries
    differ in α (0.1, 0.01, 0.001) and in the base of the logarithm.

    Parameters
    ----------
    distribution, target
        p, (…, r), and q, (r,) or (…, r): shares of at least 0.
    smoothing
        α, from 0 (none: infinite where p_j = 0 < q_j) to 1.

    Examples
    --------
    Nothing of what is wanted gives ln 100, half of it nearly ln 2:

    >>> kl([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [1.0, 0.0]).round(3).tolist()
    [4.605, 0.683, 0.0]
    """
    if not 0.0 <= smoothing <= 1.0:
        raise InputError(explain("smoothing", f"is {smoothing!r}", "be from 0 to 1"))
    p, q = _shares(distribution, target)
    return _relative_entropy(q, (1.0 - smoothing) * p + smoothing * q)


def l1(distribution: ArrayLike, target: ArrayLike) -> Floats:
    r"""The paper's deviation, :math:`\sum_j |p_j - q_j|`, from 0 to 2.

    Examples
    --------
    >>> l1([[0.5, 0.5], [0.0, 1.0]], [1.0, 0.0]).tolist()
    [1.0, 2.0]
    """
    p, q = _shares(distribution, target)
    return np.asarray(np.abs(p - q).sum(axis=-1))


def hellinger(distribution: ArrayLike, target: ArrayLike) -> Floats:
    r"""Hellinger distance, from 0 to 1 (nothing in common).

    .. math::

        H(p, q) = \sqrt{\tfrac12 \sum_j \bigl(\sqrt{p_j} - \sqrt{q_j}\bigr)^2}

    It is a metric, but not convex in p: that of an expectation may exceed the mean of the draws, unlike the other
    three.

    Examples
    --------
    >>> hellinger([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0]).tolist()
    [1.0, 0.0]
    """
    p, q = _shares(distribution, target)
    return np.asarray(np.sqrt(0.5 * np.square(np.sqrt(p) - np.sqrt(q)).sum(axis=-1)))


def jensen_shannon(distribution: ArrayLike, target: ArrayLike) -> Floats:
    r"""Jensen–Shannon divergence in nats, from 0 to ln 2 (nothing in common).

    .. math::

        \mathrm{JS}(p, q) = \tfrac12 \mathrm{KL}(p \,\|\, m) + \tfrac12 \mathrm{KL}(q \,\|\, m),
        \qquad m = \tfrac12 (p + q)

    without smoothing, which it does not need. The divergence, not its square root.

    Examples
    --------
    >>> jensen_shannon([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0]).round(3).tolist()
    [0.693, 0.0]
    """
    p, q = _shares(distribution, target)
    middle = 0.5 * (p + q)
    return np.asarray(0.5 * (_relative_entropy(p, middle) + _relative_entropy(q, middle)))


Divergence = Callable[[ArrayLike, ArrayLike], Floats]

DIVERGENCES: MappingProxyType[str, Divergence] = MappingProxyType(
    {"kl": kl, "l1": l1, "hellinger": hellinger, "jensen_shannon": jensen_shannon}
)
"""The divergences by name."""


def _relative_entropy(first: Floats, second: Floats) -> Floats:
    """KL(first ‖ second) without smoothing; infinite where second is 0 and first is not."""
    present = first > _SMALLEST  # below it, a half or a hundredth of a share may be 0
    with np.errstate(divide="ignore"):
        ratios = np.where(present, first, 1.0) / np.where(present, second, 1.0)
    # Rounding may leave a hair below 0 where the two are almost equal.
    return np.asarray(np.maximum((first * np.log(ratios)).sum(axis=-1), 0.0))


def _shares(distribution: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays, with the same categories; a share that is negative or nan is an error that says so."""
    p, q = numbers("distribution", distribution), numbers("target", target)
    if p.shape[-1:] != q.shape[-1:] or not p.ndim:
        found = f"has shape {p.shape} and the target {q.shape}"
        raise InputError(explain("distribution", found, "have the target's categories in its last axis"))
    for argument, shares in (("distribution", p), ("target", q)):
        if not shares.min(initial=0.0) >= 0.0:  # a nan fails this too
            raise InputError(explain(argument, f"has a share of {shares.min():.6g}", "have shares of at least 0"))
    return p, q
