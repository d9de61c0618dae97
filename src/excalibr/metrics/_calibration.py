"""How far a policy is from its target, of the expectation and of a draw, which are not the same thing.

*Of the expectation* is the divergence of the expected distribution E[p(Q)]: what a user sees over many visits. *Of a
draw* is that of a single ranking's distribution p(Q), in the mean and at worst: what a user sees on one visit. A
lottery can have the first at 0 and the second large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from excalibr._policy import Policy
from excalibr._types import Floats
from excalibr.errors import unknown_name
from excalibr.metrics._divergences import DIVERGENCES, Divergence

__all__ = [
    "Deviation",
    "deviation",
    "deviation_of_prefixes",
    "deviation_of_wholes",
    "deviation_over_ranks",
    "exposure_by_category",
    "prefix_distributions",
]


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
        A name of :data:`DIVERGENCES`: "kl", "l1", "hellinger" or "jensen_shannon".

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
    return deviation_of_wholes(policy, policy.draw_distributions, divergence)


def deviation_over_ranks(policy: Policy, divergence: str) -> Deviation:
    r"""Miscalibration averaged over ranks: the mean of :func:`deviation` over the first 1, 2, …, k slots.

    .. math::

        \frac1k \sum_{m=1}^{k} D(p_m, q), \qquad p_m(Q) = \frac{\sum_{i \le m} e_i A_{Q_i}}{\sum_{i \le m} e_i}

    A list that is calibrated only as a whole has more of it than one that is calibrated from the top. Of the
    expectation :math:`p_m` is :math:`\sum_t \theta_t\, p_m(Q_t)`; the worst draw is the one with the largest mean over
    ranks. Prefixes of no weight (a first slot that nobody sees) are left out of the mean.

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
    measure, target = _measure(divergence), policy.problem.target
    return _deviation(policy, measure(policy.weights @ distributions, target), measure(distributions, target))


def deviation_of_prefixes(policy: Policy, prefixes: list[Floats], divergence: str) -> Deviation:
    """The deviation of the rankings' prefixes, (m, r) for each ranking, averaged over m."""
    measure, target = _measure(divergence), policy.problem.target
    expected = np.zeros_like(prefixes[0])
    for weight, prefix in zip(policy.weights, prefixes, strict=True):
        expected += weight * prefix
    of_draws = np.array([measure(prefix, target).mean() for prefix in prefixes])
    return _deviation(policy, measure(expected, target).mean(), of_draws)


def _deviation(policy: Policy, of_expectation: Floats, of_draws: Floats) -> Deviation:
    return Deviation(float(of_expectation), float(policy.weights @ of_draws), float(of_draws.max()))


def _measure(divergence: str) -> Divergence:
    if not isinstance(divergence, str) or divergence not in DIVERGENCES:
        raise unknown_name("divergence", divergence, DIVERGENCES)
    return DIVERGENCES[divergence]
