"""Very large scores in another unit: a balance is the same whatever the unit of the scores."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from excalibr._population import balance_population
from excalibr._population.rescaling import LARGEST_EXPONENT, unit_of
from tests.population.whole_program import random_case


def in_units(case: Any, unit: float) -> Any:
    """The same case with relevance alone, where scores and the weights of targets are so much larger."""
    return replace(case, scores=unit * case.scores, terms=case.terms.scaled(unit), trade_off=0.0)


@pytest.mark.parametrize("exponent", [LARGEST_EXPONENT + 1, 30, 132, 400])
@pytest.mark.parametrize("seed", [0, 4])  # with a limit, and without
def test_scores_of_any_size_are_balanced_in_the_same_passes_to_the_bit(seed: int, exponent: int) -> None:
    unit = 2.0**exponent
    usual, large = (in_units(random_case(seed), each) for each in (1.0, unit))
    assert unit_of(usual.population) == 1.0 < unit_of(large.population)
    reported: Any = []
    expected = balance_population(usual.population, usual.terms)
    found = balance_population(large.population, large.terms, on_pass=reported.append)
    assert found.objective == unit * expected.objective
    assert found.bound == unit * expected.bound
    assert found.relative_gap == expected.relative_gap <= 1e-3
    np.testing.assert_array_equal(found.prices, unit * expected.prices)
    np.testing.assert_array_equal(found.primal.weights, expected.primal.weights)
    assert [each.bound for each in reported] == [unit * each.bound for each in expected.history]
    assert [each.prices.tolist() for each in found.passes] == [
        (unit * each.prices).tolist() for each in expected.passes
    ]


def test_a_start_is_in_the_callers_unit() -> None:
    unit = 2.0**30
    usual, large = (in_units(random_case(2), each) for each in (1.0, unit))
    start = balance_population(usual.population, usual.terms).prices[-1]
    expected = balance_population(usual.population, usual.terms, start=start)
    found = balance_population(large.population, large.terms, start=unit * start)
    np.testing.assert_array_equal(found.prices, unit * expected.prices)
