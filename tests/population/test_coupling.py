"""Penalties and limits of groups, held against their definitions."""

from typing import Any

import numpy as np
import pytest

from excalibr._population import join_terms, limit_terms, target_terms

GROUPS = np.arange(4)
LOW, HIGH = np.array([0.1, 0.2, 0.3, 0.0]), np.array([0.1, 0.4, 0.3, 0.5])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0])


def terms() -> Any:
    """Two targets, two bands, a floor of the first group and a cap of the last."""
    floor, cap = (
        limit_terms(np.array([0]), np.array([0.05]), -1.0, 4),
        limit_terms(np.array([3]), np.array([0.6]), 1.0, 4),
    )
    return join_terms([target_terms(GROUPS, LOW, HIGH, WEIGHTS, 4), floor, cap])


def shares(seed: int) -> Any:
    return np.random.default_rng(seed).dirichlet(np.ones(4))


@pytest.mark.parametrize("seed", range(5))
def test_the_penalty_is_the_weighted_distance_from_targets_bands_and_limits(seed: int) -> None:
    own = shares(seed)
    away = np.maximum(LOW - own, 0.0) + np.maximum(own - HIGH, 0.0)
    violations = [max(0.05 - own[0], 0.0), max(own[3] - 0.6, 0.0)]
    penalised = terms().with_limit_penalty(7.0)
    assert penalised.penalty(own) == pytest.approx(WEIGHTS @ away + 7.0 * sum(violations), abs=1e-12)
    assert penalised.violation(own) == pytest.approx(max(violations), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_no_prices_within_the_bounds_say_more_than_the_penalty_and_the_best_say_as_much(seed: int) -> None:
    penalised, own, random = terms().with_limit_penalty(7.0), shares(seed), np.random.default_rng(seed)
    best = np.where(penalised.residuals(own) > 0, penalised.highest, penalised.lowest)
    for prices in (*random.uniform(penalised.lowest, penalised.highest, (20, len(penalised))), best):
        said = penalised.group_prices(prices) @ own - penalised.threshold_value(prices)
        assert said <= penalised.penalty(own) + 1e-12
    assert said == pytest.approx(penalised.penalty(own), abs=1e-12)


def test_limits_alone_cost_one_for_each_unit() -> None:
    own = np.array([0.0, 0.1, 0.1, 0.8])
    only = terms().only_limits()
    assert len(only) == 2
    assert only.penalty(own) == pytest.approx(0.05 + 0.2)
    assert only.violation(own) == 0.0  # none is hard any more


def test_another_unit_of_prices_is_one_of_penalties() -> None:
    assert terms().scaled(8.0).penalty(shares(0)) == pytest.approx(8.0 * terms().penalty(shares(0)))
