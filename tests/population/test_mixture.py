"""Who draws which pass, and lotteries mixed from those of the passes, held against mixing exposures."""

from typing import Any

import numpy as np
import pytest

from excalibr._many_users import solve_users
from excalibr._options import Options
from excalibr._population import Mixture, block_of, solve_mixed
from excalibr._population.subproblems import exposure_of
from excalibr._problem import Batch
from tests.population.whole_program import random_case

KEYS = [f"user {number}" for number in range(20)]


def exposure(batch: Any, lotteries: Any) -> Any:
    return np.concatenate([exposure_of(batch, each) for each in lotteries])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_mixed_lottery_has_the_mixture_of_the_passes_exposures(threads: int) -> None:
    case = random_case(2)
    batch, n = case.population.batch, case.scores.shape[1]
    random = np.random.default_rng(0)
    item_prices = 0.3 * random.normal(size=(3, len(case.groups)))
    weights = random.dirichlet(np.ones(3), len(KEYS)).T
    weights[:, 0] = (1.0, 0.0, 0.0)  # one user draws one pass alone
    found = exposure(batch, solve_mixed(batch, item_prices, weights, lambda lotteries: lotteries, threads=threads))
    each = [exposure(batch, solve_users(batch.with_item_prices(own), lambda solved: solved)) for own in item_prices]
    expected = sum(np.repeat(chance, n) * own for chance, own in zip(weights, each, strict=True))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_listed_blocks_have_their_own_probabilities_and_others_the_mean() -> None:
    blocks = [block_of(key, 50) for key in KEYS]
    listed = np.unique(blocks[:5])
    own = np.random.default_rng(1).dirichlet(np.ones(2), len(listed)).T
    mixture = Mixture(np.zeros((2, 3)), np.array([0.25, 0.75]), 50, listed, own)
    found = mixture.probabilities_of(KEYS)
    for user, block in enumerate(blocks):
        place = np.flatnonzero(listed == block)
        np.testing.assert_array_equal(found[:, user], own[:, place[0]] if len(place) else [0.25, 0.75])


def test_one_pass_is_everybodys() -> None:
    assert Mixture.single(np.array([0.1, 0.2])).probabilities_of(KEYS).tolist() == [[1.0] * len(KEYS)]
    assert Mixture.single(np.array([0.1])).probabilities_of([]).shape == (1, 0)


def test_a_block_belongs_to_the_key_alone_and_keys_of_other_types_have_others() -> None:
    assert block_of("ada", 1000) == 887
    assert block_of("7", 1 << 62) != block_of(7, 1 << 62)
    counts = np.bincount([block_of(number, 4) for number in range(4000)], minlength=4)
    assert (abs(counts - 1000) < 150).all()


def test_the_gap_of_a_mixed_lottery_is_the_mean_of_its_passes_and_none_where_nothing_is_proven() -> None:
    question: Any = ([0.9, 0.6, 0.5, 0.3], [0, 4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.5, 0.5])
    prices, weights = np.array([[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]), np.array([[0.25], [0.75]])
    exact = Batch.of(*question, options=Options(k=2, trade_off=0.3))
    (mixed,) = solve_mixed(exact, prices, weights, lambda found: found)
    apart = [next(solve_mixed(exact, each[None], np.ones((1, 1)), lambda found: found)) for each in prices]
    assert mixed.weights.tolist() == [*(0.25 * apart[0].weights), *(0.75 * apart[1].weights)]
    assert mixed.gaps[0] == pytest.approx(0.25 * apart[0].gaps[0] + 0.75 * apart[1].gaps[0], abs=1e-18)
    greedy = Batch.of(*question, options=Options(k=2, trade_off=0.3, method="greedy"))
    assert np.isnan(next(solve_mixed(greedy, prices, weights, lambda found: found)).gaps[0])
