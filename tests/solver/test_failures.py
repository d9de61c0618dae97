import numpy as np
import pytest

from excalibr import calibrate
from excalibr.errors import InfeasibleError


def test_a_floor_out_of_reach_says_how_far_one_can_get() -> None:
    with pytest.raises(
        InfeasibleError, match="category 1 cannot reach 0.9; the most that any policy shows of it is 0.613"
    ):
        calibrate([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2, floors={1: 0.9})


def test_limits_that_conflict_are_named() -> None:
    rows = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    with pytest.raises(InfeasibleError, match=r"these conflict: floor 0.55 of category 0, floor 0.55 of category 1"):
        calibrate(np.arange(6.0), rows, [0.4, 0.3, 0.3], k=4, floors={0: 0.55, 1: 0.55})
