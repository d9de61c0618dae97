"""Did the rankings show what the user went on to like: NDCG, MRR and recall, against held-out items.

A policy's value is the expectation over its rankings; ``…_of_draws`` gives each ranking's own. Ranks are slot numbers.
A user with nothing held out has no value (nan), which :func:`excalibr.metrics.summarise` leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, indices, is_whole
from excalibr._policy import Policy
from excalibr._types import Booleans, Floats
from excalibr.errors import InputError, InputTypeError


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Which candidates the user went on to like, and how many items were held out in all.

    Attributes
    ----------
    relevant
        (n,) True for the candidates that were held out.
    total
        How many items were held out, whether or not they are among the candidates; recall and the ideal of NDCG need
        it.

    Examples
    --------
    Three items were held out; two of them are candidates, numbers 0 and 2 of four:

    >>> HeldOut.of([0, 2], n=4, total=3)
    HeldOut(relevant=array([ True, False,  True, False]), total=3)
    """

    relevant: Booleans
    total: int

    def __post_init__(self) -> None:
        relevant = np.array(self.relevant)  # of our own: what the caller does with theirs changes no metric
        if relevant.dtype != np.bool_ or relevant.ndim != 1:
            found = f"are of type {relevant.dtype} and shape {relevant.shape}"
            raise InputTypeError("relevant", found, "be n booleans", "HeldOut.of takes indices as well.")
        object.__setattr__(self, "relevant", frozen(relevant))
        if not is_whole(self.total):
            raise InputTypeError("total", f"is {self.total!r}", "be a whole number")
        if self.total < (least := int(np.count_nonzero(relevant))):
            raise InputError("total", f"is {self.total}", f"be at least {least}, the held-out candidates")

    @classmethod
    def of(cls, candidates: ArrayLike, n: int, total: int | None = None) -> HeldOut:
        """From indices among ``n`` candidates, or n booleans; without ``total`` nothing else was held out."""
        if not is_whole(n) or n < 0:
            raise InputError("n", f"is {n!r}", "be the number of candidates")
        relevant = np.zeros(n, dtype=np.bool_)
        relevant[indices("candidates", candidates, n)] = True
        return cls(relevant, int(np.count_nonzero(relevant)) if total is None else total)


def ndcg(policy: Policy, held_out: HeldOut, k: int | None = None) -> float:
    r"""Expected normalised discounted cumulative gain of the first k slots (all of them when k is None).

    .. math::

        \mathrm{NDCG@}k = \sum_t \theta_t\,
        \frac{\sum_{i=1}^{k} \mathbb 1[Q_{t,i} \text{ held out}] / \log_2 (i+1)}
        {\sum_{i=1}^{\min(k, h)} 1 / \log_2 (i+1)}

    where ranking :math:`Q_t` is drawn with probability :math:`\theta_t` and h is the number of held-out items, so the
    ideal is over min(k, h) as in Liang et al. (2018). The discount is this one whatever the position weights of the
    problem. Where nothing was held out it is nan.

    Parameters
    ----------
    policy, held_out
        Of the same n candidates.
    k
        How many slots count, from the first; None is all.

    Raises
    ------
    InputError
        Where ``held_out`` is of another number of candidates, or k is not from 1 to the policy's number of slots.

    Examples
    --------
    One item was held out, and is shown first, second, or not at all:

    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2))
    >>> [round(ndcg(policy, HeldOut.of([item], n=3)), 3) for item in (0, 1, 2)]
    [1.0, 0.631, 0.0]
    """
    return float(policy.weights @ ndcg_of_draws(policy, held_out, k))


def mrr(policy: Policy, held_out: HeldOut, k: int | None = None) -> float:
    r"""Expected reciprocal rank of the first held-out item within the first k slots, 0 where there is none.

    .. math::

        \mathrm{RR@}k = \sum_t \theta_t \frac{1}{\min \{ i \le k : Q_{t,i} \text{ held out} \}}

    Its mean over users is the MRR. Where nothing was held out it is nan. Parameters and errors as for :func:`ndcg`.

    Examples
    --------
    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2))
    >>> [mrr(policy, HeldOut.of([item], n=3)) for item in (0, 1, 2)]
    [1.0, 0.5, 0.0]
    """
    return float(policy.weights @ mrr_of_draws(policy, held_out, k))


def recall(policy: Policy, held_out: HeldOut, k: int | None = None) -> float:
    r"""Expected share of the held-out items that the first k slots show, of as many as could be shown.

    .. math::

        \mathrm{Recall@}k = \sum_t \theta_t \frac{1}{\min(k, h)} \sum_{i=1}^{k} \mathbb 1[Q_{t,i} \text{ held out}]

    with h held-out items. The denominator is that of Liang et al. (2018), so that a perfect list has 1 also where h >
    k; where nothing was held out it is nan. Parameters and errors as for :func:`ndcg`.

    Examples
    --------
    Of three held-out items the two slots could show two, and show one:

    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2))
    >>> recall(policy, HeldOut.of([0, 2], n=3, total=3))
    0.5
    """
    return float(policy.weights @ recall_of_draws(policy, held_out, k))


def ndcg_of_draws(policy: Policy, held_out: HeldOut, k: int | None = None) -> Floats:
    """(L,): :func:`ndcg` of each ranking by itself."""
    hits = _hits(policy, held_out, k)
    slots = hits.shape[1]
    discounts = _discounts(slots)
    return _over(hits @ discounts, float(discounts[: min(slots, held_out.total)].sum()))


def mrr_of_draws(policy: Policy, held_out: HeldOut, k: int | None = None) -> Floats:
    """(L,): :func:`mrr` of each ranking by itself."""
    hits = _hits(policy, held_out, k)
    first = hits.argmax(axis=1)  # 0 also where there is no hit
    return _over(np.where(hits.any(axis=1), 1.0 / (first + 1.0), 0.0), float(held_out.total > 0))


def recall_of_draws(policy: Policy, held_out: HeldOut, k: int | None = None) -> Floats:
    """(L,): :func:`recall` of each ranking by itself."""
    hits = _hits(policy, held_out, k)
    return _over(hits.sum(axis=1), float(min(hits.shape[1], held_out.total)))


def _hits(policy: Policy, held_out: HeldOut, k: int | None) -> Booleans:
    """(L, k): whether each slot of each ranking shows a held-out item."""
    if len(held_out.relevant) != policy.problem.n:
        found, must = f"is of {len(held_out.relevant)} candidates", f"be of the policy's {policy.problem.n}"
        raise InputError("held_out", found, must)
    if k is not None and not (is_whole(k) and 1 <= k <= policy.problem.k):
        must = f"be a whole number from 1 to the policy's number of slots ({policy.problem.k})"
        raise InputError("k", f"is {k!r}", must)
    return held_out.relevant[policy.rankings[:, :k]]


@lru_cache(maxsize=64)
def _discounts(slots: int) -> Floats:
    return frozen(np.asarray(1.0 / np.log2(np.arange(2.0, slots + 2.0))))


def _over(values: Floats, ideal: float) -> Floats:
    """Values as a share of the ideal; nan where there is nothing to find."""
    return np.asarray(values / ideal) if ideal else np.full(len(values), np.nan)
