"""At λ = 1: of the lotteries that are as calibrated as can be told, the most relevant one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr import calibrate
from excalibr.errors import InfeasibleError
from tests import cases

NO_COST = 1e-9
"""A cost that counts as none: the default tolerance."""


def test_a_cost_that_counts_as_none_is_spent_on_relevance() -> None:
    question = cases.load(
        "the target alone, one slot, a candidate 5e-10 from the best calibrated and far more relevant"
    )
    policy = calibrate(question.scores, question.categories, question.target, **question.options)
    assert policy.cost <= 1.6466429030299034e-11 + NO_COST
    assert (policy.relevance - question.scores.max()) / np.ptp(question.scores) == pytest.approx(-0.79653783694)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_one_slot_and_two_categories_are_as_relevant_as_any_mix_of_two_candidates(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 30))
    shares = 10.0 ** random.uniform(-13, 0, n)
    shares = np.where(random.random(n) < 0.5, shares, 1 - shares)
    target = random.choice([0.0, 0.5, 1.0])
    scores = random.normal(size=n)
    policy = calibrate(scores, np.c_[shares, 1 - shares], [target, 1 - target], k=1, trade_off=1.0)
    nearest = 0.0 if shares.min() <= target <= shares.max() else np.abs(shares - target).min()
    unproven = max(policy.gap - (policy.cost - 2 * nearest), 0.0)  # of it the proof has used up so much
    to_spend = max(0.999 * NO_COST - unproven, 0.0)
    assert policy.cost <= 2 * nearest + NO_COST + 1e-15
    assert policy.relevance >= _most_relevance(shares, scores, target, nearest + to_spend / 2) - 1e-5 * np.ptp(scores)


def _most_relevance(shares: Any, scores: Any, target: float, away: float) -> float:
    """Of mixes of two candidates whose share is at most so far from the target."""
    inside = np.abs(shares - target) <= away
    best = scores[inside].max(initial=-np.inf)
    low, high = np.minimum.outer(shares, shares), np.maximum.outer(shares, shares)
    for end in (target - away, target + away):
        crosses = (low <= end) & (end <= high) & (low < high)
        part = (end - shares[:, None]) / np.where(crosses, shares - shares[:, None], 1.0)
        mixed = scores[:, None] + part * (scores - scores[:, None])
        best = max(best, mixed[crosses].max(initial=-np.inf))
    return float(best)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "KL, a deviation out of reach beside weights of 1e20 on shares of 1e-20",
            "no policy comes nearer than 14612.5",
        ),
        ("a deviation that is not found beside weights of 5e17", "the nearest policy that was found is at 1.28797"),
    ],
)
def test_a_deviation_that_is_missed_is_refused_whatever_the_weights(name: str, message: str) -> None:
    question = cases.load(name)
    with pytest.raises(InfeasibleError, match=f"max_deviation: is 0.01, and {message}"):
        calibrate(question.scores, question.categories, question.target, **question.options)
