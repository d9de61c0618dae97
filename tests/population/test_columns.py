"""Columns of a range of blocks, held against all blocks and against a maximum."""

from typing import Any

import numpy as np
import pytest

from excalibr._population.columns import BlockColumns
from tests.population.whole_program import random_case

BLOCKS = slice(3, 11)


def columns_of(seed: int) -> Any:
    """The columns of some blocks after three passes, and those passes."""
    case, random = random_case(seed), np.random.default_rng(seed)
    passes = [case.population.run(0.2 * random.normal(size=case.groups.shape[1])) for _ in range(3)]
    columns = BlockColumns(BLOCKS, passes[0].weights[BLOCKS])
    for each in passes:
        columns.add(each)
    return columns, passes


@pytest.mark.parametrize("seed", range(3))
def test_values_and_shares_are_those_of_the_passes(seed: int) -> None:
    columns, passes = columns_of(seed)
    prices = 0.2 * np.random.default_rng(9).normal(size=len(passes[0].prices))
    expected = [(each.objectives - each.shares.toarray() @ prices)[BLOCKS] for each in passes]
    np.testing.assert_allclose(columns.priced_values(prices), expected, atol=1e-12)
    weights = np.random.default_rng(seed).random((3, 8))
    shares = sum(own @ each.shares.toarray()[BLOCKS] for own, each in zip(weights, passes, strict=True))
    np.testing.assert_allclose(columns.shares(weights), shares, atol=1e-12)


@pytest.mark.parametrize("temperature", [1e-1, 1e-3, 1e-6])
def test_smoothed_maxima_are_above_the_maxima_by_no_more_than_the_temperature_allows(temperature: float) -> None:
    columns, passes = columns_of(0)
    prices = np.full(len(passes[0].prices), 0.05)
    weights, maxima = columns.softmax(prices, temperature)
    largest = (columns.priced_values(prices) / passes[0].weights[BLOCKS]).max(axis=0)
    assert (largest <= maxima + 1e-12).all()
    assert (maxima <= largest + temperature * np.log(3) + 1e-12).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    assert columns.smoothed(prices, temperature).value == pytest.approx(passes[0].weights[BLOCKS] @ maxima)
