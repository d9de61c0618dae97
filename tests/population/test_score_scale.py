"""The units of users' numbers: sums that are exact whatever the weights, and spreads of any size."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from excalibr._population.score_scale import ScoreScale
from tests.population.whole_program import random_case

BLOCKS = 7
EXPONENTS = [-900, -40, 40, 900]
"""Of two, so that weights and scores of other sizes have the same digits."""


def rounded(case: Any) -> Any:
    """Users who share blocks, with numbers rounded before they are summed."""
    population = replace(case.population, n_blocks=BLOCKS)
    return replace(population, rounding=population.scale.rounding())


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_weights_of_any_size_give_the_same_pass_where_users_share_blocks(exponent: int) -> None:
    case = random_case(3)
    prices = np.linspace(-0.1, 0.2, case.terms.n_groups)
    usual = rounded(case).run(prices)
    case.user_weights = case.user_weights * 2.0**exponent
    found = rounded(case).run(prices)
    assert found.bound == usual.bound
    assert found.objectives.tobytes() == usual.objectives.tobytes()
    assert found.shares.data.tobytes() == usual.shares.data.tobytes()
    assert found.weights.tobytes() == usual.weights.tobytes()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_spreads_of_any_size_keep_as_many_digits(exponent: int) -> None:
    usual = ScoreScale(3.0, 3.0, 0.7, 0.4, 1.0)
    other = usual._replace(spreads=0.7 * 2.0**exponent, gain_spreads=0.4 * 2.0**exponent)
    assert other.spread == usual.spread * 2.0**exponent
    assert other.gain_spread == usual.gain_spread * 2.0**exponent
    assert usual.spread == float(np.float32(0.7 / 3.0))


def test_a_scale_without_anybody_is_nothing() -> None:
    assert ScoreScale().spread == ScoreScale().gain_spread == 0.0
    assert ScoreScale.join([]) == ScoreScale()
