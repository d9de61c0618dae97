"""The record of all metrics agrees with the metrics one by one, for a user and over users."""

from __future__ import annotations

from dataclasses import fields
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr.metrics import (
    DIVERGENCES,
    Evaluation,
    HeldOut,
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
