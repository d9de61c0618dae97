"""The record of all metrics agrees with the metrics one by one, for a user and over users; summaries."""

from __future__ import annotations

from dataclasses import fields
from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr.errors import InputError
from excalibr.metrics import (
    DIVERGENCES,
    Evaluation,
    HeldOut,
    Summary,
    deviation,
    deviation_over_ranks,
    evaluate,
    mrr,
    ndcg,
    recall,
    summarise,
    summarise_evaluations,
)
from tests.metrics.lotteries import random_lottery


def test_standard_error_of_a_worked_example() -> None:
    """1, 2, 3, 4: mean 2.5, variance 5/3, over four users."""
    summary = summarise([1.0, 2.0, 3.0, 4.0])
    assert summary.mean == 2.5
    assert summary.standard_error == pytest.approx(sqrt(5 / 3 / 4))
    assert summary.count == 4


def test_users_without_a_value_are_left_out_and_not_counted() -> None:
    assert summarise([nan, 1.0, nan, 3.0]) == Summary(mean=2.0, standard_error=1.0, count=2)


def test_one_user_has_a_mean_without_an_error() -> None:
    summary = summarise([0.5])
    assert (summary.mean, summary.count) == (0.5, 1)
    assert isnan(summary.standard_error)


@pytest.mark.parametrize("values", [[], [nan, nan]])
def test_nobody_has_no_mean(values: list[float]) -> None:
    summary = summarise(values)
    assert isnan(summary.mean)
    assert isnan(summary.standard_error)
    assert summary.count == 0


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1))
def test_mean_lies_among_the_values(values: list[float]) -> None:
    assert min(values) - 1e-9 <= summarise(values).mean <= max(values) + 1e-9


def test_columns_of_several_metrics_are_not_pooled() -> None:
    with pytest.raises(InputError, match=r"values: have shape \(2, 2\), must have shape \(users,\)"):
        summarise([[1.0, 2.0], [3.0, 4.0]])


def test_reads_as_a_line() -> None:
    assert str(summarise(np.array([1.0, 3.0]))) == "2.0000 ± 1.0000 (n = 2)"


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_record_agrees_with_each_metric_by_itself(seed: int) -> None:
    policy = random_lottery(seed)
    held_out = HeldOut.of([0], policy.problem.n, total=2)
    record = evaluate(policy, held_out)
    assert (record.ndcg, record.mrr, record.recall) == (
        ndcg(policy, held_out),
        mrr(policy, held_out),
        recall(policy, held_out),
    )
    measured = {name: deviation(policy, name) for name in DIVERGENCES}
    measured["kl_over_ranks"] = deviation_over_ranks(policy, "kl")
    for name, expected in measured.items():
        for sense in ("of_expectation", "of_draw_mean", "of_draw_worst"):
            # Hellinger is a square root: rounding in its argument shows at half the digits near 0.
            assert getattr(record, f"{name}_{sense}") == pytest.approx(getattr(expected, sense), abs=1e-7)


def test_means_over_users_are_those_of_each_metric() -> None:
    records = [evaluate(policy, HeldOut.of([0], policy.problem.n)) for policy in map(random_lottery, range(20))]
    summary = summarise_evaluations(records)
    for field in fields(Evaluation):
        assert getattr(summary, field.name) == summarise([getattr(record, field.name) for record in records])


def test_users_without_held_out_items_count_for_calibration_only() -> None:
    policy = random_lottery(1)
    summary = summarise_evaluations([evaluate(policy, HeldOut.of([], policy.problem.n))])
    assert summary.ndcg.count == summary.mrr.count == summary.recall.count == 0
    assert summary.kl_of_expectation.count == 1


def test_nobody_has_a_summary_of_nothing() -> None:
    summary = summarise_evaluations([])
    assert all(getattr(summary, field.name).count == 0 for field in fields(Evaluation))
    assert isnan(summary.ndcg.mean)


def test_an_infinite_value_has_an_infinite_mean_without_an_error() -> None:
    """As KL without smoothing has; once it was a warning of numpy's."""
    found = summarise([1.0, inf])
    assert (found.mean, found.count) == (inf, 2)
    assert isnan(found.standard_error)
