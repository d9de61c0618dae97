"""All metrics of a policy as one record, and the same record of means over users with their standard errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from math import nan, sqrt
from operator import attrgetter
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import numbers
from excalibr._policy import Policy
from excalibr.errors import InputError
from excalibr.metrics import _calibration as calibration
from excalibr.metrics._relevance import HeldOut, mrr, ndcg, recall


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

    The mean of nobody is nan, and so is the standard error of fewer than two, or where a value is infinite, as KL
    without smoothing can be.

    Examples
    --------
    >>> summarise([1.0, 3.0, float("nan")])
    Summary(mean=2.0, standard_error=1.0, count=2)
    """
    known = numbers("values", values)
    if known.ndim != 1:
        hint = "summarise each column by itself."
        raise InputError("values", f"have shape {known.shape}", "have shape (users,)", hint)
    known = known[~np.isnan(known)]
    count = len(known)
    if not count:
        return Summary(nan, nan, 0)
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        return Summary(float(known.mean()), float(known.std(ddof=1)) / sqrt(count) if count > 1 else nan, count)


Value = TypeVar("Value", float, Summary)


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[Value]):
    """Every metric of one user, ``Evaluation[float]``, or its mean over users, ``Evaluation[Summary]``.

    ``ndcg``, ``mrr`` and ``recall`` are expectations over the draws. ``…_of_expectation`` is of the expected
    distribution, ``…_of_draw_mean`` and ``…_of_draw_worst`` of the rankings by themselves; ``…_over_ranks_…`` averages
    over prefixes.
    """

    ndcg: Value
    mrr: Value
    recall: Value
    kl_of_expectation: Value
    kl_of_draw_mean: Value
    kl_of_draw_worst: Value
    l1_of_expectation: Value
    l1_of_draw_mean: Value
    l1_of_draw_worst: Value
    hellinger_of_expectation: Value
    hellinger_of_draw_mean: Value
    hellinger_of_draw_worst: Value
    jensen_shannon_of_expectation: Value
    jensen_shannon_of_draw_mean: Value
    jensen_shannon_of_draw_worst: Value
    kl_over_ranks_of_expectation: Value
    kl_over_ranks_of_draw_mean: Value
    kl_over_ranks_of_draw_worst: Value


def evaluate(policy: Policy, held_out: HeldOut) -> Evaluation[float]:
    """Every metric of one user's policy; the relevance metrics are over all its slots.

    Raises
    ------
    InputError
        Where the target is a band, or ``held_out`` is of another number of candidates.

    Examples
    --------
    The user liked the second of the two items shown; all is drama where half should be:

    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2))
    >>> evaluation = evaluate(policy, HeldOut.of([1], n=3))
    >>> evaluation.mrr, evaluation.recall, evaluation.l1_of_expectation
    (0.5, 1.0, 1.0)
    """
    prefixes = calibration.prefix_distributions(policy)
    wholes = np.array([prefix[-1] for prefix in prefixes])  # the longest prefix is the ranking
    deviations = {name: calibration.deviation_of_wholes(policy, wholes, name) for name in calibration.DIVERGENCES}
    deviations["kl_over_ranks"] = calibration.deviation_of_prefixes(policy, prefixes, "kl")
    named = {f"{name}_{sense}": value for name, each in deviations.items() for sense, value in asdict(each).items()}
    return Evaluation(ndcg=ndcg(policy, held_out), mrr=mrr(policy, held_out), recall=recall(policy, held_out), **named)


def summarise_evaluations(evaluations: Iterable[Evaluation[float]]) -> Evaluation[Summary]:
    """The mean of each metric over users, with its standard error and how many users had a value.

    Examples
    --------
    >>> from excalibr import Problem
    >>> from excalibr.baselines import top_k
    >>> policy = top_k(Problem.of([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2))
    >>> users = [evaluate(policy, HeldOut.of(liked, n=3)) for liked in ([0], [1], [])]
    >>> summarise_evaluations(users).mrr
    Summary(mean=0.75, standard_error=0.25, count=2)
    """
    names = [field.name for field in fields(Evaluation)]
    rows = [attrgetter(*names)(evaluation) for evaluation in evaluations]
    values = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    return Evaluation(*(summarise(column) for column in values.T))
