import dataclasses
import subprocess
import sys
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from excalibr import Policy, Problem, calibrate
from excalibr.errors import ExcalibrError, InputError, InputTypeError


def lottery() -> Policy:
    """Four candidates, two slots of weights 3/4 and 1/4, three rankings."""
    problem = Problem.of(
        [4.0, 3.0, 2.0, 1.0],
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        [0.5, 0.5],
        trade_off=0.5,
        position_weights=[3, 1],
        k=2,
    )
    rankings = np.array([[0, 2], [2, 0], [3, 1]])
    return Policy(problem, rankings, np.array([0.5, 0.3, 0.2]), gap=0.125, category_prices=np.array([0.5, -0.5]))


def test_exposure_is_the_expected_weight_of_each_candidates_slot() -> None:
    np.testing.assert_allclose(lottery().exposure, [0.45, 0.05, 0.35, 0.15], atol=1e-15)


def test_distribution_is_the_expected_share_of_each_category() -> None:
    np.testing.assert_allclose(lottery().distribution, [0.575, 0.425], atol=1e-15)


def test_relevance_deviation_and_objective_are_of_the_expectation() -> None:
    policy = lottery()
    assert policy.relevance == pytest.approx(2.8)
    assert policy.deviation == pytest.approx(0.15)
    assert policy.objective == pytest.approx(0.5 * 2.8 - 0.5 * 0.15)
    assert policy.bound == pytest.approx(policy.objective + 0.125)


def test_a_draw_is_judged_by_itself() -> None:
    policy = lottery()
    np.testing.assert_allclose(policy.draw_distributions, [[0.75, 0.25], [0.25, 0.75], [0.625, 0.375]])
    np.testing.assert_allclose(policy.draw_deviations, [0.5, 0.5, 0.25])
    np.testing.assert_allclose(policy.draw_relevances, [3.5, 2.5, 1.5])
    assert policy.weights @ policy.draw_relevances == pytest.approx(policy.relevance)
    assert policy.weights @ policy.draw_deviations >= policy.deviation


def test_the_matrix_has_a_column_of_probabilities_for_each_slot() -> None:
    matrix = lottery().matrix()
    np.testing.assert_allclose(matrix, [[0.5, 0.3], [0, 0.2], [0.3, 0.5], [0.2, 0]])
    np.testing.assert_allclose(matrix @ lottery().problem.position_weights, lottery().exposure)


def test_the_best_ranking_has_the_best_objective_of_its_own() -> None:
    assert lottery().best().tolist() == [0, 2]


def test_of_equally_good_rankings_the_heavier_one_is_best() -> None:
    problem = Problem.of([1.0, 1.0], [[1], [1]], [1.0], k=1)
    assert Policy(problem, np.array([[1], [0]]), np.array([0.6, 0.4])).best().tolist() == [1]
    assert Policy(problem, np.array([[1], [0]]), np.array([0.4, 0.6])).best().tolist() == [0]


def test_a_draw_is_one_ranking_of_the_lottery_and_many_are_rows() -> None:
    policy = lottery()
    assert policy.sample(seed=1).shape == (2,)
    assert policy.sample(seed=1, size=5).shape == (5, 2)
    assert policy.sample(seed=1, size=0).shape == (0, 2)
    assert policy.sample().tolist() in policy.rankings.tolist()


def test_draws_are_these_on_every_machine() -> None:
    draws = lottery().sample(seed=7, key="ada", size=8)
    assert draws[:, 0].tolist() == [0, 3, 0, 0, 0, 3, 2, 0]
    assert [lottery().sample(seed=7, key=("user", number))[0] for number in range(8)] == [2, 2, 0, 0, 0, 2, 2, 3]


def test_another_process_draws_the_same_ranking() -> None:
    program = (
        "from tests.policy.test_policy import lottery\n"
        "print([lottery().sample(seed=3, key=('ada', day)).tolist() for day in range(20)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([lottery().sample(seed=3, key=("ada", day)).tolist() for day in range(20)])


def test_a_slate_is_stable_for_a_user_and_a_day() -> None:
    policy = lottery()
    assert (
        policy.sample(seed=1, key=("ada", "2030-01-31")).tolist()
        == policy.sample(seed=1, key=("ada", "2030-01-31")).tolist()
    )
    assert policy.sample(key="ada").tolist() == policy.sample(key="ada").tolist()


def test_draws_under_one_key_come_as_often_as_the_lottery_says() -> None:
    check_frequencies(lottery().sample(seed=5, key="ada", size=20_000)[:, 0])


def test_draws_over_many_keys_come_as_often_as_the_lottery_says() -> None:
    policy = lottery()
    check_frequencies(np.array([policy.sample(seed=5, key=user)[0] for user in range(20_000)]))


def check_frequencies(first: np.ndarray) -> None:
    """The first slots 0, 2 and 3 name the three rankings; four standard errors either way."""
    for candidate, weight in zip((0, 2, 3), (0.5, 0.3, 0.2), strict=True):
        share = float((first == candidate).mean())
        assert abs(share - weight) < 4.0 * np.sqrt(weight * (1.0 - weight) / len(first))


def test_the_mean_of_many_draws_is_the_matrix() -> None:
    policy, size = lottery(), 20_000
    drawn = policy.sample(seed=11, size=size)
    shares = np.stack([np.bincount(slot, minlength=4) / size for slot in drawn.T], axis=1)
    np.testing.assert_allclose(shares, policy.matrix(), atol=4.0 * 0.5 / np.sqrt(size))


def test_neighbouring_keys_and_other_seeds_are_independent() -> None:
    policy = lottery()
    draws = np.array([policy.sample(seed=5, key=user)[0] for user in range(5000)])
    others = np.array([policy.sample(seed=6, key=user)[0] for user in range(5000)])
    for left, right in ((draws[:-1], draws[1:]), (draws, others)):
        agree = float((left == right).mean())
        assert agree == pytest.approx(0.5**2 + 0.3**2 + 0.2**2, abs=4.0 * 0.5 / np.sqrt(5000))


@pytest.mark.parametrize(
    ("size", "error"), [(-1, InputError), (2.5, InputTypeError), (True, InputTypeError), ("3", InputTypeError)]
)
def test_a_wrong_number_of_draws_is_refused(size: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="size: is .*, must be a whole number of at least 0"):
        lottery().sample(seed=1, size=size)  # type: ignore[arg-type]


def test_a_policy_cannot_be_changed() -> None:
    policy = lottery()
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.gap = 0.0  # type: ignore[misc]
    for array in (policy.rankings, policy.weights, policy.prices, policy.exposure, policy.distribution):
        assert array is not None
        assert not array.flags.writeable


def test_a_policy_leaves_the_arrays_that_it_was_given_writable() -> None:
    weights = np.array([1.0])
    Policy(lottery().problem, np.array([[0, 1]]), weights)
    weights[0] = 0.5
    assert weights.tolist() == [0.5]


@pytest.mark.parametrize(
    ("rankings", "weights", "message"),
    [
        ([[0, 4]], [1.0], r"rankings: row 0 is \[0, 4\], must have different candidates, from 0 to 3"),
        ([[0, 1], [2, 2]], [0.5, 0.5], r"rankings: row 1 is \[2, 2\], must have different candidates"),
        ([[-1, 1]], [1.0], r"rankings: row 0 is \[-1, 1\], must have different"),
        ([0, 1], [1.0], r"rankings: have shape \(2,\) .*must be whole numbers of shape \(rankings, 2\)"),
        ([[0]], [1.0], r"rankings: have shape \(1, 1\)"),
        ([[0.0, 1.0]], [1.0], "rankings: .* type float64, must be whole numbers"),
        ([[0, 1], [2]], [1.0], "rankings: cannot be read as whole numbers"),
        (np.empty((0, 2), dtype=int), [], "rankings: are empty, must have at least one"),
        ([[0, 1]], [0.5, 0.5], r"weights: have shape \(2,\), must have shape \(1,\), one for each ranking"),
        ([[0, 1]], [2.0], "weights: sum to 2, must sum to 1"),
        ([[0, 1], [1, 0]], [1.5, -0.5], "weights: element 1 is -0.5, must be finite and at least 0"),
        ([[0, 1]], [np.nan], "weights: element 0 is nan"),
        ([[0, 1]], ["1"], "weights: cannot be read as numbers"),
    ],
)
def test_a_lottery_that_cannot_be_is_refused(rankings: Any, weights: Any, message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        Policy(lottery().problem, rankings, weights)


def test_prices_of_another_number_of_categories_are_refused() -> None:
    prices: Any = np.zeros(lottery().problem.r + 1)
    with pytest.raises(
        InputError, match=r"category_prices: have shape \(.*\), must have shape .*, one for each category"
    ):
        Policy(lottery().problem, lottery().rankings, lottery().weights, category_prices=prices)


def test_a_lottery_may_be_written_as_lists() -> None:
    written: Any = [[0, 2], [2, 0], [3, 1]], [0.5, 0.3, 0.2]
    assert Policy(lottery().problem, *written).exposure.tolist() == lottery().exposure.tolist()


def test_the_repr_says_what_it_is_and_what_was_proven() -> None:
    assert repr(lottery()) == (
        "Policy(excalibr: 3 rankings of 2 from 4 candidates, trade_off 0.5, relevance 2.8, deviation 0.15, gap 1.2e-01)"
    )
    unproven = Policy(lottery().problem, np.array([[0, 1]]), np.ones(1), method="greedy")
    assert repr(unproven).startswith("Policy(greedy: 1 ranking of 2 ")
    assert repr(unproven).endswith("nothing proven)")


def test_a_method_that_proves_nothing_has_no_gap_and_no_bound() -> None:
    policy = Policy(lottery().problem, np.array([[0, 1]]), np.ones(1))
    assert policy.gap is nan or np.isnan(policy.gap)
    assert not policy.bound < inf
    assert policy.prices is None


def test_the_best_ranking_is_so_with_what_its_items_cost() -> None:
    problem = Problem.of([2.0, 1.0], [[1], [1]], [1.0], k=1, trade_off=0.0)
    rankings, halves = np.array([[0], [1]]), np.array([0.5, 0.5])
    assert Policy(problem, rankings, halves).best().tolist() == [0]
    assert Policy(problem.with_item_prices([1.5, 0.0]), rankings, halves).best().tolist() == [1]


def test_a_budget_has_the_trade_off_that_it_was_found_at() -> None:
    question = ([0.9, 0.8, 0.5, 0.4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.5, 0.5])
    policy = calibrate(*question, k=2, relevance_loss=0.05)
    again = calibrate(*question, k=2, trade_off=policy.problem.trade_off)
    assert policy.problem.trade_off != 0.5
    assert policy.objective == pytest.approx(again.objective, abs=1e-12)
    assert policy.bound >= again.objective - 1e-12


def test_a_policy_takes_lists_as_well_as_arrays() -> None:
    problem = lottery().problem
    listed = Policy(problem, [[0, 2], [2, 0]], [0.75, 0.25], category_prices=[0.5, -0.5])
    assert listed.rankings.dtype == np.int64
    assert listed.weights.tolist() == [0.75, 0.25]
    assert listed.category_prices is not None
    assert listed.category_prices.tolist() == [0.5, -0.5]
