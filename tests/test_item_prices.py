"""Prices of items: subtracted from the gains of one request and of a batch, whatever is asked besides."""

from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr.errors import InputError

RANDOM_QUESTIONS = range(25)


def asked(seed: Any, n: int = 12, r: int = 3) -> Any:
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.ones(r), n)
    return random.random(n), rows, random.dirichlet(np.ones(r)), random.normal(0.0, 0.2, n)


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", RANDOM_QUESTIONS)
def test_optimum_is_that_of_the_literal_program(seed: Any, trade_off: Any) -> None:
    scores, rows, target, prices = asked(seed)
    policy = excalibr.calibrate(scores, rows, target, k=4, trade_off=trade_off, item_prices=prices)
    literal = excalibr.calibrate(scores, rows, target, k=4, trade_off=trade_off, item_prices=prices, method="lp")
    assert policy.objective == pytest.approx(literal.objective, abs=1e-9)
    assert policy.gap <= 1e-9


@pytest.mark.parametrize("seed", RANDOM_QUESTIONS)
def test_prices_are_the_same_as_lower_scores(seed: Any) -> None:
    scores, rows, target, prices = asked(seed)
    policy = excalibr.calibrate(scores, rows, target, k=4, trade_off=0.25, item_prices=prices)
    lower = excalibr.calibrate(scores - prices / 0.75, rows, target, k=4, trade_off=0.25)
    assert policy.objective == pytest.approx(lower.objective, abs=1e-9)
    assert policy.relevance == pytest.approx(float(scores @ policy.exposure))


@pytest.mark.parametrize("options", [{"pinned": {0: 5}}, {"floors": [0.2, 0.0, 0.0]}, {"divergence": "kl"}])
def test_prices_go_with_pins_limits_and_kl(options: Any) -> None:
    scores, rows, target, prices = asked(3)
    policy = excalibr.calibrate(scores, rows, target, k=4, trade_off=0.4, item_prices=prices, **options)
    assert policy.gap <= 1e-8
    lower = excalibr.calibrate(scores - prices / 0.6, rows, target, k=4, trade_off=0.4, **options)
    assert policy.objective == pytest.approx(lower.objective, abs=1e-7)


def test_single_draws_count_the_prices() -> None:
    scores, rows, target, prices = asked(4)
    policy = excalibr.calibrate(scores, rows, target, k=4, item_prices=prices, draws="single")
    bound = excalibr.calibrate(scores, rows, target, k=4, item_prices=prices).bound
    assert policy.bound == pytest.approx(bound, abs=1e-9)


def test_a_dear_item_is_not_shown_and_a_cheap_one_is() -> None:
    prices = np.zeros(12)
    prices[3], prices[7] = 10.0, -10.0
    scores, rows, target, _ = asked(5)
    policy = excalibr.calibrate(scores, rows, target, k=4, item_prices=prices)
    assert policy.exposure[3] == 0.0
    assert (policy.rankings[:, 0] == 7).all()


def test_explanation_has_the_prices_in_the_adjusted_scores() -> None:
    scores, rows, target, prices = asked(6)
    policy = excalibr.calibrate(scores, rows, target, k=4, item_prices=prices)
    why = policy.explain()
    adjusted = 0.5 * scores - prices - rows @ policy.prices
    np.testing.assert_allclose(why.items.adjusted_score, adjusted[why.items.candidate])


@pytest.mark.parametrize("method", ["excalibr", "greedy"])
def test_batch_is_the_same_as_one_by_one(method: Any) -> None:
    users = [asked(seed) for seed in range(5)]
    scores = np.concatenate([user[0] for user in users])
    rows, prices = np.concatenate([user[1] for user in users]), np.concatenate([user[3] for user in users])
    targets = np.array([user[2] for user in users])
    together = excalibr.calibrate_batch(
        scores, np.arange(6) * 12, rows, targets, k=4, item_prices=prices, method=method
    )
    for policy, (own_scores, own_rows, target, own_prices) in zip(together, users, strict=True):
        alone = excalibr.calibrate(own_scores, own_rows, target, k=4, item_prices=own_prices, method=method)
        np.testing.assert_array_equal(policy.rankings, alone.rankings)
        np.testing.assert_array_equal(policy.weights, alone.weights)
        assert policy.objective == alone.objective


def test_a_path_counts_the_prices_at_every_trade_off() -> None:
    scores, rows, target, prices = asked(7)
    path = excalibr.calibrate_path(scores, rows, target, k=4, item_prices=prices, trade_offs=[0.2, 0.8])
    for policy in path:
        alone = excalibr.calibrate(scores, rows, target, k=4, item_prices=prices, trade_off=policy.problem.trade_off)
        assert policy.objective == pytest.approx(alone.objective, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"item_prices": [1.0]}, r"item_prices: have shape \(1,\), must have shape \(12,\)"),
        ({"item_prices": [np.nan] * 12}, r"item_prices: element 0 is nan, must be within ±1e\+150"),
        ({"item_prices": [0.0, -1e151] + [0.0] * 10}, r"item_prices: element 1 is -1e\+151, must be within ±1e\+150"),
        ({"item_prices": [0.0] * 12, "relevance_loss": 0.1}, "relevance_loss: is given with prices of items"),
    ],
)
def test_bad_prices_are_refused(options: Any, says: Any) -> None:
    scores, rows, target, _ = asked(0)
    with pytest.raises(InputError, match=says):
        excalibr.calibrate(scores, rows, target, k=4, **options)


def test_a_frontier_has_no_prices() -> None:
    scores, rows, target, prices = asked(0)
    with pytest.raises(InputError, match="item_prices: is given, must be left out"):
        excalibr.frontier(scores, rows, target, k=4, item_prices=prices)
