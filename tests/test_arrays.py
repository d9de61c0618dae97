"""Reading an array of a wanted shape, and naming its first element that is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from excalibr import _arrays as arrays
from excalibr.errors import ExcalibrError


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: arrays.numbers("scores", [[1.0]], ("n",)), "scores: have shape (1, 1), must have shape (n,)."),
        (
            lambda: arrays.floats("target", np.ones(3), (2,), "one for each category"),
            "target: has shape (3,), must have shape (2,), one for each category.",
        ),
        (
            lambda: arrays.numbers("categories", np.ones((3, 2)), (4, "r")),
            "categories: have shape (3, 2), must have shape (4, r).",
        ),
        (lambda: arrays.finite_numbers("times", [1.0, np.nan]), "times: element 1 is nan, must be finite."),
        (
            lambda: arrays.finite_numbers("P", [[1.0, 0.0], [0.0, -1.0]], least=0),
            "P: row 1, column 1 is -1.0, must be finite and at least 0.",
        ),
        (
            lambda: arrays.distribution("prior", [0.5, 1.0], ("r",)),
            "prior: sums to 1.5, must sum to 1. Hint: divide it by its sum.",
        ),
        (
            lambda: arrays.distribution("weights", [1e308, 1e308], ("r",)),
            "weights: sum to inf, must sum to 1. Hint: divide them by their sum.",
        ),
        (
            lambda: arrays.whole_numbers("items", [0.0], ("m",), "a row for each score", below=3),
            "items: have shape (1,) and type float64, must be whole numbers from 0 to 2 of shape (m,), "
            "a row for each score.",
        ),
        (
            lambda: arrays.whole_numbers("items", [0, -1], (2,), below=3),
            "items: element 1 is -1, must be whole numbers from 0 to 2 of shape (2,).",
        ),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(read: Callable[[], object], message: str) -> None:
    with pytest.raises(ExcalibrError) as caught:
        read()
    assert str(caught.value) == message


def test_an_empty_array_has_no_wrong_element() -> None:
    assert arrays.first_true(np.zeros((0, 2), dtype=np.bool_)) is None
    assert arrays.whole_numbers("items", [], ("m",), below=0).tolist() == []
    assert arrays.indices("items", np.array([], dtype=np.str_), 3).tolist() == []
    assert arrays.finite_numbers("ratings", [], least=0).tolist() == []


def test_an_array_that_is_copied_later_is_not_copied_now() -> None:
    scores = np.array([1.0, 2.0])
    assert arrays.floats("scores", scores, ("n",)) is scores
    assert arrays.numbers("scores", scores, ("n",)) is not scores
