"""Wrong options beyond the paper are refused with a message that names the argument, what it must be and a hint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from excalibr import Band, Shown, calibrate
from excalibr._options import Options
from excalibr._problem import Batch
from excalibr.errors import ExcalibrError, InputError

SCORES = [0.9, 0.8, 0.5, 0.4]
ROWS = [[1, 0], [1, 0], [0, 1], [0, 1]]
TARGET = [0.5, 0.5]
NAMED = {"categories": {"a": ROWS}, "target": {"a": TARGET}}

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"divergence": "KL2"}, "divergence: is 'KL2', must be one of 'l1', 'kl'. Hint: did you mean 'kl'?"),
    ({"category_weights": [1.0]}, r"category_weights: have shape \(1,\), must have shape \(2,\)"),
    ({"category_weights": [1.0, -1.0]}, "category_weights: element 1 is -1.0, must be finite and at least 0"),
    ({"category_weights": {5: 1.0}}, "category_weights: has the category 5, must have indices from 0 to 1"),
    ({"attribute_weights": {"a": 1.0}}, "attribute_weights: .* must go with categories by name"),
    ({"relative": "yes"}, "relative: is 'yes', must be True or False"),
    ({"floors": [0.2, 1.2]}, "floors: element 1 is 1.2, must be shares from 0 to 1"),
    ({"caps": [np.nan, 1.0]}, "caps: element 0 is nan, must be shares from 0 to 1"),
    ({"floors": {0: 0.6}, "caps": {0: 0.5}}, "floors: of category 0 is 0.6, must be at most its cap, 0.5"),
    ({"max_per_category": 0.5}, "max_per_category: element 0 is 0.5, must be whole numbers"),
    ({"floors": {0: [0.1, 0.2]}}, r"floors\[0\]: has shape \(2,\), must be one number"),
    ({"floors": {0: True}}, r"floors\[0\]: is True, must be a number"),
    ({"category_weights": np.True_}, "category_weights: is True, must be a number"),
    ({"max_per_category": {0: False}}, r"max_per_category\[0\]: is False, must be a whole number"),
    ({"max_per_category": True}, "max_per_category: is True, must be a whole number"),
    ({"pinned": {0: 9}}, "pinned: has the candidate 9, must have whole numbers from 0 to 3"),
    ({"pinned": {2: 0}}, "pinned: has the slot 2, must have whole numbers from 0 to 1"),
    ({"pinned": {0.0: 1}}, "pinned: has the slot 0.0, must have whole numbers from 0 to 1"),
    ({"item_prices": [0, 1e200, 0, 0]}, r"item_prices: element 1 is 1e\+200, must be within ±1e\+150"),
    ({"pinned": {0: 1, 1: 1}}, "pinned: .* must have each candidate in one slot"),
    ({"pinned": [0]}, "pinned: is .*, must be a mapping from slots to candidates"),
    ({"pinned": {0: 1}, "shown": Shown(candidates=[1])}, "pinned: has candidate 1, which was shown before"),
    ({"shown": [1]}, "shown: is list, must be an excalibr.Shown"),
    ({"shown": Shown(candidates=[7])}, r"shown.candidates: element 0 is 7, must be whole numbers from 0 to 3"),
    (
        {"shown": Shown(candidates=[[[1], [2, 3]]])},
        "shown.candidates: cannot be read .*, must be whole numbers from 0 to 3",
    ),
    (
        {"shown": Shown(candidates=((0,), 1))},
        r"shown.candidates: have shape \(\) .*, must be whole numbers from 0 to 3",
    ),
    ({"shown": Shown(candidates=np.ma.array([0, 1], mask=[True, False]))}, "shown.candidates: .*some are masked"),
    ({"shown": Shown(candidates=[1], position_weights="lgo")}, "shown.position_weights: is 'lgo'"),
    ({"shown": Shown(candidates=[0, 1, 2])}, "k: is 2, and only 1 of the candidates may be shown together"),
    ({"normalise": "max"}, "normalise: is 'max', must be 'range'"),
    ({"relevance_loss": 2.0}, "relevance_loss: is 2.0, must be a number from 0 to 1"),
    ({"max_deviation": -0.1}, "max_deviation: is -0.1, must be a finite number of at least 0"),
    ({"max_deviation": np.inf}, "max_deviation: is inf, must be a finite number of at least 0"),
    (
        {"pinned": {0: 0, 1: 1}, "max_per_category": 1},
        "pinned: has more of a category than max_per_category, must keep",
    ),
    (
        {"shown": Shown(categories=[[1, 0], [0, 1]], position_weights=[1.0])},
        r"shown.position_weights: have shape \(1,\), must have shape \(2,\), one for each item",
    ),
    ({"trade_off": 0.5, "max_deviation": 0.1}, "trade_off and max_deviation: are both given, must not go together"),
    ({"target": Band([0.1], [0.2])}, r"target: is a band of shape \(1,\), must have shape \(2,\)"),
    ({"target": {"a": TARGET}}, "target: is a mapping, must be an array where categories are an array"),
    ({"categories": {"a": ROWS}}, "target: is not a mapping, must have the attributes of categories"),
    ({**NAMED, "attribute_weights": {"b": 1.0}}, "attribute_weights: is 'b', must be 'a'"),
    ({"categories": {7: ROWS}, "target": {7: TARGET}, "floors": {8: {}}}, "floors: is 8, must be 7"),
    ({**NAMED, "attribute_weights": {"a": -1.0}}, r"attribute_weights\['a'\]: is -1.0, must be a finite number"),
    ({**NAMED, "floors": [0.1, 0.1]}, "floors: is .*, must be a mapping by attribute"),
]


@pytest.mark.parametrize("pages", [[[0], [2]], [[0, 2], []], np.array([[0], [2]]), [0, 2]])
def test_shown_pages_may_come_one_by_one(pages: Any) -> None:
    asked: dict[str, Any] = {"scores": SCORES, "categories": ROWS, "target": TARGET, "k": 1}
    for candidates in (pages, iter(pages)):
        assert calibrate(**asked, shown=Shown(candidates=candidates)).problem.unavailable.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("shown", "own"), [([1e308, 1e308], "log"), ([1e200], "log"), ([1.0], [1e308, 1e308]), ([1.5e308], [1e308, 1.0])]
)
def test_attention_too_large_for_numbers_is_refused_before_anything_overflows(shown: list[float], own: Any) -> None:
    before = Shown([0, 2][: len(shown)], position_weights=shown)
    message = (
        r"shown.position_weights and position_weights: sum to .*, must have finite sums, the first at most 1e\+150"
    )
    with pytest.raises(InputError, match=message):
        calibrate([0.9, 0.8, 0.5, 0.4], np.eye(2)[[0, 0, 1, 1]], [0.5, 0.5], k=2, shown=before, position_weights=own)


def test_slots_without_weight_count_alike_beside_what_was_shown() -> None:
    batch = Batch.of(
        *(SCORES, [0, 4], ROWS, TARGET),
        options=Options(position_weights=[0, 0, 0, 0, 1]),
        shown=(np.array([0]), np.array([0]), np.array([4.0])),
    )
    assert batch.problem(0).position_weights.tolist() == [0.25] * 4
    assert batch.problem(0).target.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_a_wrong_option_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"scores": SCORES, "categories": ROWS, "target": TARGET, "k": 2} | changes
    with pytest.raises(ExcalibrError, match=message):
        calibrate(**asked)
