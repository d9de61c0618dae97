"""NDCG, MRR and recall: worked examples, limits, and expectations over draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import isfunction
from math import isnan, log2
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr import Policy, Problem, errors
from excalibr._types import Floats
from excalibr.metrics import Evaluation, HeldOut, _relevance, mrr, ndcg, recall
from tests.metrics.lotteries import random_lottery

Metric: TypeAlias = Callable[[Policy, HeldOut], float]
DrawMetric: TypeAlias = Callable[[Policy, HeldOut], Floats]

OF_DRAWS = {name: value for name, value in vars(_relevance).items() if name.endswith("_of_draws")}
METRICS = [(getattr(_relevance, name.removesuffix("_of_draws")), value) for name, value in OF_DRAWS.items()]
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def shown(*rankings: list[int], n: int = 6, weights: list[float] | None = None) -> Policy:
    problem = Problem.of(np.zeros(n), np.ones((n, 1)), [1.0], k=len(rankings[0]))
    return Policy(problem, np.array(rankings), np.array(weights or [1.0]))


def some_held_out(seed: int, n: int) -> HeldOut:
    generator = np.random.default_rng(seed)
    flags = generator.random(n) < 0.3
    return HeldOut.of(flags, n, total=int(flags.sum()) + int(generator.integers(0, 3)))


def test_ndcg_of_a_worked_example() -> None:
    """Held out: slots 1 and 3, and one that is no candidate; ideal over three slots."""
    value = ndcg(shown([4, 0, 2, 1]), HeldOut.of([4, 2], n=6, total=3))
    assert value == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3) + 1 / log2(4)))


def test_ideal_of_ndcg_is_over_no_more_than_k_items() -> None:
    assert ndcg(shown([0, 1]), HeldOut.of([0, 1, 2], n=6, total=9)) == pytest.approx(1.0)


def test_ndcg_of_a_lottery_is_the_expectation_over_its_rankings() -> None:
    policy, held_out = shown([0, 1], [1, 0], weights=[0.75, 0.25]), HeldOut.of([0], n=6)
    assert ndcg(policy, held_out) == pytest.approx(0.75 + 0.25 / log2(3))


def test_mrr_looks_at_the_first_hit_only() -> None:
    assert mrr(shown([5, 3, 0, 1]), HeldOut.of([0, 1], n=6)) == pytest.approx(1 / 3)


def test_recall_counts_what_could_have_been_shown() -> None:
    assert recall(shown([0, 1, 2]), HeldOut.of([0], n=6, total=2)) == 0.5
    assert recall(shown([0, 1, 2]), HeldOut.of([0, 1, 2], n=6, total=50)) == 1.0


def test_cutoff_looks_at_the_first_slots_only() -> None:
    policy, held_out = shown([5, 0, 1]), HeldOut.of([0, 1], n=6)
    assert recall(policy, held_out, k=1) == 0.0
    assert recall(policy, held_out, k=2) == 0.5
    assert ndcg(policy, held_out, k=2) == pytest.approx(1 / log2(3) / (1 + 1 / log2(3)))
    assert mrr(policy, held_out, k=1) == 0.0


@pytest.mark.parametrize(("metric", "of_draws"), METRICS)
def test_nobody_relevant_has_no_value(metric: Metric, of_draws: DrawMetric) -> None:
    policy, nothing = shown([0, 1], [1, 0], weights=[0.5, 0.5]), HeldOut.of([], n=6)
    assert isnan(metric(policy, nothing))
    assert np.isnan(of_draws(policy, nothing)).tolist() == [True, True]


@pytest.mark.parametrize(("metric", "of_draws"), METRICS)
def test_held_out_items_that_are_no_candidates_give_zero(metric: Metric, of_draws: DrawMetric) -> None:
    assert metric(shown([0, 1]), HeldOut.of([], n=6, total=2)) == 0.0


@pytest.mark.parametrize(("metric", "of_draws"), METRICS)
@given(seed=SEEDS)
def test_policy_has_the_expectation_of_its_draws(metric: Metric, of_draws: DrawMetric, seed: int) -> None:
    policy = random_lottery(seed)
    held_out = some_held_out(seed, policy.problem.n)
    if held_out.total:
        draws = of_draws(policy, held_out)
        assert ((draws >= 0) & (draws <= 1 + 1e-12)).all()
        assert metric(policy, held_out) == pytest.approx(float(policy.weights @ draws))


def test_held_out_may_be_given_as_flags_or_indices() -> None:
    by_index, by_flag = HeldOut.of([2, 0], n=3), HeldOut.of([True, False, True], n=3)
    assert by_index.relevant.tolist() == by_flag.relevant.tolist() == [True, False, True]
    assert by_index.total == by_flag.total == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3], 3), "candidates: element 0 is 3, must be indices from 0 to 2"),
        (([-1], 3), "candidates: element 0 is -1"),
        (([0.5], 3), r"candidates: have shape \(1,\) and type float64, must be indices from 0 to 2, or 3 booleans"),
        (([True], 3), r"candidates: have shape \(1,\) and type bool, must be indices from 0 to 2, or 3 booleans"),
        (([0, 1], 3, 1), "total: is 1, must be at least 2"),
    ],
)
def test_held_out_says_what_is_wrong(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(errors.ExcalibrError, match=message):
        HeldOut.of(*arguments)  # type: ignore[arg-type]


def test_metrics_say_what_is_wrong() -> None:
    with pytest.raises(errors.InputError, match="held_out: is of 5 candidates, must be of the policy's 6"):
        ndcg(shown([0, 1]), HeldOut.of([0], n=5))
    with pytest.raises(errors.InputError, match=r"k: is 3, must be a whole number from 1 to .* number of slots \(2\)"):
        recall(shown([0, 1]), HeldOut.of([0], n=6), k=3)
    with pytest.raises(errors.InputError, match="k: is 0, must be a whole number from 1"):
        recall(shown([0, 1]), HeldOut.of([0], n=6), k=0)
    with pytest.raises(errors.InputError, match=r"k: is 1\.5, must be a whole number"):
        recall(shown([0, 1]), HeldOut.of([0], n=6), k=1.5)  # type: ignore[arg-type]


def test_every_metric_of_relevance_is_tested_with_its_draws_and_has_a_place_in_the_record() -> None:
    public = {name: value for name, value in vars(_relevance).items() if isfunction(value) and name[0] != "_"}
    named = {name for name, value in public.items() if value.__module__ == _relevance.__name__} - OF_DRAWS.keys()
    assert {f"{name}_of_draws" for name in named} == OF_DRAWS.keys() == {draws.__name__ for _, draws in METRICS}
    assert named == {field.name for field in fields(Evaluation) if "_of_" not in field.name}


def test_what_the_caller_does_with_the_flags_changes_no_metric() -> None:
    flags = np.array([True, False])
    held_out = HeldOut.of(flags, n=2)
    flags[:] = False
    assert held_out.relevant.tolist() == [True, False]
    with pytest.raises(ValueError, match="read-only"):
        held_out.relevant[0] = False


def test_indices_in_place_of_flags_are_refused() -> None:
    with pytest.raises(errors.InputTypeError, match=r"relevant: are of type int64 .*Hint: HeldOut.of takes indices"):
        HeldOut(np.array([0, 2]), 2)
