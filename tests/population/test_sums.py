"""Sums of a pass, rounded so that no order of adding shows, and a bound only ever up."""

import numpy as np

from excalibr._population.scale import Step
from excalibr._population.sums import sum_by_block
from excalibr._sparse import build_rows


def test_bounds_are_rounded_up_and_what_is_reached_to_the_nearest_step() -> None:
    shares = build_rows(np.array([0.3, 0.7]), np.array([0, 1]), np.array([0, 1, 2]), 2)
    numbers = np.array([0.26, 0.26])
    found = sum_by_block(np.array([4, 4]), np.ones(2), numbers, numbers, shares, Step(values=0.25, shares=0.25))
    assert found.blocks.tolist() == [4]
    assert (found.values.tolist(), found.own.tolist()) == ([1.0], [0.5])
    assert found.shares.toarray().tolist() == [[0.25, 0.75]]
