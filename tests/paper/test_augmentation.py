"""Algorithm 2: what is kept, what is added, and that the result is doubly stochastic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr import Problem
from excalibr._types import Floats
from excalibr.errors import InputError
from excalibr.paper import augment, solve_reduced

from .mixed import problems, random_stochastic


def assert_doubly_stochastic(matrix: Floats) -> None:
    assert matrix.min() >= 0
    assert (matrix.sum(axis=0) == 1.0).all()
    assert (matrix.sum(axis=1) == 1.0).all()


@given(problems())
@settings(max_examples=50, deadline=None)
def test_solutions_of_the_program_become_doubly_stochastic(problem: Problem) -> None:
    solution = solve_reduced(problem)
    augmented = augment(solution.matrix)
    assert_doubly_stochastic(augmented.matrix)
    np.testing.assert_allclose(augmented.matrix[:, : problem.k], solution.matrix[augmented.kept], atol=1e-9)
    assert np.delete(solution.matrix, augmented.kept, axis=0).sum() <= 1e-9


@given(st.integers(0, 10**6), st.integers(1, 40), st.data(), st.sampled_from([0.0, 1e-15, 1e-9]))
@settings(max_examples=200, deadline=None)
def test_parts_of_random_matrices_are_completed_with_few_entries(
    seed: int, size: int, data: st.DataObject, noise: float
) -> None:
    k = data.draw(st.integers(1, size))
    part = random_stochastic(seed, size, terms=7, noise=noise)[:, :k]
    augmented = augment(part)
    m = len(augmented.kept)
    assert_doubly_stochastic(augmented.matrix)
    np.testing.assert_allclose(augmented.matrix[:, :k], part[augmented.kept], atol=max(1e-12, 50 * noise))
    assert np.count_nonzero(augmented.matrix[:, k:]) <= m + (m - k)
    assert augmented.kept.tolist() == np.flatnonzero(part.any(axis=1)).tolist()


def test_the_row_that_lacks_the_most_comes_first() -> None:
    augmented = augment([[0.5], [0.3], [0.2]])
    np.testing.assert_allclose(augmented.matrix, [[0.5, 0.0, 0.5], [0.3, 0.2, 0.5], [0.2, 0.8, 0.0]], atol=1e-15)


def test_with_as_many_rows_as_slots_nothing_is_added() -> None:
    square = [[0.75, 0.25], [0.25, 0.75]]
    assert augment(square).matrix.tolist() == square
    assert augment([[0.0, 0.0], *square]).matrix.tolist() == square


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5], [0.6]], r"P_hat: column 0 sums to 1\.1, must sum to 1"),
        ([[1.0, 0.5], [0.0, 0.5]], r"P_hat: row 0 sums to 1\.5, must sum to at most 1"),
        ([[1.0, 1.0]], "at least as many rows as columns"),
        ([[np.nan], [1.0]], "P_hat: row 0, column 0 is nan, must be finite"),
        ([[-0.5], [1.5]], r"row 0, column 0 is -0\.5, must be finite and at least 0"),
        ([1.0], r"P_hat: has shape \(1,\), must have shape \(n, k\)"),
        ([["a"]], "P_hat: cannot be read as numbers"),
    ],
)
def test_errors_say_where_the_matrix_is_wrong(matrix: object, message: str) -> None:
    with pytest.raises((InputError, TypeError), match=message):
        augment(matrix)  # type: ignore[arg-type]


def test_entries_a_hair_below_nothing_are_nothing() -> None:
    augmented = augment([[0.7, 0.0], [0.3 + 1e-8, 0.7], [-1e-8, 0.3]])
    assert_doubly_stochastic(augmented.matrix)
    assert augmented.matrix[2, 0] == 0.0
