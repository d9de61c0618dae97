"""Deviation of the expectation and of a draw, over whole lists and over ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr import Policy, Problem, errors
from excalibr.metrics import DIVERGENCES, deviation, deviation_over_ranks, exposure_by_category, kl, l1
from excalibr.metrics._calibration import prefix_distributions
from tests.metrics.lotteries import random_lottery

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def coin(weight: float = 0.5) -> Policy:
    """One slot; the first category with this probability, where half is wanted."""
    problem = Problem.of([1.0, 1.0], np.eye(2), [0.5, 0.5], k=1)
    return Policy(problem, rankings=np.array([[0], [1]]), weights=np.array([weight, 1.0 - weight]))


def test_coin_is_right_in_expectation_and_wrong_in_every_draw() -> None:
    measured = deviation(coin(), "kl")
    assert measured.of_expectation == pytest.approx(0.0, abs=1e-15)
    assert measured.of_draw_mean == pytest.approx(float(kl([1.0, 0.0], [0.5, 0.5])))
    assert measured.of_draw_worst == pytest.approx(measured.of_draw_mean)


def test_worst_draw_is_the_worst_and_not_the_likeliest() -> None:
    problem = Problem.of([1.0, 1.0], np.eye(2), [0.8, 0.2], k=1)
    measured = deviation(Policy(problem, np.array([[0], [1]]), np.array([0.9, 0.1])), "l1")
    assert measured.of_expectation == pytest.approx(0.2)
    assert measured.of_draw_mean == pytest.approx(0.9 * 0.4 + 0.1 * 1.6)
    assert measured.of_draw_worst == pytest.approx(1.6)


@given(SEEDS)
def test_l1_is_the_deviation_that_the_policy_reports(seed: int) -> None:
    policy = random_lottery(seed)
    measured = deviation(policy, "l1")
    assert measured.of_expectation == pytest.approx(policy.deviation, abs=1e-12)
    assert measured.of_draw_mean == pytest.approx(float(policy.weights @ policy.draw_deviations), abs=1e-12)
    assert measured.of_draw_worst == pytest.approx(float(policy.draw_deviations.max()), abs=1e-12)


@pytest.mark.parametrize("divergence", ["kl", "l1", "jensen_shannon"])
@given(seed=SEEDS)
def test_expectation_deviates_at_most_as_draws_do_in_the_mean(divergence: str, seed: int) -> None:
    policy = random_lottery(seed)
    for measured in (deviation(policy, divergence), deviation_over_ranks(policy, divergence)):
        assert measured.of_expectation <= measured.of_draw_mean + 1e-12
        assert measured.of_draw_mean <= measured.of_draw_worst + 1e-12


@pytest.mark.parametrize("divergence", DIVERGENCES)
@given(seed=SEEDS)
def test_single_ranking_deviates_the_same_in_every_sense(divergence: str, seed: int) -> None:
    lottery = random_lottery(seed)
    policy = Policy(lottery.problem, lottery.rankings[:1], np.ones(1))
    for measured in (deviation(policy, divergence), deviation_over_ranks(policy, divergence)):
        assert measured.of_expectation == pytest.approx(measured.of_draw_mean, abs=1e-12)
        assert measured.of_draw_mean == measured.of_draw_worst


def test_deviation_over_ranks_of_a_worked_example() -> None:
    """Weights 2/4, 1/4, 1/4 on categories 0, 0, 1: prefixes (1, 0), (1, 0), (3/4, 1/4); target (1/2, 1/2)."""
    problem = Problem.of([1.0] * 3, np.eye(2)[[0, 0, 1]], [0.5, 0.5], position_weights=[2, 1, 1])
    policy = Policy(problem, np.array([[0, 1, 2]]), np.ones(1))
    assert prefix_distributions(policy)[0].tolist() == [[1.0, 0.0], [1.0, 0.0], [0.75, 0.25]]
    assert deviation_over_ranks(policy, "l1").of_expectation == pytest.approx((1.0 + 1.0 + 0.5) / 3)


def test_worst_draw_over_ranks_is_one_ranking_throughout() -> None:
    """Each ranking is off by 1 in the first slot only: the worst has the mean ½, not the worst of each rank."""
    problem = Problem.of([1.0, 1.0], np.eye(2), [0.5, 0.5], position_weights="uniform")
    policy = Policy(problem, np.array([[0, 1], [1, 0]]), np.array([0.5, 0.5]))
    measured = deviation_over_ranks(policy, "l1")
    assert (measured.of_expectation, measured.of_draw_mean, measured.of_draw_worst) == (0.0, 0.5, 0.5)


def test_prefixes_that_nobody_sees_are_left_out() -> None:
    problem = Problem.of([1.0, 1.0], np.eye(2), [0.5, 0.5], position_weights=[0, 1])
    policy = Policy(problem, np.array([[0, 1]]), np.ones(1))
    assert deviation_over_ranks(policy, "l1").of_expectation == 1.0


@given(SEEDS)
def test_last_prefix_is_the_whole_ranking(seed: int) -> None:
    policy = random_lottery(seed)
    wholes = [prefix[-1] for prefix in prefix_distributions(policy)]
    np.testing.assert_allclose(wholes, policy.draw_distributions, atol=1e-12)


@given(SEEDS)
def test_exposure_by_category_sums_to_one(seed: int) -> None:
    policy = random_lottery(seed)
    exposure = exposure_by_category(policy)
    assert exposure.sum() == pytest.approx(1.0)
    assert float(l1(exposure, policy.problem.target)) == pytest.approx(policy.deviation, abs=1e-12)


def test_unknown_divergence_is_named_with_the_known_ones() -> None:
    with pytest.raises(errors.InputError, match="divergence: is 'helinger'.*did you mean 'hellinger'"):
        deviation(coin(), "helinger")
