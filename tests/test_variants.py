"""Every option of ``calibrate``, alone and mixed, against the literal program over all rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from excalibr import Policy, calibrate
from excalibr.errors import InfeasibleError, InputError
from tests.literal import best_value
from tests.variants import Question, any_question

pytestmark = pytest.mark.filterwarnings("ignore::excalibr.errors.TruncationWarning")

SEEDS = st.integers(0, 2**32 - 1)
TOLERANCES = {"l1": 1e-7, "kl": 2e-6}


def ask(question: Question, **more: Any) -> Policy | None:
    """The policy, or None where there is no room or the limits cannot be kept."""
    try:
        return calibrate(question.scores, question.categories, question.target, **question.options, **more)
    except InfeasibleError:
        return None
    except InputError as error:
        if "may be shown together" in str(error) or "keep that limit" in str(error):
            return None
        raise


def drawn(seed: int, divergence: str) -> Question:
    if divergence == "kl":
        pytest.importorskip("cvxpy")
    return any_question(np.random.default_rng(seed), divergence)


def check_lottery(question: Question, policy: Policy) -> None:
    """The rankings are allowed, the limits kept, and what the policy says of itself is so."""
    literal = question.literal
    assert all(literal.allowed(tuple(ranking)) for ranking in policy.rankings.tolist())
    assert all(len(set(ranking)) == len(ranking) for ranking in policy.rankings.tolist())
    assert policy.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert len(policy.weights) <= policy.problem.r + 1
    relevance, shares = literal.effects(policy.rankings)
    mixed = policy.weights @ shares
    assert policy.relevance == pytest.approx(policy.weights @ relevance, abs=1e-12)
    assert policy.cost == pytest.approx(float(literal.cost(mixed)), abs=1e-9)
    assert policy.draw_costs == pytest.approx(literal.cost(shares), abs=1e-9)
    if literal.floors is not None:
        assert (mixed >= literal.floors - 2e-7).all()
    if literal.caps is not None:
        assert (mixed <= literal.caps + 2e-7).all()


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@given(seed=SEEDS, trade_off=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
@settings(max_examples=150)
def test_the_optimum_is_that_of_the_literal_program(divergence: str, seed: int, trade_off: float) -> None:
    question = drawn(seed, divergence)
    policy = ask(question, trade_off=trade_off)
    if not len(question.literal.rankings()):
        assert policy is None
        return
    value = best_value(question.literal, trade_off)
    assume(value is None or np.isfinite(value))
    assert (value is None) == (policy is None)
    if policy is None or value is None:
        return
    check_lottery(question, policy)
    assert policy.objective == pytest.approx(value, abs=TOLERANCES[divergence])
    assert policy.gap <= 1e-9 * max(1.0, float(np.ptp(policy.problem.gains)))
    assert policy.bound >= value - TOLERANCES[divergence]


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@given(seed=SEEDS, relevance_loss=st.sampled_from([0.0, 0.02, 0.2, 1.0]))
@settings(max_examples=60)
def test_a_loss_of_relevance_is_spent_as_the_literal_program_spends_it(
    divergence: str, seed: int, relevance_loss: float
) -> None:
    question = drawn(seed, divergence)
    policy = ask(question, relevance_loss=relevance_loss)
    every = question.literal.rankings()
    if not len(every):
        assert policy is None
        return
    relevance, _ = question.literal.effects(every)
    best, worst = relevance.max(), relevance.min()
    floor = best - relevance_loss * (best if worst > 0 else best - worst)
    least = best_value(question.literal, 1.0, relevance_at_least=floor - 1e-12)
    assume(least is None or np.isfinite(least))
    assert (least is None) == (policy is None)
    if policy is None or least is None:
        return
    check_lottery(question, policy)
    assert policy.relevance >= floor - 1e-9
    assert policy.cost == pytest.approx(-least, abs=1e-6 + TOLERANCES[divergence])


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@given(seed=SEEDS, max_deviation=st.sampled_from([0.02, 0.1, 0.5, 3.0]))
@settings(max_examples=60)
def test_a_deviation_is_allowed_as_the_literal_program_allows_it(
    divergence: str, seed: int, max_deviation: float
) -> None:
    question = drawn(seed, divergence)
    policy = ask(question, max_deviation=max_deviation)
    if not len(question.literal.rankings()):
        assert policy is None
        return
    most = best_value(question.literal, 0.0, cost_at_most=max_deviation)
    assume(most is None or np.isfinite(most))
    if policy is None or most is None:
        nearest = best_value(question.literal, 1.0)
        assert nearest is None or np.isnan(nearest) or -nearest >= max_deviation - 1e-6
        return
    check_lottery(question, policy)
    assert policy.cost <= max_deviation + 1e-8
    assert policy.relevance == pytest.approx(most, abs=1e-5)
