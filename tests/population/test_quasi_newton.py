"""Quasi-Newton steps between bounds, held against scipy's L-BFGS-B."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

from excalibr._population.quasi_newton import minimise

optimize: Any = scipy_optimize


def soft_maxima(seed: int, size: int) -> Any:
    """A smooth convex function as the master's: a mean of soft maxima of linear functions, and a linear term."""
    random = np.random.default_rng(seed)
    slopes, heights = random.normal(size=(40, 5, size)), random.normal(size=(40, 5))
    edges = random.uniform(-0.1, 0.1, size)

    def value(at: Any) -> Any:
        margins = heights - slopes @ at
        top = margins.max(axis=1)
        weights = np.exp((margins - top[:, None]) / 0.1)
        total = weights.sum(axis=1)
        slope = edges - np.einsum("bt,btg->g", weights / total[:, None], slopes) / 40
        return float((top + 0.1 * np.log(total)).mean() + edges @ at), slope

    return value


@pytest.mark.parametrize("seed", range(8))
def test_the_lowest_point_is_that_of_scipy(seed: int) -> None:
    size = 3 + 4 * seed
    value, lowest, highest = soft_maxima(seed, size), np.full(size, -0.2), np.full(size, 0.1 + 0.1 * seed)
    found = minimise(value, np.zeros(size), lowest, highest, 500)
    bounds = optimize.Bounds(lowest, highest)
    expected = optimize.minimize(value, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12)
    assert (lowest <= found).all()
    assert (found <= highest).all()
    assert value(found)[0] == pytest.approx(expected.fun, abs=1e-8)


def test_a_start_outside_is_brought_inside_and_no_step_goes_up() -> None:
    value, heights = soft_maxima(1, 6), []

    def noted(at: Any) -> Any:
        heights.append(value(at)[0])
        return value(at)

    few = minimise(noted, np.full(6, 9.0), np.full(6, -1.0), np.ones(6), 3)
    more = minimise(noted, few, np.full(6, -1.0), np.ones(6), 3)
    assert value(more)[0] <= value(few)[0] <= heights[0]


def test_steps_that_decrease_too_little_are_the_last() -> None:
    value, calls = soft_maxima(3, 9), []

    def noted(at: Any) -> Any:
        calls.append(at)
        return value(at)

    bounds = (np.full(9, -1.0), np.ones(9))
    lowest = value(minimise(noted, np.zeros(9), *bounds, 500))[0]
    to_the_end = len(calls)
    near = value(minimise(noted, np.zeros(9), *bounds, 500, min_decrease=1e-4))[0]
    assert len(calls) - to_the_end < to_the_end
    assert lowest <= near <= lowest + 1e-2
