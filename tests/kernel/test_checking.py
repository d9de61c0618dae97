"""What callers give, checked and packed by the kernel, held against a few lines of Python and against scipy."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._native import kernel
from excalibr._problem.faults import BAND, ROW_SUM, SCORE, SCORE_RANGE, SHARE, TARGET_SHARE, TARGET_SUM
from excalibr._types import Floats

NUMBERS = st.sampled_from([0.0, 0.5, 1.0, -0.5, 0.25, 1e-40, 2.0, np.inf, np.nan])
SCORES = st.sampled_from([0.0, 1.0, -3.5, 1e150, 2e150, -np.inf, np.nan])


@st.composite
def batches(draw: Any) -> dict[str, Any]:
    """Any number of users with one or two attributes, most of their rows and targets good."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    ends = np.cumsum(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    items, r = draw(st.integers(1, 4)), int(ends[-1])

    def tables(height: int) -> Floats:
        good = np.hstack([np.eye(width)[draw(places(height, width))] for width in np.diff([0, *ends])])
        wild = draw(arrays.arrays(np.float64, (height, r), elements=NUMBERS))
        chosen = np.array(draw(st.lists(st.booleans(), min_size=height, max_size=height)), dtype=bool)
        return np.where(chosen[:, None], good, wild) if height else good

    def places(count: int, below: int) -> Any:
        return arrays.arrays(np.int64, count, elements=st.integers(0, below - 1))

    n = sum(sizes)
    return {
        "scores": draw(arrays.arrays(np.float64, n, elements=SCORES)),
        "starts": np.cumsum([0, *sizes]),
        "items": draw(places(n, items)),
        "rows": tables(items),
        "lows": tables(len(sizes)).ravel(),
        "ends": ends,
    }


def check(given: dict[str, Any], rows: Any = None) -> kernel.Checked:
    rows = given["rows"] if rows is None else rows
    arrays: Any = (
        given["scores"],
        given["starts"],
        given["items"],
        rows,
        given["lows"],
        None,
        given["ends"],
        None,
        False,
    )
    return kernel.Checked(*arrays)


def faults_of(given: dict[str, Any]) -> list[int]:
    """The same by hand: scores before categories before targets, shares before sums, one attribute after the other."""
    found = []
    spans = list(zip([0, *given["ends"]], given["ends"], strict=False))
    for user, target in enumerate(given["lows"].reshape(len(given["starts"]) - 1, -1)):
        own = slice(given["starts"][user], given["starts"][user + 1])
        rows, scores = given["rows"][given["items"][own]], given["scores"][own]
        faults = []
        if not np.isfinite(scores).all():
            faults.append(SCORE)
        elif (np.abs(scores) > 1e150).any():
            faults.append(SCORE_RANGE)
        for which, bad_share, bad_sum in ((rows, SHARE, ROW_SUM), (target[None, :], TARGET_SHARE, TARGET_SUM)):
            for first, last in spans:
                part = which[:, first:last]
                if not ((part >= 0) & np.isfinite(part)).all():
                    faults.append(bad_share)
                elif (np.abs(part.sum(axis=1) - 1.0) > 1e-6).any():
                    faults.append(bad_sum)
        found.append(faults[0] if faults else 0)
    return found


@given(batches())
def test_the_fault_of_each_user_is_the_first_that_one_would_look_for(given: dict[str, Any]) -> None:
    checked = check(given)
    assert checked.faults.tolist() == faults_of(given)
    assert checked.sound == (not any(faults_of(given)))
    assert [checked.fault(user)[0] for user in range(len(checked.faults))] == checked.faults.tolist()


@given(batches())
def test_rows_and_targets_of_sound_users_sum_to_one(given: dict[str, Any]) -> None:
    checked = check(given)
    rows = sp.csr_array((checked.values, checked.indices, checked.indptr), shape=given["rows"].shape).toarray()
    spans = list(zip([0, *given["ends"]], given["ends"], strict=False))
    for user in np.flatnonzero(checked.faults == 0).tolist():
        own = rows[given["items"][given["starts"][user] : given["starts"][user + 1]]]
        for first, last in spans:
            np.testing.assert_allclose(own[:, first:last].sum(axis=1), 1.0, rtol=1e-15)
            assert checked.edges(user)[0][first:last].sum() == pytest.approx(1.0, rel=1e-15)


@given(batches())
def test_sparse_rows_and_attributes_side_by_side_are_the_dense_table(given: dict[str, Any]) -> None:
    table, ends = given["rows"], [0, *given["ends"]]
    parts = [sp.csr_array(np.nan_to_num(table[:, first:last])) for first, last in pairwise(ends)]
    given = given | {"rows": np.nan_to_num(table)}
    tuples = [(part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data, part.shape[1]) for part in parts]
    one, other = check(given), check(given, tuples)
    for name in ("indptr", "indices", "values", "faults"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


@given(batches(), st.booleans())
def test_sparse_targets_are_dense_ones(given: dict[str, Any], bands: bool) -> None:
    low = given["lows"].reshape(-1, given["ends"][-1])
    high = low + 0.25 if bands else low
    there = (low != 0) | (high != 0)
    indptr, columns = np.append(0, np.cumsum(there.sum(axis=1))), np.ascontiguousarray(np.nonzero(there)[1])
    rest: Any = (given["ends"], None, False)
    arrays: Any = (given["scores"], given["starts"], given["items"], given["rows"])
    one = kernel.Checked(*(*arrays, low.ravel(), high.ravel() if bands else None, *rest))
    lows = (indptr, columns, low[there], None)
    other = kernel.Checked(*(*arrays, lows, high[there] if bands else None, *rest))
    assert one.faults.tolist() == other.faults.tolist()
    for user in range(len(low)):
        assert [each.tolist() for each in one.edges(user)] == [each.tolist() for each in other.edges(user)]
        assert one.fault(user) == pytest.approx(other.fault(user), nan_ok=True)


def test_what_a_row_does_not_list_has_the_rest_of_its_attribute() -> None:
    rows, ends = np.array([[1.0, 0.0, 0.0, 1.0]]), np.array([3, 4])
    lows = (np.array([0, 2, 3]), np.array([0, 1, 3]), np.array([0.25, 0.0, 1.0]), np.array([1.0, 0.0, 0.5, 0.0]))
    highs = np.array([0.5, 1.0, 1.0])
    arrays: Any = (np.zeros(2), np.array([0, 1, 2]), np.array([0, 0]))
    checked = kernel.Checked(*(*arrays, rows, lows, highs, ends, None, False))
    assert [fault[0] for fault in map(checked.fault, (0, 1))] == [TARGET_SUM, 0]  # of the second attribute
    again = pickle.loads(pickle.dumps(checked))
    assert [each.tolist() for each in again.edges(1)] == [[0.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 1.0]]


def test_one_target_is_for_all_users_and_so_is_its_fault() -> None:
    arrays: Any = (np.zeros(3), np.array([0, 1, 2, 3]), None, np.eye(3)[[0, 1, 2]])
    for targets in (np.array([0.5, 0.5, 0.0]), (np.array([0, 2]), np.array([0, 1]), np.full(2, 0.5), None)):
        checked = kernel.Checked(*(*arrays, targets, None, None, None, False))
        assert [checked.edges(user)[0].tolist() for user in range(3)] == [[0.5, 0.5, 0.0]] * 3
    assert kernel.Checked(*(*arrays, np.full(3, 0.5), None, None, None, False)).faults.tolist() == [TARGET_SUM] * 3


@given(st.integers(0, 2**32 - 1))
def test_entries_of_the_same_place_are_added_in_their_order_and_zeros_left_out(seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 6, 4)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    columns, values = random.integers(0, 3, indptr[-1]), random.choice([0.0, 0.5, -0.5, 0.1, 0.2], indptr[-1])
    rows = (indptr, columns, values, 3)
    checked = kernel.Checked(np.zeros(4), None, None, rows, np.full(3, 1 / 3), None, None, None, False)
    places = [(values[first:last], columns[first:last]) for first, last in pairwise(indptr)]
    sums = [[in_order(own[at == column].tolist()) for column in range(3)] for own, at in places]
    good = [all(x >= 0 for x in row) and abs(in_order(row) - 1) <= 1e-6 for row in sums]
    expected = [[x / in_order(row) if fine else x for x in row] for row, fine in zip(sums, good, strict=True)]
    packed = kernel.pack_rows(np.array(expected, dtype=float))
    assert [part.tolist() for part in packed] == [
        part.tolist() for part in (checked.indptr, checked.indices, checked.values)
    ]


def in_order(numbers: list[float]) -> float:
    """Their sum, one after the other: Python's own carries what rounding loses, from 3.12 on."""
    return reduce(add, numbers, 0.0)


def test_a_fault_says_where_it_is_and_what_was_found() -> None:
    rows = np.array([[1.0, 0.0], [0.5, 0.25], [2.0, -1.0]])
    arguments: Any = (np.arange(3.0), np.array([0, 1, 3]), None, rows, np.array([0.5, 0.5]), None, None, None, False)
    assert kernel.Checked(*arguments).fault(1) == (SHARE, 0, 1, 1, -1.0, 0.0)
    assert kernel.Checked(*arguments).fault(0)[0] == 0
    bands: Any = (np.zeros(1), None, None, np.ones((1, 1)), np.array([0.5]), np.array([0.25]), None, None, False)
    assert kernel.Checked(*bands).fault(0) == (BAND, 0, 0, 0, 0.5, 0.25)


def test_scores_are_brought_to_the_unit_range_user_by_user() -> None:
    scores = np.array([3.0, 1.0, 2.0, 7.0, -1e150, 1e150])
    checked = kernel.Checked(
        *(scores, np.array([0, 3, 4, 6]), None, np.ones((6, 1)), np.ones(1), None, None, None, True)
    )
    assert checked.scores.tolist() == [1.0, 0.0, 0.5, 0.0, 0.0, 1.0]


def test_what_was_checked_can_be_pickled_to_the_bit() -> None:
    rows = np.array([[1 / 3, 2 / 3 + 1e-9], [1.0, 0.5]])
    checked = kernel.Checked(
        *(np.arange(2.0), np.array([0, 1, 2]), None, rows, np.array([0.1, 0.9]), None, None, None, False)
    )
    again = pickle.loads(pickle.dumps(checked))
    for name in ("scores", "indptr", "indices", "values", "faults"):
        assert getattr(again, name).tolist() == getattr(checked, name).tolist()
    for one, other in zip(again.edges(1), checked.edges(1), strict=True):
        assert one.tolist() == other.tolist()
    assert again.fault(1) == checked.fault(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"starts": np.array([0, 3])}, "starts do not rise"),
        ({"items": np.array([0, 2])}, "an item is out of range"),
        ({"items": np.array([0])}, "every candidate is an item"),
        ({"lows": np.ones(3)}, "a target has a number for each category"),
        ({"lows": np.full(4, 0.5)}, "every user has a target"),
        ({"lows": (np.array([0, 2]), np.array([1, 0]), np.full(2, 0.5), None)}, "the categories of a target rise"),
        ({"lows": (np.array([0, 1]), np.array([2]), np.ones(1), None)}, "an index is out of range"),
        ({"lows": (np.array([0, 1]), np.array([1]), np.ones(1), np.ones(2))}, "how much of the rest is free"),
        ({"ends": np.array([1])}, "attributes have all categories"),
        ({"rows": (np.array([0, 1, 2]), np.array([0, 5]), np.ones(2), 2)}, "an index is out of range"),
    ],
)
def test_arrays_that_lead_outside_are_refused(changes: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {
        "scores": np.ones(2),
        "starts": np.array([0, 2]),
        "items": np.array([0, 1]),
        "rows": np.eye(2),
        "lows": np.array([0.5, 0.5]),
        "ends": np.array([2]),
    }
    assert check(sound).sound
    with pytest.raises(ValueError, match=message):
        check(sound | changes)
