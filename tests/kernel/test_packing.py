"""Rows packed and summed by the kernel, held against a few lines of numpy."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._native import kernel
from excalibr._types import Floats, Integers

CELLS = st.sampled_from([0.0, 0.0, -0.0, 0.25, 0.5, 1.0, -1.0, 5e-324, 1e300, np.inf, np.nan])
TABLES = arrays.arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=CELLS)
SHARES = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(0.0, 1.0))


@given(TABLES)
def test_packed_rows_are_those_of_scipy(table: Floats) -> None:
    indptr, indices, values = kernel.pack_rows(table)
    expected = sp.csr_array(table)
    assert indptr.dtype == indices.dtype == np.int64
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(indices, expected.indices)
    np.testing.assert_array_equal(values, expected.data)


@given(st.integers(0, 2**32 - 1))
def test_exposure_is_the_sum_over_rankings_and_slots(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, count = generator.integers(1, 9, size=2)
    k = generator.integers(1, n + 1)
    rankings = np.array([generator.permutation(n)[:k] for _ in range(count)], dtype=np.int64)
    weights, positions = generator.random(count), generator.random(k)
    expected = np.zeros(n)
    np.add.at(expected, rankings, np.outer(weights, positions))
    np.testing.assert_allclose(kernel.exposure_of(rankings, weights, positions, int(n)), expected, rtol=1e-14)


@given(SHARES)
def test_shares_are_the_transposed_matrix_times_the_exposure(table: Floats) -> None:
    indptr, indices, values = kernel.pack_rows(table)
    exposure = np.linspace(0.1, 1.0, len(table))
    shares = kernel.shares_of(indptr, indices, values, table.shape[1], exposure)
    np.testing.assert_allclose(shares, table.T @ exposure, rtol=1e-13)


def test_arrays_that_are_read_only_are_taken() -> None:
    table = np.eye(3)
    table.setflags(write=False)
    assert kernel.pack_rows(table)[1].tolist() == [0, 1, 2]


def test_results_are_arrays_of_numpys_own_that_can_be_written() -> None:
    indptr, indices, values = kernel.pack_rows(np.eye(3))
    assert all(array.flags.owndata and array.flags.writeable for array in (indptr, indices, values))


@pytest.mark.parametrize(
    "table",
    [
        np.eye(3, dtype=np.float32),
        np.eye(3, dtype=np.int64),
        np.eye(3, dtype=">f8"),
        np.eye(6)[:, ::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.ones(3),
        [[1.0, 0.0]],
        None,
    ],
    ids=["float32", "int64", "other byte order", "gaps", "by columns", "one axis", "list", "nothing"],
)
def test_an_array_of_another_kind_is_refused(table: Floats) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        kernel.pack_rows(table)


@pytest.mark.parametrize(
    ("indptr", "indices", "exposures"),
    [
        ([0, 3], [0, 1], 1),
        ([0, 1], [0, 1], 1),
        ([1, 2], [0, 1], 1),
        ([0, 2, 1, 2], [0, 1], 3),
        ([0, -1, 2], [0, 1], 2),
        ([], [0, 1], 0),
        ([0, 2], [0, 2], 1),
        ([0, 2], [0, -1], 1),
        ([0, 2], [0, 2**32], 1),
        ([0, 2], [0], 1),
        ([0, 2], [0, 1], 2),
    ],
)
def test_places_outside_of_an_array_are_refused(indptr: list[int], indices: list[int], exposures: int) -> None:
    starts, columns = (np.array(each, dtype=np.int64) for each in (indptr, indices))
    with pytest.raises(ValueError, match="row starts|out of range|sparse matrix|exposure"):
        kernel.shares_of(starts, columns, np.array([0.5, 0.5]), 2, np.ones(exposures))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 8, 20, 127, 128, 129, 300, 5_000]))
def test_shares_have_the_bits_of_dense_rows(seed: int, r: int) -> None:
    generator = np.random.default_rng(seed)
    table = np.where(generator.random((4, r)) < generator.random((4, 1)), generator.random((4, r)), 0.0)
    table[0, generator.integers(0, r)] = 1e-14
    with np.errstate(invalid="ignore"):
        kept = np.where(table < 1e-12 * table.sum(axis=1, keepdims=True), 0.0, table)
        expected = np.nan_to_num(kept / kept.sum(axis=1, keepdims=True))
    shares = sp.csr_array(kernel.shares_of_rows(*kernel.pack_rows(table), r, 1e-12)[::-1], shape=table.shape)
    np.testing.assert_array_equal(shares.toarray(), expected)


@given(st.integers(0, 2**32 - 1))
def test_rows_of_each_user_are_added_up_in_their_order(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = np.where(generator.random((9, 5)) < 0.5, generator.random((9, 5)), 0.0)
    weights, starts = generator.random(9), np.sort(generator.integers(0, 10, 4))
    starts[[0, -1]] = 0, 9
    expected = np.zeros((3, 5))
    for user in range(3):
        for row in range(starts[user], starts[user + 1]):
            expected[user] += weights[row] * table[row]
    sums = kernel.sums_by_user(*kernel.pack_rows(table), 5, weights, starts)
    assert all((np.diff(sums[1][first:last]) > 0).all() for first, last in zip(sums[0], sums[0][1:], strict=False))
    np.testing.assert_array_equal(sp.csr_array(sums[::-1], shape=(3, 5)).toarray(), expected)


@pytest.mark.parametrize("rankings", [[[0, 3]], [[0, -1]], [[0]], [[0, 1], [1, 0]]])
def test_rankings_of_other_candidates_or_shapes_are_refused(rankings: list[list[int]]) -> None:
    shown: Integers = np.array(rankings, dtype=np.int64)
    with pytest.raises(ValueError, match="out of range|position weight|weight for each"):
        kernel.exposure_of(shown, np.ones(1), np.ones(2), 3)


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer ends the process instead")
def test_memory_that_cannot_be_had_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        kernel.exposure_of(np.zeros((0, 1), dtype=np.int64), np.empty(0), np.ones(1), 2**60 - 1)
