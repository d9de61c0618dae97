"""Divergences: worked examples, limits, bounds and symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr._types import Floats
from excalibr.errors import InputError
from excalibr.metrics import DIVERGENCES, hellinger, jensen_shannon, kl, l1

SHARES = st.one_of(st.just(0.0), st.floats(min_value=0.0, max_value=1.0))
BOUNDS = {"kl": np.log(100.0), "l1": 2.0, "hellinger": 1.0, "jensen_shannon": np.log(2.0)}
CONVEX = ("kl", "l1", "jensen_shannon")


@st.composite
def distributions(draw: st.DrawFn, count: int) -> Floats:
    """(count, r) distributions, with zeros, tiny shares and single categories among them."""
    r = draw(st.integers(min_value=1, max_value=6))
    rows = np.array(draw(st.lists(st.lists(SHARES, min_size=r, max_size=r), min_size=count, max_size=count)))
    rows[rows.sum(axis=1) < 1e-3, 0] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", DIVERGENCES)
@given(pair=distributions(2))
def test_divergence_is_within_its_bounds(name: str, pair: Floats) -> None:
    assert 0.0 <= DIVERGENCES[name](*pair) <= BOUNDS[name] + 1e-9


@pytest.mark.parametrize("name", DIVERGENCES)
@given(rows=distributions(1))
def test_divergence_of_the_target_itself_is_nothing(name: str, rows: Floats) -> None:
    assert DIVERGENCES[name](rows[0], rows[0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["l1", "hellinger", "jensen_shannon"])
@given(pair=distributions(2))
def test_divergence_is_symmetric(name: str, pair: Floats) -> None:
    measure = DIVERGENCES[name]
    assert measure(pair[0], pair[1]) == pytest.approx(float(measure(pair[1], pair[0])), abs=1e-12)


@pytest.mark.parametrize("name", CONVEX)
@given(rows=distributions(4), tilt=st.floats(min_value=0.0, max_value=1.0))
def test_divergence_of_a_mixture_is_at_most_the_mixture_of_divergences(name: str, rows: Floats, tilt: float) -> None:
    measure, target, weights = DIVERGENCES[name], rows[3], np.array([tilt, 1.0 - tilt, 1.0]) / 2.0
    assert measure(weights @ rows[:3], target) <= weights @ measure(rows[:3], target) + 1e-12


def test_hellinger_of_a_mixture_may_exceed_the_mixture_of_hellingers() -> None:
    target, draws = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.9, 0.1]])
    assert hellinger(draws.mean(axis=0), target) > hellinger(draws, target).mean()


@pytest.mark.parametrize("name", DIVERGENCES)
@given(rows=distributions(4))
def test_many_distributions_at_once_are_measured_one_by_one(name: str, rows: Floats) -> None:
    measure = DIVERGENCES[name]
    together = measure(rows[:3].reshape(3, 1, -1), rows[3])
    assert together.shape == (3, 1)
    assert together.ravel().tolist() == [float(measure(row, rows[3])) for row in rows[:3]]


def test_kl_of_a_worked_example() -> None:
    """q = (1/2, 1/2), p = (1, 0): p̃ = (0.995, 0.005), KL = ½·ln(0.5/0.995) + ½·ln(0.5/0.005) = ½·ln(50.2513)."""
    assert kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(0.5 * np.log(0.25 / (0.995 * 0.005)))
    assert kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(1.9585, abs=5e-5)


def test_kl_ignores_categories_that_are_not_wanted() -> None:
    assert kl([0.5, 0.5, 0.0], [1.0, 0.0, 0.0]) == kl([0.5, 0.2, 0.3], [1.0, 0.0, 0.0])


def test_kl_is_finite_where_a_wanted_category_is_missing() -> None:
    assert kl([0.0, 1.0], [1.0, 0.0]) == pytest.approx(np.log(100.0))


def test_kl_without_smoothing_is_infinite_there() -> None:
    assert kl([0.0, 1.0], [1.0, 0.0], smoothing=0.0) == np.inf


def test_divergences_take_shares_too_small_to_halve() -> None:
    for measure in DIVERGENCES.values():
        assert measure([1.0, 0.0], [1.0, 5e-324]) == pytest.approx(0.0, abs=1e-12)
        assert measure([1.0, 5e-324], [1.0, 0.0]) == pytest.approx(0.0, abs=1e-12)


def test_worked_examples_of_the_symmetric_ones() -> None:
    """Half in common: |½−1| + |½−0| = 1; 1 − √½ = H²; JS = ½(½ ln(½/¾) + ½ ln 2) + ½ ln(1/¾)."""
    p, q = [0.5, 0.5], [1.0, 0.0]
    assert l1(p, q) == 1.0
    assert hellinger(p, q) ** 2 == pytest.approx(1.0 - np.sqrt(0.5))
    assert jensen_shannon(p, q) == pytest.approx(0.5 * (0.5 * np.log(2 / 3) + 0.5 * np.log(2)) + 0.5 * np.log(4 / 3))


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ([1.0], r"distribution: has shape \(1,\) and the target \(2,\)"),
        ([1.5, -0.5], r"distribution: has a share of -0\.5, must have shares of at least 0"),
        ([np.nan, 1.0], "distribution: has a share of nan"),
    ],
)
def test_errors_say_what_is_no_distribution(name: str, distribution: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DIVERGENCES[name](distribution, [0.5, 0.5])


def test_kl_takes_no_smoothing_beyond_one() -> None:
    with pytest.raises(InputError, match="smoothing: is 2, must be from 0 to 1"):
        kl([1.0, 0.0], [0.5, 0.5], smoothing=2)
