"""The surrogate of users' values, held against sorting by adjusted scores and against a pass."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import excalibr
from excalibr._population.warm_start import SurrogateModel, warm_start_prices
from tests.population.whole_program import random_case


def surrogate(case: Any) -> Any:
    """The model at the category prices of a pass without prices, and that pass."""
    found = case.population.run(np.zeros(case.groups.shape[1]), surrogate=True)
    return found.surrogates[0], found


def naive_value(case: Any, model: SurrogateModel, item_prices: Any) -> float:
    """Everybody's adjusted scores less the prices, sorted, times the position weights."""
    weights, users = excalibr.positions.position_weights("log", case.k), len(case.scores)
    best = -np.sort(-(model.adjusted - item_prices.reshape(users, -1)), axis=1)[:, : case.k]
    return float(case.user_weights @ (best @ weights))


@pytest.mark.parametrize("seed", range(4))
def test_the_surrogate_is_a_sort_and_its_gradient_the_exposure(seed: int) -> None:
    case = random_case(seed)
    model, _ = surrogate(case)
    item_prices = 0.1 * np.random.default_rng(seed).normal(size=len(case.groups))
    value, exposure = model.value(item_prices)
    assert value == pytest.approx(naive_value(case, model, item_prices), abs=1e-9)

    def value_alone(at: Any) -> float:
        return float(model.value(at)[0])

    gradient = approx_fprime(item_prices, value_alone, 1e-7)
    np.testing.assert_allclose(-exposure, gradient, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_it_bounds_a_pass_from_above_up_to_its_constant(seed: int) -> None:
    case = random_case(seed)
    model, at_zero = surrogate(case)
    total, nothing = case.user_weights.sum(), np.zeros(len(case.groups))
    constant = at_zero.bound - model.value(nothing)[0] / total
    for number in range(5):
        prices = 0.2 * np.random.default_rng(number).normal(size=case.groups.shape[1])
        bound = case.population.run(prices).bound
        assert bound <= model.value(case.groups @ prices)[0] / total + constant + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_prices_of_a_warm_start_lower_the_bound(seed: int) -> None:
    case = random_case(seed)
    terms, (model, at_zero) = case.terms.with_limit_penalty(10.0), surrogate(case)
    nothing = np.zeros(len(terms))
    prices = warm_start_prices([model], terms, nothing)
    assert (prices >= terms.lowest).all()
    assert (prices <= terms.highest).all()
    bound = case.population.run(terms.group_prices(prices)).bound + terms.threshold_value(prices)
    assert bound < at_zero.bound


def test_users_of_several_partitions_are_as_of_one() -> None:
    case = random_case(1)
    model, _ = surrogate(case)
    parts = [
        SurrogateModel(model.adjusted[own], model.items[own], model.slots[own], model.groups)
        for own in (slice(0, 7), slice(7, None))
    ]
    terms = case.terms.with_limit_penalty(10.0)
    expected = warm_start_prices([model], terms, np.zeros(len(terms)))
    for threads in (1, 2):
        assert warm_start_prices(parts, terms, np.zeros(len(terms)), threads).tobytes() == expected.tobytes()
