"""What a user's policies are worth, all trade-offs at once: the numbers of :mod:`excalibr.metrics`, for many policies.

Each function stacks the rankings of all policies and measures them together, which is what makes it quick.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from excalibr import _seeds as seeds
from excalibr._arrays import starts_of
from excalibr._policy import Policy
from excalibr._types import Floats, Integers
from excalibr._visits import visit_sequence
from excalibr.metrics import HeldOut, kl, l1, mrr_of_draws, ndcg_of_draws, recall_of_draws

VISITS = (1, 3, 7, 30)  # after so many it is measured how far what was seen is from the target

_AFTER_VISITS = tuple(f"l1_of_{visits}_visit{'s' * (visits > 1)}" for visits in VISITS)

METRICS = (
    *("ndcg", "mrr", "recall", "popularity", "kl_of_expectation", "l1_of_expectation"),
    *("kl_of_draw_mean", "l1_of_draw_mean", "kl_of_draw_worst", "l1_of_draw_worst"),
    *("ndcg_of_one_draw", "mrr_of_one_draw", "kl_of_one_draw", "l1_of_one_draw"),
    *(*_AFTER_VISITS, "rankings", "gap"),
)
"""What is measured of each user. ``ndcg``, ``mrr`` and ``recall`` are expectations over the lottery; ``popularity`` is
the expected share of training users that like an item that is seen. ``…_of_expectation`` is of the expected
distribution; ``…_of_draw_mean`` and ``…_of_draw_worst`` are over the lottery's rankings by themselves;
``…_of_one_draw`` is of the ranking that the user is shown, drawn once; ``…_of_7_visits`` is of the mean of what the
user's first seven visits show, as :meth:`excalibr.Policy.sample` has them with ``visit``; ``rankings`` is the lottery's
size; ``gap`` is what was proven, nan where a method proves nothing."""

CATALOGUE = ("coverage", "gini")
"""What is measured of all users together: the share of the catalogue that is shown at all, and the Gini coefficient of
what its items get of everybody's attention, 0 where all get the same and near 1 where a few get all."""

_UNIT = 2.0**40  # attention is added up in whole parts of it, so that no order of adding changes a sum


def measure(policies: Sequence[Policy], held_out: HeldOut, popularity: Floats, *, seed: int, key: Hashable) -> Floats:
    """(policies, metrics) for policies of one user that differ in their trade-off only.

    ``popularity`` is (n,), of each candidate; the ranking that is shown, and those of the visits, are drawn by seed
    and key as :meth:`excalibr.Policy.sample` does.
    """
    sizes = np.array([len(policy.weights) for policy in policies])
    starts = starts_of(sizes)[:-1]
    weights = np.concatenate([policy.weights for policy in policies])
    rankings = np.concatenate([policy.rankings for policy in policies])
    every = Policy._solved(policies[0].problem, rankings, weights)  # all rankings in a row, of which none is drawn
    distributions, target = _distributions(every), every.problem.target
    expected = np.add.reduceat(weights[:, None] * distributions, starts, axis=0)
    drawn = seeds.uniform(seed, key)
    shown = starts + np.array([seeds.choose_one(policy.weights.tolist(), drawn) for policy in policies])

    relevance = {"ndcg": ndcg_of_draws(every, held_out), "mrr": mrr_of_draws(every, held_out)}
    others = {
        "recall": recall_of_draws(every, held_out),
        "popularity": popularity[every.rankings] @ every.problem.position_weights,
    }
    found = {name: np.add.reduceat(weights * values, starts) for name, values in (relevance | others).items()}
    found |= {f"{name}_of_one_draw": values[shown] for name, values in relevance.items()}
    for name, divergence in (("kl", kl), ("l1", l1)):
        of_draws = divergence(distributions, target)
        found[f"{name}_of_expectation"] = divergence(expected, target)
        found[f"{name}_of_draw_mean"] = np.add.reduceat(weights * of_draws, starts)
        found[f"{name}_of_draw_worst"] = np.maximum.reduceat(of_draws, starts)
        found[f"{name}_of_one_draw"] = of_draws[shown]
    seen = [
        _after_visits(policy, own, seed, key)
        for policy, own in zip(policies, np.split(distributions, starts[1:]), strict=True)
    ]
    found |= dict(zip(_AFTER_VISITS, l1(np.stack(seen, axis=1), target), strict=True))
    found |= {"rankings": sizes, "gap": np.array([policy.gap for policy in policies])}
    return np.stack([found[name] for name in METRICS], axis=1)


def attention(policies: Sequence[Policy]) -> Integers:
    """(policies, n): how much each candidate is seen, in whole parts of a unit: users add up in any order."""
    return np.rint(_UNIT * np.stack([policy.exposure for policy in policies])).astype(np.int64)


def catalogue_measures(seen: Integers) -> Floats:
    """(…, 2) :data:`CATALOGUE` of what the items of the last axis are seen of, by all users together.

    >>> catalogue_measures(np.array([[1, 1, 0, 0], [5, 5, 5, 5]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    rising = np.sort(seen, axis=-1) / _UNIT
    items = rising.shape[-1]
    places = 2.0 * np.arange(1, items + 1) - items - 1
    gini = rising @ places / (items * np.maximum(rising.sum(axis=-1), 1.0 / _UNIT))
    return np.stack([(seen > 0).mean(axis=-1), gini], axis=-1)


def _distributions(policy: Policy) -> Floats:
    """(L, r): as ``policy.draw_distributions``, for all rankings in one product."""
    problem, rankings = policy.problem, policy.rankings
    exposures = np.zeros((len(rankings), problem.n))
    np.put_along_axis(exposures, rankings, np.broadcast_to(problem.position_weights, rankings.shape), axis=1)
    return np.asarray(exposures @ problem.memberships.dense())


def _after_visits(policy: Policy, distributions: Floats, seed: int, key: Hashable) -> Floats:
    """(visits, r): the mean of what a user's first visits show, after each number of :data:`VISITS`."""
    seen = visit_sequence(policy.rankings, policy.weights, key, seed, first=0, size=max(VISITS))
    return np.array([distributions[seen[:visits]].mean(axis=0) for visits in VISITS])
