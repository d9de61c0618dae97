"""Passes over users, held against solving them one by one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import excalibr
from tests.population.whole_program import random_case

PRICES = (0.0, 0.3)


def one_by_one(case: Any, prices: Any) -> Any:
    """(users,) objectives without prices and bounds with them, and (users, G) exposures, by single calls."""
    users, n = case.scores.shape
    found = []
    for user in range(users):
        rows = slice(user * n, (user + 1) * n)
        costs = case.groups[rows] @ prices
        how = {"k": case.k, "trade_off": case.trade_off, "item_prices": costs}
        policy = excalibr.calibrate(case.scores[user], case.categories[rows], case.targets[user], **how)
        paid = costs @ policy.exposure
        found.append((policy.objective + paid, policy.objective + policy.gap, case.groups[rows].T @ policy.exposure))
    return [np.array(each) for each in zip(*found, strict=True)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", PRICES)
def test_a_pass_is_the_average_of_single_calls_with_the_prices_of_items(seed: int, size: float) -> None:
    case = random_case(seed)
    prices = size * np.random.default_rng(seed).normal(size=case.groups.shape[1])
    objectives, bounds, exposure = one_by_one(case, prices)
    found = case.population.run(prices)
    weights = case.user_weights / case.user_weights.sum()
    assert found.bound == pytest.approx(weights @ bounds, abs=1e-9)
    assert found.objectives.sum() == pytest.approx(weights @ objectives, abs=1e-9)
    np.testing.assert_allclose(found.group_shares, weights @ exposure, atol=1e-9)


def test_threads_do_not_show() -> None:
    case = random_case(1)
    prices = np.linspace(-0.1, 0.1, case.groups.shape[1])
    found = [replace(case.population, threads=threads).run(prices) for threads in (1, 3)]
    assert found[0].bound == found[1].bound
    assert found[0].shares.toarray().tobytes() == found[1].shares.toarray().tobytes()


def test_a_sample_is_some_of_the_users_whoever_is_beside_them() -> None:
    case = random_case(6, users=200)
    population = case.population
    sample = population.sample(50)
    assert 25 < sample.users < 100
    kept = np.flatnonzero(sample.included)
    half = replace(population, included=np.arange(200) < 100)
    assert set(np.flatnonzero(half.sample(25).included)) == {user for user in kept if user < 100}
    prices = np.linspace(-0.1, 0.1, case.groups.shape[1])
    _, bounds, _ = one_by_one(case, prices)
    assert sample.run(prices).bound == pytest.approx(
        np.average(bounds[kept], weights=case.user_weights[kept]), abs=1e-9
    )


def test_without_scores_everybody_is_shown_what_is_cheapest() -> None:
    case = random_case(3)
    prices = np.random.default_rng(3).normal(size=case.groups.shape[1])
    found = case.population.without_scores().run(prices)
    costs = np.sort((case.groups @ prices).reshape(case.scores.shape), axis=1)[:, : case.k]
    cheapest = costs @ excalibr.positions.position_weights("log", case.k)  # the cheapest in the slot that is seen most
    assert -found.bound == pytest.approx(np.average(cheapest, weights=case.user_weights), abs=1e-6)
    assert not found.objectives.any()
