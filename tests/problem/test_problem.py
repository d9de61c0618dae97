from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from excalibr import calibrate
from excalibr._options import Options
from excalibr._problem import Problem
from excalibr._solver import solve
from excalibr.errors import ExcalibrError, InputError, InputTypeError

GOOD: dict[str, Any] = {
    "scores": [3.0, 2.0, 1.0],
    "categories": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]],
    "target": [0.4, 0.6],
    "k": 2,
}


def problem(**changes: Any) -> Problem:
    asked = GOOD | changes
    return Problem.of(asked.pop("scores"), asked.pop("categories"), asked.pop("target"), **asked)


def test_sizes_are_read_off_the_arrays() -> None:
    assert (problem().n, problem().k, problem().r) == (3, 2, 2)


def test_without_k_every_candidate_gets_a_slot() -> None:
    assert problem(k=None).k == 3


def test_whole_numbers_and_booleans_are_numbers() -> None:
    assert problem(scores=np.array([3, 2, 1]), categories=np.array([[True, False]] * 3)).scores.dtype == np.float64


def test_position_weights_that_are_changed_later_change_no_problem() -> None:
    weights = np.array([3.0, 1.0])
    asked = problem(position_weights=weights)
    weights[:] = [0.0, 1.0]
    expected = solve(problem(position_weights=[3.0, 1.0]))
    assert solve(asked).rankings.tolist() == expected.rankings.tolist()
    assert solve(asked).weights.tolist() == expected.weights.tolist()


def test_position_weights_are_read_again_where_an_array_of_another_kind_has_changed() -> None:
    class Tensor:
        """Hashable, as those of PyTorch are, and not by its numbers."""

        def __init__(self) -> None:
            self.numbers = np.array([3.0, 1.0])

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.numbers.copy()

    weights: Any = Tensor()
    asked: dict[str, Any] = {"scores": [3.0, 2.0, 1.0], "categories": [[1], [1], [1]], "target": [1.0], "k": 2}
    assert calibrate(**asked, position_weights=weights).problem.position_weights.tolist() == [0.75, 0.25]
    weights.numbers[:] = 1.0
    assert calibrate(**asked, position_weights=weights).problem.position_weights.tolist() == [0.5, 0.5]


def test_minus_zero_is_a_trade_off_of_zero() -> None:
    asked: Any = [3.0, 2.0, 1.0], [[1], [1], [1]], [1.0]
    assert repr(Problem.of(*asked, k=2, trade_off=-0.0)) == "Problem(2 of 3 candidates, 1 categories, trade_off 0)"
    assert "trade_off 0)" in repr(Problem.of(*asked, k=2).with_trade_off(-0.0))


def test_another_trade_off_leaves_the_rest_as_it_is() -> None:
    first = problem(trade_off=0.25)
    second = first.with_trade_off(1)
    assert (second.trade_off, second.gains.tolist()) == (1.0, [0.0, 0.0, 0.0])
    assert second.scores is first.scores
    with pytest.raises(InputError, match="trade_off"):
        first.with_trade_off(1.5)


def test_a_problem_cannot_be_changed_and_does_not_change_what_it_was_given() -> None:
    scores, rows, target = np.ones(2), np.eye(2), np.array([0.5, 0.5])
    made = Problem.of(scores, rows, target)
    scores[0] = rows[0, 0] = target[0] = 9.0
    assert made.scores.tolist() == [1.0, 1.0]
    assert made.memberships.dense().tolist() == np.eye(2).tolist()
    for array in (made.scores, made.memberships.values, made.target, made.position_weights):
        assert not array.flags.writeable


BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    (
        {"scores": [3.0, np.nan, 1.0]},
        "scores: element 1 is nan, must be finite. Hint: drop the candidates without a score",
    ),
    ({"scores": [3.0, 2.0, -np.inf]}, "scores: element 2 is -inf, must be finite"),
    ({"scores": [None, 2.0, 1.0]}, "scores: element 0 is nan, must be finite"),
    ({"scores": []}, "scores: are empty, must have at least one candidate"),
    ({"scores": 3.0}, r"scores: have shape \(\), must have shape \(n,\)"),
    ({"scores": [[3.0, 2.0, 1.0]]}, r"scores: have shape \(1, 3\), must have shape \(n,\)"),
    ({"scores": [3.0, 2.0]}, r"categories: have shape \(3, 2\), must have shape \(2, r\), a row for each score"),
    ({"categories": [1.0, 0.0, 1.0]}, r"categories: have shape \(3,\), must have shape \(n, r\)"),
    ({"categories": np.ones((3, 1, 1))}, r"categories: have shape \(3, 1, 1\), must have shape \(n, r\)"),
    ({"categories": np.ones((3, 0))}, r"categories: have shape \(3, 0\), must have at least one category"),
    (
        {"categories": [[1, 0], [1, 1], [0, 1]]},
        "categories: row 1 sums to 2, must sum to 1. Hint: divide each row by its sum",
    ),
    ({"categories": [[1, 0], [0, 1], [0, 0]]}, "categories: row 2 sums to 0, must sum to 1. Hint: give items without"),
    (
        {"categories": [[1, 0], [1.5, -0.5], [0, 1]]},
        "categories: row 1, column 1 is -0.5, must be finite and at least 0",
    ),
    ({"categories": [[1, 0], [0, 1], [np.nan, 1]]}, "categories: row 2, column 0 is nan, must be finite"),
    (
        {"categories": sp.csr_array(np.array([[1.0, 0], [0, 1], [2, -1]]))},
        "categories: row 2, column 1 is -1.0, must be",
    ),
    (
        {"categories": sp.csr_array(np.array([[1.0, 0], [0, 0.25], [1, 0]]))},
        "categories: row 1 sums to 0.25, must sum to 1",
    ),
    ({"target": [0.4, 0.4]}, "target: sums to 0.8, must sum to 1. Hint: divide it by its sum"),
    ({"target": [1.4, -0.4]}, "target: element 1 is -0.4, must be finite and at least 0"),
    ({"target": [np.nan, 1.0]}, "target: element 0 is nan, must be finite"),
    ({"target": [1.0]}, r"target: has shape \(1,\), must have shape \(2,\), one for each category"),
    ({"k": 0}, "k: is 0, must be a whole number of at least 1, or None"),
    ({"k": -1}, "k: is -1, must be a whole number of at least 1, or None"),
    ({"k": 4}, r"k: is 4, must be .* \(3\). Hint: pass more candidates, or a smaller k"),
    ({"trade_off": -0.1}, r"trade_off: is -0.1, must be from 0 \(relevance only\) to 1 \(calibration only\)"),
    ({"trade_off": 1.1}, "trade_off: is 1.1, must be from 0"),
    ({"trade_off": float("nan")}, "trade_off: is nan, must be from 0"),
    ({"position_weights": [0, 0]}, "position_weights: are all 0"),
    ({"position_weights": [1, -1]}, "position_weights: element 1 is -1.0"),
    ({"position_weights": "sqr"}, "position_weights: is 'sqr'.*did you mean 'sqrt'"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_VALUES)
def test_a_wrong_value_is_refused_with_what_must_be_what_was_found_and_where(changes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        problem(**changes)
    assert isinstance(caught.value, ExcalibrError)


BAD_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"scores": ["a", "b", "c"]}, "scores: cannot be read as numbers"),
    ({"scores": ["3", "2", "1"]}, "scores: cannot be read as numbers"),
    ({"scores": [1j, 2, 3]}, "scores: cannot be read as numbers"),
    ({"scores": np.array(["2030-01-31"] * 3, dtype="datetime64[D]")}, "scores: cannot be read as numbers"),
    ({"scores": [3.0, [2.0, 1.0]]}, "scores: cannot be read as numbers"),
    ({"scores": np.array(["3", 2.0, 1.0], dtype=object)}, r"scores: cannot be read as numbers \(some are text\)"),
    ({"scores": [10**400, 2.0, 1.0]}, r"scores: cannot be read as numbers \(int too large"),
    ({"categories": [[1, 0], [1], [0, 1]]}, "categories: cannot be read as numbers"),
    ({"categories": sp.csr_array(np.array([[1j, 0], [0, 1], [0, 1]]))}, "categories: cannot be read as numbers"),
    ({"target": {"drama": 0.4}}, "target: is a mapping, must be an array where categories are"),
    ({"k": 2.0}, "k: is 2.0, must be a whole number of at least 1, or None"),
    ({"k": True}, "k: is True, must be a whole number of at least 1, or None"),
    ({"trade_off": "0.5"}, "trade_off: is '0.5', must be from 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_TYPES)
def test_a_wrong_type_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(InputTypeError, match=message):
        problem(**changes)


@pytest.mark.parametrize("name", ["scores", "categories", "target"])
def test_what_lies_under_a_mask_is_not_taken_for_numbers(name: str) -> None:
    arrays = {each: np.array(GOOD[each], dtype=np.float64) for each in ("scores", "categories", "target")}
    mask = np.zeros(arrays[name].shape, dtype=np.bool_)
    unmasked = {**arrays, name: np.ma.masked_array(arrays[name], mask)}
    assert problem(**unmasked).scores.tolist() == GOOD["scores"]
    mask.flat[0] = True
    with pytest.raises(InputTypeError, match=rf"{name}: cannot be read as numbers \(some are masked\)"):
        problem(**{**arrays, name: np.ma.masked_array(arrays[name], mask)})


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, float("nan"), float("inf"), "small", True])
def test_a_tolerance_must_be_a_positive_number(tolerance: Any) -> None:
    with pytest.raises(ExcalibrError, match="tolerance: is .*, must be a positive number"):
        Options(tolerance=tolerance)


@pytest.mark.parametrize("max_sorts", [0, -3, 2.5, True])
def test_a_cap_on_sorts_must_be_a_whole_number_of_at_least_one(max_sorts: Any) -> None:
    with pytest.raises(ExcalibrError, match="max_sorts: is .*, must be a whole number of at least 1, or None"):
        Options(max_sorts=max_sorts)
