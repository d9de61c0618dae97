"""The projection on the permutohedron against scipy's isotonic regression, a quadratic program, and what defines it."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import isotonic_regression, nnls

from excalibr._types import Floats, Integers
from tests.kernel.programs import Draw

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

NUMBERS = st.integers(-16, 16).map(lambda eighths: eighths / 8) | st.floats(-10.0, 10.0, allow_subnormal=False)


@st.composite
def points_and_slots(draw: Draw, largest: int = 30) -> tuple[Floats, Floats]:
    """A point and slot weights from the heaviest down, with a sum of 1, zeros among them."""
    n = draw(st.integers(1, largest))
    k = draw(st.integers(1, n))
    weights = draw(arrays.arrays(np.float64, k, elements=st.sampled_from([1.0, 0.5, 0.0]) | st.floats(0.01, 1.0)))
    weights[0] += float(weights.sum() == 0)
    slots = np.sort(weights / weights.sum())[::-1].copy()
    return draw(arrays.arrays(np.float64, n, elements=NUMBERS)), slots


@given(points_and_slots())
def test_it_is_the_point_less_the_isotonic_fit_of_what_it_has_beyond_the_slots(drawn: tuple[Floats, Floats]) -> None:
    point, slots = drawn
    exposure, order, _ = projected(point, slots)
    fitted = isotonic_regression(point[order] - padded(slots, len(point)), increasing=False).x
    np.testing.assert_allclose(
        exposure[order], point[order] - fitted, atol=1e-13 * (1 + np.abs(point).max()) * len(point)
    )


@given(points_and_slots(largest=5))
def test_no_mix_of_rankings_is_nearer(drawn: tuple[Floats, Floats]) -> None:
    point, slots = drawn
    vertices = np.array(list(permutations(padded(slots, len(point))))).T
    heavy = 1e5  # that weights sum to one is a row like the others, only heavier
    weights, _ = nnls(np.vstack([vertices, np.full(vertices.shape[1], heavy)]), np.append(point, heavy))
    exposure, nearest = projected(point, slots)[0], vertices @ weights / weights.sum()
    assert np.linalg.norm(point - exposure) <= np.linalg.norm(point - nearest) + 1e-6


@given(points_and_slots(largest=60))
def test_it_is_an_exposure_and_no_ranking_lies_beyond_it(drawn: tuple[Floats, Floats]) -> None:
    point, slots = drawn
    exposure, _, _ = projected(point, slots)
    weights, rounding = padded(slots, len(point)), 1e-13 * len(point) * (1.0 + np.abs(point).max())
    assert (np.cumsum(np.sort(exposure)[::-1]) <= np.cumsum(weights) + rounding).all()
    assert exposure.sum() == pytest.approx(1.0, abs=rounding)
    away = point - exposure
    assert np.sort(away)[::-1] @ weights <= away @ exposure + rounding


@given(points_and_slots())
def test_blocks_share_the_weights_of_their_ranks_and_nobody_after_them_is_seen(drawn: tuple[Floats, Floats]) -> None:
    point, slots = drawn
    exposure, order, starts = projected(point, slots)
    weights = padded(slots, len(point))
    assert starts[0] == 0
    assert len(slots) <= starts[-1] <= len(point)
    for first, last in pairwise(starts.tolist()):
        assert exposure[order[first:last]].sum() == pytest.approx(weights[first:last].sum(), abs=1e-12)
    assert not exposure[order[starts[-1] :]].any()


@given(points_and_slots())
def test_a_point_far_out_is_projected_on_its_own_ranking_exactly(drawn: tuple[Floats, Floats]) -> None:
    _, slots = drawn
    n = len(drawn[0])
    exposure, _, _ = projected(np.arange(n, 0.0, -1.0) * 1e6, slots)
    assert exposure.tolist() == padded(slots, n).tolist()


@pytest.mark.parametrize(
    ("order", "slots", "message"),
    [
        ([0, 0], [1.0], "permutation"),
        ([0, 2], [1.0], "out of range"),
        ([0], [1.0], "permutation"),
        ([0, 1], [], "slots"),
        ([0, 1], [1.0] * 3, "slots"),
    ],
)
def test_orders_and_slots_that_do_not_fit_are_refused(order: list[int], slots: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parts.project(np.zeros(2), np.array(slots), np.array(order))


def projected(point: Floats, slots: Floats) -> tuple[Floats, Integers, Integers]:
    """The exposure, the order of the point, and where the blocks of the exposure start."""
    order = np.argsort(-point, kind="stable")
    exposure, starts = parts.project(point, slots, order)
    return exposure, order, starts


def padded(slots: Floats, n: int) -> Floats:
    return np.concatenate([slots, np.zeros(n - len(slots))])
