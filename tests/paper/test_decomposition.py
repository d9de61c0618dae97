"""Algorithm 1: the lottery gives the matrix back, whatever noise the matrix comes with."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr import Problem
from excalibr._types import Floats
from excalibr.errors import InputError, InputTypeError
from excalibr.paper import Decomposition, augment, birkhoff, solve_full, solve_reduced

from .mixed import permutation_matrix, problems, random_stochastic

MATCHINGS = pytest.mark.parametrize("matching", ["any", "bottleneck"])


def assert_is_a_lottery_for(matrix: Floats, lottery: Decomposition, within: float) -> None:
    terms, size = lottery.permutations.shape
    assert (lottery.weights > 0).all()
    assert (np.diff(lottery.weights) <= 0).all()
    assert lottery.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert (np.sort(lottery.permutations, axis=1) == np.arange(size)).all()
    assert len(np.unique(lottery.permutations, axis=0)) == terms
    assert np.abs(lottery.matrix() - matrix).max() == lottery.residual <= within


@MATCHINGS
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 12), st.sampled_from([0.0, 1e-16, 1e-12, 1e-9]))
@settings(max_examples=100, deadline=None)
def test_sparse_matrices_with_noise_are_given_back(
    matching: str, seed: int, size: int, terms: int, noise: float
) -> None:
    matrix = random_stochastic(seed, size, terms, noise)
    lottery = birkhoff(matrix, matching)
    assert_is_a_lottery_for(matrix, lottery, within=1e-10 + 1e3 * noise)


@MATCHINGS
@given(st.integers(0, 10**6), st.integers(2, 15), st.sampled_from([0.0, 1e-12, 1e-9]))
@settings(max_examples=30, deadline=None)
def test_dense_matrices_with_noise_are_given_back(matching: str, seed: int, size: int, noise: float) -> None:
    matrix = random_stochastic(seed, size, 10 * size, noise)
    lottery = birkhoff(matrix, matching)
    assert_is_a_lottery_for(matrix, lottery, within=1e-10 + 1e3 * noise)
    if not noise:
        assert len(lottery.weights) <= size**2 - 2 * size + 2  # the most that a lottery needs


@MATCHINGS
@given(problems())
@settings(max_examples=50, deadline=None)
def test_solutions_of_both_programs_are_given_back(matching: str, problem: Problem) -> None:
    for matrix in (augment(solve_reduced(problem).matrix).matrix, solve_full(problem).matrix):
        assert_is_a_lottery_for(matrix, birkhoff(matrix, matching), within=1e-9)


@MATCHINGS
@given(st.integers(0, 10**6), st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_sums_that_are_off_by_almost_a_millionth_are_mended(matching: str, seed: int, size: int) -> None:
    matrix = random_stochastic(seed, size, 5, noise=0.9e-6 / size)
    assert_is_a_lottery_for(matrix, birkhoff(matrix, matching), within=1e-4)


@MATCHINGS
def test_zeros_that_allow_no_doubly_stochastic_matrix_are_corrected_too(matching: str) -> None:
    matrix = np.array([[1.0, 5e-7], [0.0, 1.0]])
    assert_is_a_lottery_for(matrix, birkhoff(matrix, matching), within=1e-6)


@MATCHINGS
def test_noise_where_zeros_should_be_adds_no_terms(matching: str) -> None:
    random = np.random.default_rng(3)
    matrix = 0.5 * np.eye(30) + 0.5 * np.roll(np.eye(30), 1, axis=1) + 1e-15 * random.random((30, 30))
    assert len(birkhoff(matrix, matching).weights) == 2


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 10))
@settings(max_examples=50, deadline=None)
def test_the_first_bottleneck_matching_has_the_largest_weight_that_any_permutation_can_have(
    seed: int, size: int, terms: int
) -> None:
    matrix = random_stochastic(seed, size, terms, noise=0.0)
    largest = max(matrix[range(size), order].min() for order in permutations(range(size)))
    assert birkhoff(matrix, "bottleneck").weights[0] == pytest.approx(largest, abs=1e-10)


def test_bottleneck_takes_far_fewer_terms_where_many_permutations_overlap() -> None:
    matrix = random_stochastic(0, 40, 6, noise=0.0)
    plain, bottleneck = birkhoff(matrix), birkhoff(matrix, "bottleneck")
    assert len(bottleneck.weights) < len(plain.weights) / 3


def test_a_permutation_is_its_own_lottery() -> None:
    lottery = birkhoff(permutation_matrix([2, 0, 1]))
    assert lottery.permutations.tolist() == [[2, 0, 1]]
    assert lottery.weights.tolist() == [1.0]
    assert lottery.residual == 0.0


def test_one_by_one_is_the_smallest_case() -> None:
    assert repr(birkhoff([[1.0]])) == "Decomposition(1 permutations of 1, residual 0.0e+00)"


def test_the_matrix_that_is_given_is_left_alone() -> None:
    matrix = np.full((4, 4), 0.25)
    birkhoff(matrix)
    assert (matrix == 0.25).all()


def test_sparse_matrices_are_taken_in_any_format() -> None:
    for kind in (sp.csr_array, sp.coo_matrix):
        assert birkhoff(kind(np.full((2, 2), 0.5))).weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.6, 0.5], [0.4, 0.5]], r"P: row 0 sums to 1\.1, must sum to 1 \(within 1e-06\)"),
        ([[0.5, 0.5], [0.4, 0.5]], r"P: column 0 sums to 0\.9, must sum to 1"),
        ([[1.0 + 2e-6]], r"P: column 0 sums to 1\.000002, must sum to 1"),
        ([[1.5, -0.5], [-0.5, 1.5]], r"P: row 0, column 1 is -0\.5, must be finite and at least 0"),
        ([[np.nan, 1.0], [1.0, 0.0]], "P: row 0, column 0 is nan"),
        ([[1.0], [0.0]], r"P: has shape \(2, 1\), must be square\. Hint: augment"),
        (np.empty((0, 0)), r"P: has shape \(0, 0\), must have at least one row"),
    ],
)
def test_errors_say_where_the_matrix_is_not_doubly_stochastic(matrix: Floats, message: str) -> None:
    with pytest.raises(InputError, match=message):
        birkhoff(matrix)


@pytest.mark.parametrize("matrix", [[["a"]], np.eye(2) * 1j, [[1.0], [1.0, 2.0]]])
def test_what_is_no_matrix_of_numbers_is_an_error_of_type(matrix: Floats) -> None:
    with pytest.raises(InputTypeError, match="P: cannot be read as numbers"):
        birkhoff(matrix)


def test_an_unknown_matching_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'bottleneck'"):
        birkhoff([[1.0]], "bottle")
    with pytest.raises(InputError, match="matching: is .*, must be one of 'any', 'bottleneck'"):
        birkhoff([[1.0]], ["bottle"])  # type: ignore[arg-type]


def test_entries_a_hair_below_nothing_are_nothing() -> None:
    hair = 1e-8
    lottery = birkhoff([[1.0 + hair, -hair], [-hair, 1.0 + hair]])
    assert (lottery.weights.tolist(), lottery.permutations.tolist()) == ([1.0], [[0, 1]])
    assert lottery.residual <= 2 * hair
    with pytest.raises(InputError, match="P: row 0, column 1 is -1e-05, must be finite and at least 0"):
        birkhoff([[1.0, -1e-5], [0.0, 1.0]])
