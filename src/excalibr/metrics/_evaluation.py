"""All metrics of a policy as one record, and the same record of means over users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Generic, TypeVar

import numpy as np

from excalibr._policy import Policy
from excalibr._types import Floats
from excalibr.metrics._calibration import (
    Deviation,
    deviation_of_prefixes,
    deviation_of_wholes,
    prefix_distributions,
)
from excalibr.metrics._divergences import DIVERGENCES
from excalibr.metrics._relevance import HeldOut, mrr, ndcg, recall
from excalibr.metrics._summary import Summary, summarise

__all__ = ["Evaluation", "evaluate", "summarise_evaluations"]

Value = TypeVar("Value", float, Summary)


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[Value]):
    """Every metric: of a user, ``Evaluation[float]``, or over users, ``Evaluation[Summary]``.

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
    prefixes = prefix_distributions(policy)
    wholes = np.array([prefix[-1] for prefix in prefixes])  # the longest prefix is the ranking
    named = _named("kl_over_ranks", deviation_of_prefixes(policy, prefixes, "kl"))
    for divergence in DIVERGENCES:
        named |= _named(divergence, deviation_of_wholes(policy, wholes, divergence))
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
    values = _table(evaluations)
    return Evaluation(*(summarise(column) for column in values.T))


def _named(metric: str, deviation: Deviation) -> dict[str, float]:
    return {
        f"{metric}_of_expectation": deviation.of_expectation,
        f"{metric}_of_draw_mean": deviation.of_draw_mean,
        f"{metric}_of_draw_worst": deviation.of_draw_worst,
    }


def _table(evaluations: Iterable[Evaluation[float]]) -> Floats:
    """(users, metrics), in the order of the fields."""
    names = [field.name for field in fields(Evaluation)]
    rows = [attrgetter(*names)(evaluation) for evaluation in evaluations]
    return np.array(rows, dtype=np.float64).reshape(-1, len(names))
