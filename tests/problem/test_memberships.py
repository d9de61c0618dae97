from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.problem.test_problem import GOOD, problem


@pytest.mark.parametrize(
    "kind",
    [np.array, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array, sp.dok_array, lambda rows: rows],
)
def test_categories_may_be_any_kind_of_matrix(kind: Any) -> None:
    made = problem(categories=kind(GOOD["categories"])).memberships
    assert made.dense().tolist() == GOOD["categories"]
    assert made.indptr.tolist() == [0, 1, 3, 4]
    assert made.indices.tolist() == [0, 0, 1, 1]


def test_sparse_entries_given_twice_are_added_and_zeros_are_dropped() -> None:
    entries = sp.coo_array(([0.5, 0.5, 1.0, 0.0], ([0, 0, 1, 1], [1, 1, 0, 1])), shape=(2, 2))
    made = problem(scores=[1.0, 2.0], categories=entries).memberships
    assert made.values.tolist() == [1.0, 1.0]
    assert made.indices.tolist() == [1, 0]


def test_shares_and_costs_are_the_products_with_the_matrix() -> None:
    memberships = problem().memberships
    assert memberships.shares(np.array([0.5, 0.25, 0.25])).tolist() == [0.625, 0.375]
    assert memberships.costs(np.array([2.0, -4.0])).tolist() == [2.0, -1.0, -4.0]


@given(st.integers(0, 10**6))
def test_rows_that_sum_nearly_to_one_are_made_to(seed: int) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.ones(7), size=30) * (1.0 + 4e-7)
    sums = problem(scores=np.zeros(30), categories=rows, target=np.full(7, 1 / 7)).memberships.dense().sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-15 * 7)
