from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr.errors import ExcalibrError, InputError, InputTypeError
from excalibr.positions import NAMES, position_weights, raw_weights, slots_by_weight


@pytest.mark.parametrize(
    ("name", "top_five", "top_ten"), [("log", 0.14, 0.216), ("sqrt", 0.17, 0.27), ("reciprocal", 0.44, 0.56)]
)
def test_a_hundred_slots_hold_the_shares_that_the_paper_gives(name: str, top_five: float, top_ten: float) -> None:
    weights = position_weights(name, 100)
    assert weights[:5].sum() == pytest.approx(top_five, abs=0.005)
    assert weights[:10].sum() == pytest.approx(top_ten, abs=0.005)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 2, 10, 1000])
def test_named_weights_fall_and_sum_to_one(name: str, k: int) -> None:
    weights = position_weights(name, k)
    assert weights.shape == (k,)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert (np.diff(weights) <= 0).all()


def test_uniform_gives_every_slot_the_same() -> None:
    assert position_weights("uniform", 4).tolist() == [0.25] * 4


@given(st.lists(st.just(0.0) | st.floats(1e-100, 1e100), min_size=1, max_size=20).filter(any))
def test_any_non_negative_array_is_scaled_to_sum_one(given_weights: list[float]) -> None:
    weights = position_weights(given_weights, len(given_weights))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(weights * max(given_weights), np.array(given_weights) * weights.max(), rtol=1e-12)


def test_the_order_of_an_array_is_kept() -> None:
    assert position_weights([1, 3, 0, 4], 4).tolist() == [0.125, 0.375, 0.0, 0.5]


def test_weights_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="read-only"):
        position_weights("log", 3)[0] = 1.0


def test_an_array_of_the_caller_is_left_alone() -> None:
    mine = np.array([2.0, 2.0])
    position_weights(mine, 2)
    mine[0] = 5.0
    assert mine.tolist() == [5.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("logg", "position_weights: is 'logg', must be one of 'log', .* Hint: did you mean 'log'"),
        ([1, 2], r"position_weights: have shape \(2,\), must have shape \(3,\), one for each slot"),
        ([1, -2, 1], "position_weights: element 1 is -2.0, must be finite and at least 0"),
        ([1, 2, np.nan], "position_weights: element 2 is nan, must be finite"),
        ([np.inf, 2, 1], "position_weights: element 0 is inf, must be finite"),
        ([0, 0, 0], "position_weights: are all 0, must have at least one positive value"),
    ],
)
def test_wrong_weights_are_refused_with_where_and_why(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        position_weights(weights, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [["a", "b", "c"], ["1", "2", "3"], [[1], [2, 3], 4], [1j, 0, 0], object()])
def test_weights_that_are_no_numbers_are_refused(weights: object) -> None:
    with pytest.raises(
        InputTypeError, match="position_weights: cannot be read as numbers .*must be an array of numbers"
    ):
        position_weights(weights, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, 2.5, True, "3"])
def test_a_number_of_slots_that_cannot_be_is_refused(k: Any) -> None:
    with pytest.raises(ExcalibrError, match=f"k: is {k!r}, must be a whole number of at least 1"):
        position_weights("log", k)


@pytest.mark.parametrize("k", [-1, 2.5, None])
def test_so_do_weights_that_are_not_brought_to_a_sum_of_1(k: Any) -> None:
    assert raw_weights("uniform", 0).tolist() == []
    with pytest.raises(InputError, match=f"k: is {k!r}, must be a whole number of at least 0"):
        raw_weights("log", k)
    with pytest.raises(InputError, match="position_weights: is .*, must be one of 'log'"):
        raw_weights(np.ones(2), 2)  # type: ignore[arg-type]


def test_slots_come_heaviest_first_and_ties_by_the_lower_slot() -> None:
    assert slots_by_weight(np.array([0.1, 0.3, 0.2, 0.3, 0.1])).tolist() == [1, 3, 2, 0, 4]


def test_weights_whose_sum_is_beyond_every_number_are_brought_to_a_sum_of_one() -> None:
    assert position_weights([1.5e308, 1.5e308, 0.0], 3).tolist() == [0.5, 0.5, 0.0]
