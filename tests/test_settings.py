import inspect
from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr._options import Options
from excalibr.errors import ExcalibrError


def test_every_option_of_settings_is_one_of_calibrate_with_the_same_default() -> None:
    of_calibrate = inspect.signature(excalibr.calibrate).parameters
    of_settings = inspect.signature(Options).parameters
    assert {name: each.default for name, each in of_settings.items()}.items() <= {
        name: each.default for name, each in of_calibrate.items()
    }.items()


def test_only_options_that_differ_from_their_defaults_are_passed_on() -> None:
    assert Options().given() == {}
    assert Options(k=3, method="greedy", tolerance=1e-6).given() == {"k": 3, "method": "greedy", "tolerance": 1e-6}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k: is 0, must be a whole number of at least 1"),
        ({"k": 2.5}, "k: is 2.5"),
        ({"trade_off": 1.2}, "trade_off: is 1.2, must be from 0"),
        ({"method": "exact"}, "method: is 'exact', must be one of"),
        ({"position_weights": "logg"}, "did you mean 'log'"),
        ({"position_weights": [1, 2], "k": 3}, r"position_weights: have shape \(2,\)"),
        ({"tolerance": 0}, "tolerance: is 0"),
    ],
)
def test_settings_are_checked_when_they_are_made(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        Options(**wrong)


def test_the_first_slots_have_weights_that_sum_to_one() -> None:
    weights = Options(k=3, position_weights=[0, 2, 6]).weights_of(2)
    assert weights.tolist() == [0.0, 1.0]
    assert Options(k=2, position_weights=np.array([0.0, 1.0])).weights_of(1).tolist() == [1.0]
