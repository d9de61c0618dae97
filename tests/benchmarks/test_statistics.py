from __future__ import annotations

import numpy as np
import pytest

from benchmarks.statistics import (
    change_of_means,
    excess,
    exponent,
    mean_of,
    median_of,
    ratio_of_means,
    ratio_of_rounds,
    ratio_of_sets,
    ratio_of_typical,
    summarise,
)


@pytest.mark.parametrize("power", [-0.5, 0.0, 1.0, 1.7])
def test_exponent_of_an_exact_power_law(power: float) -> None:
    sizes = np.array([10.0, 50.0, 200.0, 1000.0])
    found = exponent(sizes, [[3.0 * size**power] * 4 for size in sizes])
    assert found.value == pytest.approx(power)
    assert (found.low, found.high) == pytest.approx((power, power))


def test_summary_is_over_problems_at_the_median_of_their_rounds() -> None:
    found = summarise([[1.0, 1.0, 99.0], [3.0, 3.0, 3.0], [2.0, 0.0, 2.0]])
    assert (found.median, found.mean, found.worst) == (2.0, 2.0, 3.0)
    assert 2.9 < found.p99 <= 3.0


def test_ratio_of_proportional_times_is_exact() -> None:
    ours = np.random.default_rng(1).uniform(1.0, 2.0, (20, 3))
    found = ratio_of_means(400.0 * ours, ours)
    assert (found.value, found.low, found.high) == pytest.approx((400.0, 400.0, 400.0))
    assert found.width == pytest.approx(0.0, abs=1e-12)


def test_a_drift_that_both_have_cancels() -> None:
    drift = np.array([1.0, 1.5, 3.0])
    ours = np.random.default_rng(1).uniform(1.0, 2.0, (20, 1)) * drift
    theirs = np.full((20, 1), 300.0) * drift
    steady = ratio_of_means(theirs[:, :1], ours[:, :1])
    assert ratio_of_means(theirs, ours).value == pytest.approx(steady.value)
    assert ratio_of_means(theirs, ours).width == pytest.approx(steady.width, rel=0.2)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        theirs, ours = random.gamma(20.0, 15.0, (40, 1)), random.gamma(9.0, 1.0 / 9.0, (40, 1))
        covered += ratio_of_means(theirs, ours).contains(300.0)
    assert 0.87 <= covered / 200 <= 0.99


def test_one_more_round_lies_inside_the_interval_of_rounds_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(4)
    inside = 0
    for _ in range(200):
        moods = random.lognormal(0.0, 0.05, 7)
        theirs, ours = np.full((30, 7), 300.0), np.ones((30, 1)) * moods
        found = ratio_of_rounds(theirs[:, :6], ours[:, :6])
        inside += found.contains(float((theirs[:, 6] / ours[:, 6]).mean()))
    assert 0.88 <= inside / 200 <= 0.99


def test_an_interval_of_one_round_is_that_of_its_problems() -> None:
    random = np.random.default_rng(5)
    theirs, ours = random.gamma(20.0, 15.0, (40, 1)), random.gamma(9.0, 1.0 / 9.0, (40, 1))
    plain, found = ratio_of_means(theirs, ours), ratio_of_rounds(theirs, ours)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high), rel=0.02)


def test_strata_do_not_count_as_chance() -> None:
    trade_offs = [0.1, 0.5, 0.9] * 10
    ours = np.array([{0.1: 1.0, 0.5: 2.0, 0.9: 6.0}[trade_off] for trade_off in trade_offs])
    theirs = np.full(30, 300.0)
    assert ratio_of_means(theirs, ours, trade_offs).width == pytest.approx(0.0, abs=1e-12)
    assert ratio_of_means(theirs, ours).width > 0.1


def test_strata_of_a_single_problem_are_resampled_together() -> None:
    assert ratio_of_means([300.0, 300.0, 300.0], [1.0, 2.0, 6.0], [0.1, 0.5, 0.9]).width > 0.1


def test_a_method_with_fewer_rounds_is_compared_in_those() -> None:
    ours = np.array([[1.0, 50.0], [3.0, 50.0]])
    assert ratio_of_means([[20.0], [20.0]], ours).value == pytest.approx(10.0)


def test_sets_of_different_size_compare() -> None:
    assert ratio_of_sets(np.full((5, 2), 8.0), np.full((9, 3), 2.0)).value == pytest.approx(4.0)


def test_a_bad_round_does_not_move_the_ratio_of_typical_times() -> None:
    old = np.random.default_rng(1).uniform(1.0, 2.0, (30, 1)) * np.ones((1, 5))
    new = 0.5 * old
    new[:, 2] = 40.0
    found = ratio_of_typical(new, old)
    assert found.value == pytest.approx(0.5)
    assert ratio_of_means(new, old).value > 3.0


def test_the_interval_of_typical_times_covers_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(50):
        hard = random.uniform(0.5, 2.0, (40, 1))
        new, old = (level * hard * random.lognormal(0.0, 0.2, (40, 4)) for level in (0.7, 1.0))
        covered += ratio_of_typical(new, old).contains(0.7)
    assert covered >= 43


def test_excess_is_of_pairs() -> None:
    found = excess([5.0, 2.0, 9.0], [4.0, 1.0, 8.0])
    assert (found.low, found.value, found.high) == (1.0, 1.0, 1.0)


def test_means_and_medians_with_intervals() -> None:
    mean = mean_of([[1.0, 1.0, 50.0], [3.0, 3.0, 3.0]])
    assert mean.value == 2.0
    assert 1.0 <= mean.low < mean.high
    median = median_of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert median.value == 3.0
    assert median.low < 3.0 < median.high


def test_change_is_between_the_rounds_of_two_runs() -> None:
    old = np.random.default_rng(1).uniform(1.0, 5.0, (20, 2))
    found = change_of_means(
        np.repeat(1.2 * old.mean(axis=1), 3).reshape(20, 3), np.repeat(old.mean(axis=1), 2).reshape(20, 2)
    )
    assert (found.low, found.value, found.high) == pytest.approx((1.2, 1.2, 1.2))
