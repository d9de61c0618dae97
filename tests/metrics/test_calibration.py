"""Divergences (worked examples, limits, bounds, symmetries), and deviation of the expectation and of a draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr import Band, Policy, Problem, calibrate, errors
from excalibr._types import Floats
from excalibr.errors import InputError
from excalibr.metrics import (
    DIVERGENCES,
    Deviation,
    deviation,
    deviation_over_ranks,
    exposure_by_category,
    hellinger,
    jensen_shannon,
    kl,
    l1,
)
from excalibr.metrics._calibration import prefix_distributions
from tests.metrics.lotteries import random_lottery

SHARES = st.one_of(st.just(0.0), st.floats(min_value=0.0, max_value=1.0))
BOUNDS = {"kl": np.log(100.0), "l1": 2.0, "hellinger": 1.0, "jensen_shannon": np.log(2.0)}
CONVEX = ("kl", "l1", "jensen_shannon")


@st.composite
def distributions(draw: st.DrawFn, count: int) -> Floats:
    """(count, r) distributions, with zeros, tiny shares and single categories among them."""
    r = draw(st.integers(min_value=1, max_value=6))
    rows = np.array(draw(st.lists(st.lists(SHARES, min_size=r, max_size=r), min_size=count, max_size=count)))
    rows[rows.sum(axis=1) < 1e-3, 0] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", DIVERGENCES)
@given(pair=distributions(2))
def test_divergence_is_within_its_bounds(name: str, pair: Floats) -> None:
    assert 0.0 <= DIVERGENCES[name](*pair) <= BOUNDS[name] + 1e-9


@pytest.mark.parametrize("name", DIVERGENCES)
@given(rows=distributions(1))
def test_divergence_of_the_target_itself_is_nothing(name: str, rows: Floats) -> None:
    assert DIVERGENCES[name](rows[0], rows[0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["l1", "hellinger", "jensen_shannon"])
@given(pair=distributions(2))
def test_divergence_is_symmetric(name: str, pair: Floats) -> None:
    measure = DIVERGENCES[name]
    assert measure(pair[0], pair[1]) == pytest.approx(float(measure(pair[1], pair[0])), abs=1e-12)


@pytest.mark.parametrize("name", CONVEX)
@given(rows=distributions(4), tilt=st.floats(min_value=0.0, max_value=1.0))
def test_divergence_of_a_mixture_is_at_most_the_mixture_of_divergences(name: str, rows: Floats, tilt: float) -> None:
    measure, target, weights = DIVERGENCES[name], rows[3], np.array([tilt, 1.0 - tilt, 1.0]) / 2.0
    assert measure(weights @ rows[:3], target) <= weights @ measure(rows[:3], target) + 1e-12


def test_hellinger_of_a_mixture_may_exceed_the_mixture_of_hellingers() -> None:
    target, draws = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.9, 0.1]])
    assert hellinger(draws.mean(axis=0), target) > hellinger(draws, target).mean()


@pytest.mark.parametrize("name", DIVERGENCES)
@given(rows=distributions(4))
def test_many_distributions_at_once_are_measured_one_by_one(name: str, rows: Floats) -> None:
    measure = DIVERGENCES[name]
    together = measure(rows[:3].reshape(3, 1, -1), rows[3])
    assert together.shape == (3, 1)
    assert together.ravel().tolist() == [float(measure(row, rows[3])) for row in rows[:3]]


def test_kl_of_a_worked_example() -> None:
    """q = (1/2, 1/2), p = (1, 0): p̃ = (0.995, 0.005), KL = ½·ln(0.5/0.995) + ½·ln(0.5/0.005) = ½·ln(50.2513)."""
    assert kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(0.5 * np.log(0.25 / (0.995 * 0.005)))
    assert kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(1.9585, abs=5e-5)


def test_kl_ignores_categories_that_are_not_wanted() -> None:
    assert kl([0.5, 0.5, 0.0], [1.0, 0.0, 0.0]) == kl([0.5, 0.2, 0.3], [1.0, 0.0, 0.0])


def test_kl_is_finite_where_a_wanted_category_is_missing() -> None:
    assert kl([0.0, 1.0], [1.0, 0.0]) == pytest.approx(np.log(100.0))


def test_kl_without_smoothing_is_infinite_there() -> None:
    assert kl([0.0, 1.0], [1.0, 0.0], smoothing=0.0) == np.inf


def test_divergences_take_shares_too_small_to_halve() -> None:
    for measure in DIVERGENCES.values():
        assert measure([1.0, 0.0], [1.0, 5e-324]) == pytest.approx(0.0, abs=1e-12)
        assert measure([1.0, 5e-324], [1.0, 0.0]) == pytest.approx(0.0, abs=1e-12)


def test_worked_examples_of_the_symmetric_ones() -> None:
    """Half in common: |½−1| + |½−0| = 1; 1 − √½ = H²; JS = ½(½ ln(½/¾) + ½ ln 2) + ½ ln(1/¾)."""
    p, q = [0.5, 0.5], [1.0, 0.0]
    assert l1(p, q) == 1.0
    assert hellinger(p, q) ** 2 == pytest.approx(1.0 - np.sqrt(0.5))
    assert jensen_shannon(p, q) == pytest.approx(0.5 * (0.5 * np.log(2 / 3) + 0.5 * np.log(2)) + 0.5 * np.log(4 / 3))


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ([1.0], r"distribution: has shape \(1,\) and the target \(2,\)"),
        ([1.5, -0.5], r"distribution: has a share of -0\.5, must have shares of at least 0"),
        ([np.nan, 1.0], "distribution: has a share of nan"),
    ],
)
def test_errors_say_what_is_no_distribution(name: str, distribution: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DIVERGENCES[name](distribution, [0.5, 0.5])


@pytest.mark.parametrize("smoothing", [2, -0.1, np.nan])
def test_kl_takes_no_smoothing_beyond_one(smoothing: float) -> None:
    with pytest.raises(InputError, match=f"smoothing: is {smoothing}, must be from 0 to 1"):
        kl([1.0, 0.0], [0.5, 0.5], smoothing=smoothing)


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


@pytest.mark.parametrize("measure", [deviation, deviation_over_ranks])
def test_the_categories_of_several_attributes_count_together(measure: Callable[[Policy, str], Deviation]) -> None:
    rows, scores = np.array([[1, 0], [1, 0], [0, 1]]), [0.9, 0.8, 0.5]
    several = calibrate(scores, {"genre": rows, "age": rows[:, ::-1]}, {"genre": [0.5, 0.5], "age": [0.3, 0.7]}, k=2)
    apart = [
        Policy(Problem.of(scores, own, target, k=2), several.rankings, several.weights)
        for own, target in ((rows, [0.5, 0.5]), (rows[:, ::-1], [0.3, 0.7]))
    ]
    for name in ("l1", "kl", "jensen_shannon"):
        summed = sum(measure(policy, name).of_expectation for policy in apart)
        assert measure(several, name).of_expectation == pytest.approx(summed, abs=1e-12)
    if measure is deviation:
        assert measure(several, "l1").of_expectation == pytest.approx(sum(several.deviation.values()), abs=1e-12)


@pytest.mark.parametrize("measure", [deviation, deviation_over_ranks])
def test_a_band_is_no_distribution_to_diverge_from(measure: Callable[[Policy, str], Deviation]) -> None:
    policy = calibrate([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], Band([0.2, 0.2], [0.8, 0.8]), k=2)
    with pytest.raises(InputError, match="policy: has a band for a target, must have one share for each category"):
        measure(policy, "l1")
