from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from excalibr import targets
from excalibr.errors import ExcalibrError, InputError, InputTypeError

CATEGORIES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


def as_histories(*users: dict[int, float]) -> Any:
    dense = sparse.lil_array((len(users), len(CATEGORIES)))
    for row, user in enumerate(users):
        for item, weight in user.items():
            dense[row, item] = weight
    return sparse.csr_array(dense)


def test_a_history_is_the_mean_of_its_items() -> None:
    np.testing.assert_allclose(targets.history(CATEGORIES, [0, 1]), [0.75, 0.25, 0.0])


def test_sparse_and_dense_categories_give_the_same() -> None:
    dense = targets.history(CATEGORIES, [0, 1, 2])
    assert targets.history(sparse.csr_array(CATEGORIES), [0, 1, 2]).tolist() == dense.tolist()


def test_an_item_without_a_category_counts_for_nothing() -> None:
    assert targets.history([[1, 0], [0, 1], [0, 0]], [0, 2, 2]).tolist() == [1.0, 0.0]


def test_weights_make_items_count_more() -> None:
    np.testing.assert_allclose(targets.history(CATEGORIES, [0, 2], weights=[3, 1]), [0.75, 0.0, 0.25])


def test_many_users_get_what_each_gets_alone() -> None:
    given: dict[str, Any] = {
        "weights": as_histories({0: 1, 2: 2}, {1: 0.3, 2: 0.1, 3: 7}),
        "prior": [1, 0, 0],
        "strength": 2,
    }
    many = targets.histories(CATEGORIES, **given)
    one = [
        targets.history(CATEGORIES, [0, 2], weights=[1, 2], prior=[1, 0, 0], strength=2),
        targets.history(CATEGORIES, [1, 2, 3], weights=[0.3, 0.1, 7], prior=[1, 0, 0], strength=2),
    ]
    assert many.tolist() == [row.tolist() for row in one]
    assert targets.histories(CATEGORIES, **given, sparse=True).toarray().tolist() == many.tolist()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0.1, 100.0))
def test_targets_are_distributions(items: list[int], strength: float) -> None:
    target = targets.history(CATEGORIES, items, prior=[0.2, 0.3, 0.5], strength=strength)
    assert target.min() >= 0
    assert target.sum() == pytest.approx(1.0)


def test_an_empty_history_is_the_prior() -> None:
    assert targets.history(CATEGORIES, [], prior=[0.25, 0.25, 0.5], strength=4).tolist() == [0.25, 0.25, 0.5]
    rows = targets.histories(CATEGORIES, as_histories({}, {0: 1}), prior=[0.25, 0.25, 0.5], strength=1)
    assert rows[0].tolist() == [0.25, 0.25, 0.5]


def test_the_prior_counts_as_so_many_items() -> None:
    """The history is added to the prior, and outweighs it as it grows."""
    prior = [0.0, 0.0, 1.0]
    shares = [targets.history(CATEGORIES, [0] * size, prior=prior, strength=10)[2] for size in (0, 10, 90)]
    np.testing.assert_allclose(shares, [1.0, 0.5, 0.1])


def test_recency_halves_with_every_half_life() -> None:
    assert targets.recency_weights([100, 90, 70], 10).tolist() == [1.0, 0.5, 0.125]
    assert targets.recency_weights([100, 90], 10, now=110).tolist() == [0.5, 0.25]
    assert targets.recency_weights([100, 200], 10, now=100).tolist() == [1.0, 1.0]


def test_recency_of_many_users_counts_from_each_users_latest() -> None:
    times = as_histories({0: 100, 1: 90}, {}, {2: 10, 3: 20})
    weights = targets.recency_weights(times, 10)
    assert weights.toarray().tolist() == [[1.0, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0.5, 1.0]]
    assert times.data.max() == 100
    assert targets.recency_weights(times, 10, now=100).toarray()[0].tolist() == [1.0, 0.5, 0, 0]


@pytest.mark.parametrize("weigh", [targets.rating_weights, lambda times: targets.recency_weights(times, 10)])
def test_two_times_or_ratings_of_one_item_are_not_added_up(weigh: Any) -> None:
    rows, items, numbers = [0, 0, 0, 1], [1, 1, 2, 0], [100.0, 90.0, 95.0, 80.0]
    with pytest.raises(InputError, match="have several entries of a user and an item, must have one entry"):
        weigh(sparse.coo_array((numbers, (rows, items)), shape=(2, 4)))
    assert weigh(sparse.coo_array((numbers[1:], (rows[1:], items[1:])), shape=(2, 4))).nnz == 3


def test_a_history_of_long_ago_keeps_its_weight() -> None:
    times = as_histories({0: 1e9, 1: 1e9}, {2: 1.0})
    target = targets.histories(CATEGORIES, targets.recency_weights(times, 1.0))
    np.testing.assert_allclose(target, [[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]])


def test_ratings_weigh_by_what_they_are_above_the_floor() -> None:
    assert targets.rating_weights([4.0, 2.0]).tolist() == [4.0, 2.0]
    weights = targets.rating_weights(as_histories({0: 4, 2: 5, 3: 1}), above=3.5)
    np.testing.assert_allclose(targets.histories(CATEGORIES, weights), [[0.25, 0.0, 0.75]])


def test_uniform_and_fixed_targets_are_for_one_user_or_many() -> None:
    assert targets.uniform(2, users=3).tolist() == [[0.5, 0.5]] * 3
    assert targets.fixed([0.2, 0.8]).tolist() == [0.2, 0.8]
    assert targets.fixed([0.2, 0.8], users=0).shape == (0, 2)


def test_an_empty_history_without_a_prior_is_refused() -> None:
    with pytest.raises(InputError, match="weights: row 1 has no item with a category and a weight above 0.*Hint: pass"):
        targets.histories(CATEGORIES, as_histories({0: 1}, {}))
    with pytest.raises(InputError, match="^items: are empty, must have at least one.*Hint: pass prior="):
        targets.history(CATEGORIES, [])


def test_a_history_that_counts_for_nothing_is_refused_by_the_name_of_what_is_at_fault() -> None:
    with pytest.raises(InputError, match="^weights: are all 0, must have one above 0. Hint: pass prior="):
        targets.history(CATEGORIES, [0, 1], weights=[0, 0])
    with pytest.raises(InputError, match="^items: have no category where their weight is above 0, must have"):
        targets.history([[0, 0], [0, 1]], [0, 1], weights=[1, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": [0, 4]}, "items: element 1 is 4, must be whole numbers from 0 to 3 .*, rows of categories"),
        ({"items": [0.5]}, "items: have shape .* and type float64, must be whole numbers from 0 to 3"),
        ({"items": [[0], [1, 2]]}, "items: cannot be read as whole numbers .*must be whole numbers from 0 to 3"),
        ({"items": [0, 2], "weights": [1.7e308, 1.7e308]}, "weights: of row 0 add up to infinity, must have a finite"),
        ({"items": [0], "prior": [1.7e308, 1.7e308, 0], "strength": 1}, "prior: sums to inf, must sum to 1"),
        ({"items": [0], "categories": [[1, 0], [np.nan, 1]]}, "categories: row 1, column 0 is nan, must be finite"),
        ({"items": [0], "categories": [[1, 0], [1, 1]]}, "categories: row 1 sums to 2, must sum to 1. Hint: divide"),
        ({"items": [0], "weights": [1, 2]}, r"weights: have shape \(2,\), must have shape \(1,\)"),
        ({"items": [0], "weights": [-1]}, "weights: row 0, item 0 is -1.0, must be finite and at least 0"),
        ({"items": [0], "prior": [1, 0, 0]}, "strength: is 0.0 with a prior, must be above 0 with a prior"),
        ({"items": [0], "strength": 3}, "strength: is 3 without a prior"),
        ({"items": [0], "strength": -1, "prior": [1, 0, 0]}, "strength: is -1, must be a finite number of at least 0"),
        ({"items": [0], "strength": 1, "prior": [1, 1, 0]}, "prior: sums to 2, must sum to 1"),
        ({"items": [0], "strength": 1, "prior": [0.5, 0.5]}, r"prior: has shape \(2,\), must have shape \(3,\)"),
        ({"items": [0], "categories": [1.0]}, r"categories: have shape \(1,\), must have shape \(items, r\)"),
    ],
)
def test_a_history_that_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        targets.history(**{"categories": CATEGORIES, **arguments})


def test_other_arguments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights: have shape \(1, 2\), must have shape \(users, 4\)"):
        targets.histories(CATEGORIES, [[1, 1]])
    with pytest.raises(InputTypeError, match="weights: cannot be read as numbers"):
        targets.histories(CATEGORIES, "all")
    with pytest.raises(InputError, match="half_life: is 0, must be above 0"):
        targets.recency_weights([1], 0)
    with pytest.raises(InputError, match="timestamps: element 1 is nan, must be finite"):
        targets.recency_weights([1, np.nan], 10)
    with pytest.raises(InputError, match="r: is 0, must be a whole number of at least 1"):
        targets.uniform(0)
    with pytest.raises(InputError, match="shares: element 1 is -0.5, must be finite and at least 0"):
        targets.fixed([1.5, -0.5])
    with pytest.raises(InputError, match="shares: sum to 0, must sum to 1"):
        targets.fixed([])


def test_sparse_categories_may_have_indices_of_32_bits() -> None:
    rows = sparse.csr_array(np.array([[1.0, 0.0], [0.5, 0.5]]))
    rows.indptr, rows.indices = rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
    assert targets.histories(rows, [[1.0, 1.0]]).tolist() == [[0.75, 0.25]]


def test_timestamps_of_many_users_must_say_whose_they_are() -> None:
    with pytest.raises(InputError, match=r"timestamps: have shape \(2, 2\), must have shape \(h,\), of one user"):
        targets.recency_weights([[0, 10], [20, 40]], 10)


@pytest.mark.parametrize(
    ("function", "arguments", "wrong"),
    [
        (targets.recency_weights, ([1],), {"half_life": "30d"}),
        (targets.recency_weights, ([1],), {"half_life": np.timedelta64(30, "D")}),
        (targets.recency_weights, ([1], 10), {"now": "today"}),
        (targets.rating_weights, ([1],), {"above": "3"}),
        (targets.history, (CATEGORIES, [0]), {"strength": "2"}),
        (targets.uniform, (), {"r": 2.5}),
        (targets.uniform, (2,), {"users": 1.5}),
    ],
)
def test_what_is_no_number_is_told_by_name(function: Any, arguments: tuple[Any, ...], wrong: dict[str, Any]) -> None:
    with pytest.raises(InputTypeError, match=f"{next(iter(wrong))}: is "):
        function(*arguments, **wrong)


def test_no_moment_is_no_number_to_count_age_from() -> None:
    with pytest.raises(InputError, match="now: is nan, must be a finite number"):
        targets.recency_weights([1], 10, now=float("nan"))
