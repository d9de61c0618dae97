"""One good ranking and even lotteries, through calibrate: against every ranking there is, with every option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr import Policy, calibrate, calibrate_path
from excalibr.errors import InfeasibleError, InputError
from tests.problems import movie_like_problem
from tests.variants import Question, any_question

pytestmark = pytest.mark.filterwarnings("ignore::excalibr.errors.TruncationWarning")

SEEDS = st.integers(0, 2**32 - 1)
DIVERGENCES = st.sampled_from(["l1", "kl"])
SLACK = 1e-3


def ask(question: Question, **more: Any) -> Policy | str:
    """The policy, or the error."""
    try:
        return calibrate(question.scores, question.categories, question.target, **question.options, **more)
    except (InfeasibleError, InputError) as error:
        return str(error)


def within_limits(question: Question, shares: np.ndarray) -> np.ndarray:
    """Which of some distributions (…, r) keep floors and caps."""
    literal = question.literal
    floors = -np.inf if literal.floors is None else literal.floors
    caps = np.inf if literal.caps is None else literal.caps
    return np.asarray(((shares >= floors - 1e-12) & (shares <= caps + 1e-12)).all(axis=-1))


@given(seed=SEEDS, divergence=DIVERGENCES, trade_off=st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))
@settings(max_examples=150)
def test_the_single_ranking_is_the_best_of_all(seed: int, divergence: str, trade_off: float) -> None:
    question = any_question(np.random.default_rng(seed), divergence)
    policy, lottery = ask(question, draws="single", trade_off=trade_off), ask(question, trade_off=trade_off)
    every = question.literal.rankings()
    if isinstance(lottery, str):
        assert isinstance(policy, str)
        return
    relevance, shares = question.literal.effects(every)
    values = (1 - trade_off) * relevance - trade_off * question.literal.cost(shares)
    kept = within_limits(question, shares)
    if not kept.any():
        assert isinstance(policy, str)
        assert "no single ranking keeps it" in policy
        return
    assert isinstance(policy, Policy)
    assert len(policy.weights) == 1
    assert question.literal.allowed(tuple(policy.rankings[0].tolist()))
    assert policy.objective == pytest.approx(values[kept].max(), abs=1e-9)
    assert policy.gap <= max(lottery.bound - policy.objective, 0.0) + 1e-9
    assert policy.bound >= values[kept].max() - 1e-9


@given(seed=SEEDS, divergence=DIVERGENCES)
@settings(max_examples=60)
def test_a_single_ranking_keeps_its_budget_as_well_as_any(seed: int, divergence: str) -> None:
    question = any_question(np.random.default_rng(seed), divergence)
    every = question.literal.rankings()
    loss, deviation = (ask(question, draws="single", **{name: 0.3}) for name in ("relevance_loss", "max_deviation"))
    if not len(every):
        assert isinstance(loss, str)
        return
    relevance, shares = question.literal.effects(every)
    costs, kept = question.literal.cost(shares), within_limits(question, shares)
    best, worst = relevance.max(), relevance.min()
    floor = best - 0.3 * (best if worst > 0 else best - worst)
    rich, near = kept & (relevance >= floor - 1e-9), kept & (costs <= 0.3 + 1e-12)
    if isinstance(loss, Policy):
        assert loss.relevance >= floor - 1e-6
        assert loss.cost == pytest.approx(costs[rich].min(), abs=1e-6)
    if isinstance(deviation, Policy):
        assert deviation.cost <= 0.3 + 1e-9
        assert deviation.relevance == pytest.approx(relevance[near].max(), abs=1e-6)


@pytest.mark.parametrize("divergence", ["l1", "kl"])
def test_a_single_ranking_of_many_beats_every_draw_of_the_lottery(divergence: str) -> None:
    for seed in range(4):
        problem = movie_like_problem(np.random.default_rng(seed), 80, 10, 12, 2, 0.4)
        rows = problem.memberships.dense()
        options = {"k": 10, "trade_off": 0.4, "divergence": divergence}
        lottery = calibrate(problem.scores, rows, problem.target, **options)  # type: ignore[arg-type]
        single = calibrate(problem.scores, rows, problem.target, draws="single", **options)  # type: ignore[arg-type]
        draws = 0.6 * lottery.draw_relevances - 0.4 * lottery.draw_costs
        assert single.objective >= draws.max()
        assert single.objective <= lottery.bound + 1e-12
        assert single.gap < 0.95 * (lottery.bound - single.objective)  # which counts shares that no ranking can show


@pytest.mark.parametrize("divergence", ["l1", "kl"])
def test_an_even_lottery_has_the_same_expectation_and_nearer_draws(divergence: str) -> None:
    plain_costs, even_costs = [], []
    for seed in range(3):
        problem = movie_like_problem(np.random.default_rng(seed), 80, 10, 12, 2, 0.4)
        rows = problem.memberships.dense()
        options: Any = {"k": 10, "trade_off": 0.4, "divergence": divergence}
        plain = calibrate(problem.scores, rows, problem.target, **options)
        even = calibrate(problem.scores, rows, problem.target, draws="even", **options)
        assert np.abs(even.shares - plain.shares).sum() <= SLACK * (1 + 1e-6)
        assert abs(even.relevance - plain.relevance) <= SLACK * np.ptp(problem.scores)
        assert even.gap >= 0.0
        plain_costs.append(float(plain.weights @ plain.draw_costs))
        even_costs.append(float(even.weights @ even.draw_costs))
    assert np.mean(even_costs) < 0.97 * np.mean(plain_costs)


def test_a_path_can_be_of_single_rankings() -> None:
    problem = movie_like_problem(np.random.default_rng(0), 60, 5, 6, 1, 0.5)
    path = calibrate_path(
        problem.scores, problem.memberships.dense(), problem.target, k=5, trade_offs=[0.2, 0.8], draws="single"
    )
    assert [len(policy.weights) for policy in path] == [1, 1]
    assert path[1].cost <= path[0].cost


def test_other_methods_have_no_other_draws() -> None:
    with pytest.raises(InputError, match="method: is 'greedy', must be 'excalibr' where draws is given"):
        calibrate([2.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1, method="greedy", draws="single")
    with pytest.raises(InputError, match="method: is 'lp', must be 'excalibr' where relevance_loss is given"):
        calibrate([2.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1, method="lp", relevance_loss=0.1)
    with pytest.raises(InputError, match="method: is 'greedy', must be 'excalibr' for what is asked beyond the paper"):
        calibrate([2.0, 1.0], [[1, 0], [0, 1]], [0.5, 0.5], k=1, method="greedy", divergence="kl")
