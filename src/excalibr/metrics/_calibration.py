"""How far categories are from a target, by KL, L1, Hellinger or Jensen–Shannon: of the expectation and of a draw.

A divergence takes distributions p of shape (..., r) and a target q of shape (r,) or (..., r), of finite shares of at
least 0, and returns one number for each distribution, 0 where p = q. All logarithms are natural.

*Of the expectation* is the divergence of the expected distribution E[p(Q)]: what a user sees over many visits. *Of a
draw* is that of a single ranking's distribution p(Q), in the mean and at worst: what a user sees on one visit. A
lottery can have the first at 0 and the second large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import is_real, numbers
from excalibr._options import KL_SMOOTHING, one_of
from excalibr._policy import Policy
from excalibr._types import Floats
from excalibr.errors import InputError

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
    if not is_real(smoothing) or not 0.0 <= smoothing <= 1.0:
        raise InputError("smoothing", f"is {smoothing!r}", "be from 0 to 1")
    p, q = _shares(distribution, target)
    return _relative_entropy(q, (1.0 - smoothing) * p + smoothing * q)


def l1(distribution: ArrayLike, target: ArrayLike) -> Floats:
    r"""The paper's deviation, :math:`\sum_j |p_j - q_j|`, from 0 to 2.

    Parameters as for :func:`kl`, without ``smoothing``.

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

    It is a metric, but not convex in p: the distance of an expectation may exceed the mean of the draws', unlike with
    the other three. Parameters as for :func:`kl`, without ``smoothing``.

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

    without smoothing, which it does not need. The divergence, not its square root. Parameters as for :func:`kl`.

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
    """Both as arrays, with the same categories; a share that is negative or not finite is an error that says so."""
    p, q = numbers("distribution", distribution), numbers("target", target)
    if p.shape[-1:] != q.shape[-1:] or not p.ndim:
        found = f"has shape {p.shape} and the target {q.shape}"
        raise InputError("distribution", found, "have the target's categories in its last axis")
    try:
        np.broadcast_shapes(p.shape, q.shape)
    except ValueError:
        found = f"has shape {q.shape}, the distributions {p.shape}"
        raise InputError("target", found, "be one for all, or one for each of them") from None
    for argument, shares in (("distribution", p), ("target", q)):
        if not shares.min(initial=0.0) >= 0.0:  # a nan fails this too
            raise InputError(argument, f"has a share of {shares.min():.6g}", "have shares of at least 0")
        if shares.max(initial=0.0) == np.inf:
            raise InputError(argument, "has a share of inf", "have finite shares")
    return p, q


@dataclass(frozen=True, slots=True)
class Deviation:
    """A divergence of the expected distribution, and of the rankings by themselves: their mean and the worst."""

    of_expectation: float
    of_draw_mean: float
    of_draw_worst: float


def deviation(policy: Policy, divergence: str) -> Deviation:
    r"""The divergence D of a policy from its target q, of the expectation and of a draw.

    .. math::

        D\Bigl(\sum_t \theta_t\, p(Q_t),\, q\Bigr), \qquad \sum_t \theta_t\, D(p(Q_t), q), \qquad \max_t D(p(Q_t), q)

    Parameters
    ----------
    policy
        Rankings :math:`Q_t` with probabilities :math:`\theta_t`; p weighs each slot by the problem's position weights.
    divergence
        A name of :data:`DIVERGENCES`: "kl", "l1", "hellinger" or "jensen_shannon". The categories of several attributes
        count together.

    Raises
    ------
    InputError
        For an unknown divergence, or a policy whose target is a band.

    Examples
    --------
    One slot and a coin: right in expectation, wrong in every draw.

    >>> import numpy as np
    >>> from excalibr import Policy, Problem
    >>> problem = Problem.of([1.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1)
    >>> coin = Policy(problem, rankings=np.array([[0], [1]]), weights=np.array([0.5, 0.5]))
    >>> deviation(coin, "l1")
    Deviation(of_expectation=0.0, of_draw_mean=1.0, of_draw_worst=1.0)
    """
    return deviation_of_wholes(policy, policy.draw_shares, divergence)


def deviation_over_ranks(policy: Policy, divergence: str) -> Deviation:
    r"""Miscalibration averaged over ranks: the mean of :func:`deviation` over the first 1, 2, …, k slots.

    .. math::

        \frac1k \sum_{m=1}^{k} D(p_m, q), \qquad p_m(Q) = \frac{\sum_{i \le m} e_i A_{Q_i}}{\sum_{i \le m} e_i}

    A list that is calibrated only as a whole has more of it than one that is calibrated from the top. Of the
    expectation :math:`p_m` is :math:`\sum_t \theta_t\, p_m(Q_t)`; the worst draw is the one with the largest mean over
    ranks. Prefixes of no weight (a first slot that nobody sees) are left out of the mean. Parameters and errors as for
    :func:`deviation`.

    Examples
    --------
    The first slot alone is all drama, both together are half and half:

    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([2.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], position_weights="uniform"))
    >>> deviation(policy, "l1").of_expectation, deviation_over_ranks(policy, "l1").of_expectation
    (0.0, 0.5)
    """
    return deviation_of_prefixes(policy, prefix_distributions(policy), divergence)


def exposure_by_category(policy: Policy) -> Floats:
    r"""(r,): the share of the position weights that each category gets, :math:`p = A^\top x`, in expectation.

    It is linear in the rankings: the mean of the draws is the same. To summarise users, stack their exposures into
    (users, r) and take :func:`excalibr.metrics.summarise` of each column.

    Examples
    --------
    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([2.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], position_weights=[3, 1]))
    >>> exposure_by_category(policy).tolist()
    [0.75, 0.25]
    """
    return policy.shares


def prefix_distributions(policy: Policy) -> list[Floats]:
    """For each ranking the distributions of its first 1, 2, …, k slots, (m, r), without the prefixes of no weight.

    One ranking at a time, so that the arrays stay small: together they would be slow for their memory alone.
    """
    rows, weights = policy.problem.memberships.dense(), policy.problem.position_weights
    totals = np.cumsum(weights)[:, None]
    first = int(np.argmax(totals > 0))
    return [np.cumsum(rows[ranking] * weights[:, None], axis=0)[first:] / totals[first:] for ranking in policy.rankings]


def deviation_of_wholes(policy: Policy, distributions: Floats, divergence: str) -> Deviation:
    """The deviation of the rankings' distributions, (L, r)."""
    measure, target = _measure(divergence), _target(policy)
    return _deviation(policy, measure(policy.weights @ distributions, target), measure(distributions, target))


def deviation_of_prefixes(policy: Policy, prefixes: list[Floats], divergence: str) -> Deviation:
    """The deviation of the rankings' prefixes, (m, r) for each ranking, averaged over m."""
    measure, target = _measure(divergence), _target(policy)
    expected = np.zeros_like(prefixes[0])
    for weight, prefix in zip(policy.weights, prefixes, strict=True):
        expected += weight * prefix
    of_draws = np.array([measure(prefix, target).mean() for prefix in prefixes])
    return _deviation(policy, measure(expected, target).mean(), of_draws)


def _deviation(policy: Policy, of_expectation: Floats, of_draws: Floats) -> Deviation:
    return Deviation(float(of_expectation), float(policy.weights @ of_draws), float(of_draws.max()))


def _target(policy: Policy) -> Floats:
    """(r,) the shares that are wanted; a band is not one distribution to diverge from."""
    problem = policy.problem
    if not np.array_equal(problem.target, problem.high):
        hint = "policy.deviation is the distance from a band."
        raise InputError("policy", "has a band for a target", "have one share for each category", hint)
    return problem.target


def _measure(divergence: str) -> Divergence:
    one_of(DIVERGENCES)("divergence", divergence)
    return DIVERGENCES[divergence]
