"""Who draws which pass, and what a lottery is that is mixed from several."""

import numpy as np
import pytest

from excalibr._options import Options
from excalibr._population.mixture import Mixture, block_of, solve_mixed
from excalibr._problem import Batch


def test_users_of_blocks_that_are_not_listed_draw_as_all_do_on_average() -> None:
    keys = ["ada", "bob", "eve", "joe"]
    blocks = [block_of(key, 1000) for key in keys]
    listed = np.array(sorted(blocks[:2]))
    own = np.array([[1.0, 0.0], [0.0, 1.0]])
    mixture = Mixture(np.zeros((2, 1)), np.array([0.25, 0.75]), 1000, listed, own)
    weights = mixture.of_users(keys)
    assert weights[:, 2:].tolist() == [[0.25, 0.25], [0.75, 0.75]]
    assert weights[:, 0].tolist() == own[:, listed.tolist().index(blocks[0])].tolist()


def test_a_mixed_lottery_has_the_passes_by_their_probability_and_the_mean_of_their_gaps() -> None:
    scores, rows, target = [0.9, 0.6, 0.5, 0.3], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.5, 0.5]
    batch = Batch.of(scores, [0, 4], rows, target, options=Options(k=2, trade_off=0.3, method="greedy"))
    prices, weights = np.array([[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]), np.array([[0.25], [0.75]])
    exact = Batch.of(scores, [0, 4], rows, target, options=Options(k=2, trade_off=0.3))
    (mixed,) = solve_mixed(exact, prices, weights, lambda found: found)
    apart = [next(solve_mixed(exact, each[None], np.ones((1, 1)), lambda found: found)) for each in prices]
    expected = [list(0.25 * apart[0].weights), list(0.75 * apart[1].weights)]
    assert mixed.weights.tolist() == [*expected[0], *expected[1]]
    assert mixed.gaps[0] == pytest.approx(0.25 * apart[0].gaps[0] + 0.75 * apart[1].gaps[0], abs=1e-18)
    (greedy,) = solve_mixed(batch, prices, weights, lambda found: found)
    assert np.isnan(greedy.gaps[0])
