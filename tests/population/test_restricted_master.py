"""The master over a few passes: its value by another linear program, its smoothing by finite differences."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, linprog

from excalibr._population.restricted_master import RestrictedMaster
from tests.population.whole_program import random_case


def master_of(seed: int, passes: int = 4) -> Any:
    """A master with passes at random prices."""
    case = random_case(seed, users=8)
    terms = case.terms.with_limit_penalty(10.0)
    master, random = RestrictedMaster(terms), np.random.default_rng(seed)
    for _ in range(passes):
        prices = random.uniform(np.maximum(terms.lowest, -0.3), np.minimum(terms.highest, 0.3))
        master.add(case.population.run(terms.group_prices(prices)))
    return master


def best_mixture(master: Any) -> float:
    """The value of the master with an epigraph variable for each term's penalty, and dense rows."""
    terms, passes = master.terms, master.passes
    blocks, count, J = len(passes[0].objectives), len(passes), len(master.terms)
    shares = np.vstack([each.shares.toarray() for each in passes])  # a row for each pass and block
    residuals = terms.signs[:, None] * shares.T[terms.groups]
    rows = np.vstack(
        [
            np.hstack([terms.highest[:, None] * residuals, -np.eye(J)]),
            np.hstack([terms.lowest[:, None] * residuals, -np.eye(J)]),
        ]
    )
    at_most = np.concatenate([bound * terms.signs * terms.thresholds for bound in (terms.highest, terms.lowest)])
    lotteries = np.hstack([np.tile(np.eye(blocks), count), np.zeros((blocks, J))])
    costs = np.concatenate([*(-each.objectives for each in passes), np.ones(J)])
    bounds = [(0, None)] * (blocks * count) + [(None, None)] * J
    found: Any = linprog(costs, rows, at_most, lotteries, np.ones(blocks), bounds=bounds)
    return -float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_master_has_the_best_mixture_and_prices_that_prove_it(seed: int) -> None:
    master = master_of(seed)
    prices, primal = master.solve_exactly()
    assert primal.value == pytest.approx(best_mixture(master), abs=1e-7)
    assert master.dual_model(prices) == pytest.approx(primal.value, abs=1e-7)
    np.testing.assert_allclose(primal.weights.sum(axis=0), 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_smoothed_master_comes_near_at_a_low_temperature_and_never_past_it(seed: int) -> None:
    master = master_of(seed)
    nothing = np.zeros(len(master.terms))
    bounds = (master.terms.lowest, master.terms.highest)
    prices, primal = master.solve_smoothed(nothing, *bounds, (0.03, 0.003, 0.0003), 0.0)
    best = best_mixture(master)
    assert best - 0.05 <= primal.value <= best + 1e-7
    assert master.dual_model(prices) >= best - 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_smoothed_model_is_that_of_its_value(seed: int) -> None:
    master = master_of(seed)
    prices = np.random.default_rng(seed).uniform(-0.1, 0.1, len(master.terms))
    _, gradient = master._smoothed_model(prices, 0.03)

    def value(at: Any) -> float:
        return float(master._smoothed_model(at, 0.03)[0])

    numeric = approx_fprime(prices, value, 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def test_pruning_drops_small_probabilities_and_keeps_every_block_a_lottery() -> None:
    master = master_of(0, passes=3)
    weights = np.tile([[0.96, 0.3], [0.01, 0.3], [0.03, 0.4]], 4)  # of eight blocks
    found = master.pruned(master.primal(weights), 0.35)
    np.testing.assert_allclose(found.weights, np.tile([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], 4))
    assert found.value == pytest.approx(master.primal(found.weights).value)
