"""Rankings by merging two lists against numpy's stable sort at any prices, and programs that have no two such lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats, Integers
from tests.kernel.programs import EIGHTHS, NOBODY, Arrays, Draw

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

PENALTIES = np.array([[0.5, 0.5, 1.0, 1.0, 0.0, 0.0]] * 2)


def program_of(gains: Floats, rows: Floats, k: int) -> Arrays:
    return Arrays(gains, rows, PENALTIES, np.full(k, 1 / k), NOBODY, NOBODY)


@st.composite
def two_lists(draw: Draw) -> tuple[Floats, Integers, int, Floats]:
    """Gains, most of them tied with others, the category of each, how many are shown, and two prices."""
    n = draw(st.integers(1, 40))
    gains = draw(arrays.arrays(np.float64, n, elements=EIGHTHS | st.floats(-1, 1)))
    category = draw(arrays.arrays(np.int64, n, elements=st.integers(0, 1)))
    prices = draw(arrays.arrays(np.float64, 2, elements=EIGHTHS | st.floats(-1, 1) | st.just(1e9)))
    return gains, category, draw(st.integers(1, n)), prices


@given(two_lists())
def test_merging_is_sorting_whatever_the_prices(drawn: tuple[Floats, Integers, int, Floats]) -> None:
    gains, category, k, prices = drawn
    program = program_of(gains, np.eye(2)[category], k).of(parts)
    adjusted = program.scaled()[1] - prices[category]
    order = parts.merge_two_lists(program, adjusted)
    assert order[:k].tolist() == np.argsort(-adjusted, kind="stable")[:k].tolist()
    assert sorted(order.tolist()) == list(range(len(gains)))


@pytest.mark.parametrize("row", [[0.0, 0.0], [0.5, 0.5], [0.0, 0.25]], ids=["none", "both", "another share"])
def test_a_candidate_that_a_price_moves_otherwise_than_its_list_leaves_none(row: list[float]) -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], row])
    program = program_of(np.arange(4.0), rows, 2).of(parts)
    assert parts.merge_two_lists(program, np.arange(4.0)) is None
