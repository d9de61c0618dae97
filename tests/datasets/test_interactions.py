from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from excalibr.datasets import HeldOutUsers, Interactions, hold_out, positives, split_users
from excalibr.errors import InputError, InputTypeError


def rated(seed: int = 1) -> dict[str, Any]:
    """30 users with 1 to 20 ratings of 40 items, in a random order."""
    random = np.random.default_rng(seed)
    pairs = [(user * 10, item + 100) for user in range(30) for item in random.permutation(40)[: random.integers(1, 21)]]
    order = random.permutation(len(pairs))
    return {
        "user_ids": [pairs[at][0] for at in order],
        "item_ids": [pairs[at][1] for at in order],
        "ratings": [float(rating) for rating in random.integers(1, 11, len(pairs)) / 2],
        "timestamps": [int(time) for time in random.integers(1, 1000, len(pairs))],
    }


def test_positives_are_above_three_and_a_half() -> None:
    made = positives([1] * 6, range(6), [3.5, 4, 4.5, 5, 4, 4])
    assert made.item_ids.tolist() == [1, 2, 3, 4, 5]


def test_users_with_fewer_than_five_positives_are_dropped() -> None:
    made = positives([1] * 5 + [2] * 5, list(range(5)) * 2, [5, 5, 5, 5, 5, 5, 5, 5, 5, 3])
    assert made.user_ids.tolist() == [1]


def test_items_without_a_positive_of_a_kept_user_are_dropped() -> None:
    made = positives([1, 1, 2], [7, 8, 9], [5, 5, 5], minimum=2)
    assert made.item_ids.tolist() == [7, 8]


def test_every_entry_keeps_its_rating_and_time() -> None:
    given = rated()
    made = positives(**given, minimum=3)
    by_pair = {
        (user, item): (rating, time)
        for user, item, rating, time in zip(*(given[name] for name in given), strict=True)
        if rating > 3.5
    }
    users = made.user_ids[np.repeat(np.arange(len(made.user_ids)), np.diff(made.indptr))]
    found = zip(users.tolist(), made.item_ids[made.items].tolist(), strict=True)
    kept = {pair: entry for pair, entry in by_pair.items() if pair[0] in made.user_ids}
    assert dict(zip(found, zip(made.ratings, made.timestamps, strict=True), strict=True)) == kept
    assert np.diff(made.indptr).min() >= 3


def test_the_order_of_rows_does_not_matter() -> None:
    given = rated()
    one = positives(**given, minimum=2)
    other = positives(**{name: values[::-1] for name, values in given.items()}, minimum=2)
    assert one.items.tolist() == other.items.tolist()
    assert one.timestamps.tolist() == other.timestamps.tolist()


def test_matrices_hold_ones_ratings_or_times() -> None:
    made = positives([1, 1], [7, 8], [4, 5], [30, 20], minimum=1)
    assert made.matrix.toarray().tolist() == [[1, 1]]
    assert made.values("ratings").toarray().tolist() == [[4, 5]]
    assert made.values("timestamps").toarray().tolist() == [[30, 20]]
    assert made.counts.tolist() == [1, 1]
    with pytest.raises(InputError, match="which: is 'rating', must be one of .*did you mean 'ratings'"):
        made.values("rating")  # type: ignore[arg-type]


def test_some_users_keep_the_order_given_and_every_item() -> None:
    made = positives(**rated(), minimum=2)
    some = made.of_users([4, 1])
    assert some.user_ids.tolist() == made.user_ids[[4, 1]].tolist()
    assert some.matrix.toarray().tolist() == made.matrix.toarray()[[4, 1]].tolist()
    assert made.of_users([]).matrix.shape == (0, len(made.item_ids))


def test_some_entries_keep_every_user() -> None:
    made = positives(**rated(), minimum=2)
    recent = made.where(made.timestamps > 500)
    assert recent.user_ids.tolist() == made.user_ids.tolist()
    assert recent.matrix.sum() == (made.timestamps > 500).sum()
    assert recent.timestamps.min() > 500


def test_interactions_cannot_be_changed() -> None:
    made: Interactions = positives([1], [7], [5], minimum=1)
    with pytest.raises(ValueError, match="read-only"):
        made.items[0] = 3


def test_ratings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="ratings: have user 1 and item 7 twice, must have each pair once"):
        positives([1, 1, 1], [7, 7, 8], [5, 4, 5], minimum=1)
    with pytest.raises(InputError, match="ratings: leave no user.*Hint: is the scale another one"):
        positives([1], [7], [1])
    with pytest.raises(InputError, match=r"have shapes \(1,\), \(2,\), \(1,\), \(1,\), must all have shape"):
        positives([1], [7, 8], [5])
    with pytest.raises(InputTypeError, match="ratings: cannot be read as numbers"):
        positives([1], [7], ["five"])


def liked(users: int = 60, items: int = 30, seed: int = 3) -> Interactions:
    random = np.random.default_rng(seed)
    pairs = [(user, item) for user in range(users) for item in random.permutation(items)[: random.integers(5, 25)]]
    return positives([pair[0] for pair in pairs], [pair[1] for pair in pairs], [5.0] * len(pairs))


def by_user(users: HeldOutUsers) -> dict[int, list[int]]:
    rows = users.held_out.matrix
    return {
        int(user): rows.indices[rows.indptr[at] : rows.indptr[at + 1]].tolist()
        for at, user in enumerate(users.held_out.user_ids)
    }


def test_every_user_is_in_one_part() -> None:
    made = liked()
    split = split_users(made, validation=10, test=0.25)
    parts = [split.train, split.validation.history, split.test.history]
    assert [len(part.user_ids) for part in parts] == [35, 10, 15]
    assert sorted(np.concatenate([part.user_ids for part in parts]).tolist()) == made.user_ids.tolist()


def test_history_and_held_out_items_make_up_the_user() -> None:
    made = liked()
    users = hold_out(made)
    assert (users.history.matrix + users.held_out.matrix).toarray().tolist() == made.matrix.toarray().tolist()


@pytest.mark.parametrize(("size", "hidden"), [(2, 1), (5, 1), (9, 1), (10, 2), (14, 2), (100, 20)])
def test_a_fifth_rounded_down_and_at_least_one_is_hidden(size: int, hidden: int) -> None:
    users = hold_out(positives([1] * size, range(size), [5] * size, minimum=1))
    assert (len(users.history), len(users.held_out)) == (size - hidden, hidden)


def test_a_share_is_exact_in_spite_of_rounding() -> None:
    assert len(hold_out(positives([1] * 100, range(100), [5] * 100), share=0.29).held_out) == 29


def test_one_item_always_stays() -> None:
    assert len(hold_out(positives([1] * 5, range(5), [5] * 5), share=0.99).history) == 1


def test_the_same_seed_makes_the_same_split() -> None:
    one, again, other = (split_users(liked(), seed=seed) for seed in (7, 7, 8))
    assert one.train.user_ids.tolist() == again.train.user_ids.tolist() != other.train.user_ids.tolist()
    assert by_user(one.test) == by_user(again.test) != by_user(other.test)


def test_a_users_hidden_items_do_not_depend_on_the_other_users() -> None:
    made = liked()
    everyone = by_user(hold_out(made, seed=5))
    some = by_user(hold_out(made.of_users([40, 3, 11]), seed=5))
    assert some == {user: everyone[user] for user in some}


def test_hidden_items_are_drawn_evenly() -> None:
    users = hold_out(positives(np.repeat(np.arange(2000), 5), list(range(5)) * 2000, [5] * 10000))
    assert ((users.held_out.counts - 400) ** 2 / 400).sum() < 18.5  # chi-square, 4 degrees of freedom, 1 in 1000


def test_by_default_a_tenth_of_a_small_set_is_held_out() -> None:
    split = split_users(liked(60))
    assert (len(split.validation.history.user_ids), len(split.test.history.user_ids)) == (6, 6)


def test_by_default_a_large_set_has_the_papers_sizes() -> None:
    users = 60_000
    made = positives(np.repeat(np.arange(users), 2), [1, 2] * users, np.full(2 * users, 5.0), minimum=2)
    split = split_users(made)
    assert (len(split.validation.history.user_ids), len(split.test.history.user_ids)) == (5000, 5000)


def test_every_part_has_every_item() -> None:
    made = liked()
    split = split_users(made)
    for part in (split.train, split.validation.history, split.test.held_out):
        assert part.item_ids.tolist() == made.item_ids.tolist()


def test_splits_that_make_no_sense_are_refused() -> None:
    made = liked()
    with pytest.raises(InputError, match="validation: and test take 60 users, must leave at least one of the 60"):
        split_users(made, validation=30, test=30)
    with pytest.raises(InputError, match="test: is 1.5, must be at least one user"):
        split_users(made, test=1.5)
    with pytest.raises(InputError, match="test: is 0.001, which is 0 of 60 users, must be"):
        split_users(made, test=0.001)
    with pytest.raises(InputTypeError, match="validation: is '5', must be a number of users"):
        split_users(made, validation="5")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="seed: is None, must be a whole number"):
        split_users(made, seed=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="share: is 20, must be between 0 and 1. Hint"):
        hold_out(made, share=20)
    with pytest.raises(InputError, match="interactions: have 1 of user 4, must have at least 2 a user"):
        hold_out(positives([4], [1], [5], minimum=1))


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (pd.Series([7, None, 9, 9], dtype="Int64"), "user_ids: are missing in row 1"),
        (["a", None, "b", "b"], "user_ids: are missing in row 1"),
        (np.array([7, "a", 9, 9], dtype=object), "user_ids: are of the types int and str, must be all whole numbers"),
    ],
)
def test_a_row_without_a_user_is_no_user_of_its_own(users: object, message: str) -> None:
    """Once all rows without an id were one user, called nan."""
    with pytest.raises((InputError, InputTypeError), match=message):
        positives(users, [1, 2, 1, 2], [5] * 4, minimum=1)  # type: ignore[arg-type]


def test_times_may_be_moments_and_keep_every_digit() -> None:
    nanoseconds = [1_700_000_000_000_000_001, 1_700_000_000_000_000_000]
    assert positives([7, 7], [1, 2], [5, 5], nanoseconds, minimum=1).timestamps.tolist() == nanoseconds
    moments = np.array(nanoseconds, dtype="datetime64[ns]")
    assert positives([7, 7], [1, 2], [5, 5], moments, minimum=1).timestamps.tolist() == nanoseconds


@pytest.mark.parametrize("times", [[1, np.nan], np.array(["2020-01-01", "NaT"], dtype="datetime64[s]")])
def test_a_time_that_is_missing_is_not_the_earliest(times: object) -> None:
    with pytest.raises(InputError, match="timestamps: are missing in row 1"):
        positives([7, 7], [1, 2], [5, 5], times, minimum=1)  # type: ignore[arg-type]


def test_users_can_be_chosen_by_a_mask() -> None:
    """Once a mask was read as the rows 0 and 1."""
    liked = positives([7, 8, 9], [1, 2, 3], [5] * 3, minimum=1)
    assert liked.of_users([False, True, True]).user_ids.tolist() == [8, 9]
    assert liked.of_users([2, 0]).user_ids.tolist() == [9, 7]
    for wrong in ([3], [-1], [True], [0.5], [[0]]):
        with pytest.raises((InputError, InputTypeError), match=r"rows: (element 0 is (3|-1)|have shape|are of type)"):
            liked.of_users(wrong)
    with pytest.raises(InputError, match=r"kept: has shape \(1,\) and type bool, must be 3 booleans"):
        liked.where(np.array([True]))


def test_zeros_and_ones_are_no_mask_of_entries() -> None:
    """Once they were places: the first two entries, over and over."""
    made = positives([1, 1, 1], [1, 2, 3], [5, 5, 5], minimum=1)
    with pytest.raises(InputError, match=r"kept: has shape \(3,\) and type int64, must be 3 booleans"):
        made.where(np.array([0, 1, 1]))


@pytest.mark.parametrize("argument", ["user_ids", "item_ids", "timestamps"])
def test_what_lies_under_a_mask_is_missing(argument: str) -> None:
    """Once the value beneath counted."""
    columns: dict[str, Any] = {"user_ids": [1, 1, 2], "item_ids": [1, 2, 3], "ratings": [5] * 3, "timestamps": [7] * 3}
    columns[argument] = np.ma.array(columns[argument], mask=[False, True, False])
    with pytest.raises(InputError, match=f"{argument}: are missing in row 1"):
        positives(**columns, minimum=1)


@pytest.mark.parametrize("time", [1e300, -1e300, np.uint64(2**63)])
def test_a_time_that_is_no_64_bit_number_is_refused(time: Any) -> None:
    """Once the latest of them became the earliest, in silence."""
    with pytest.raises(InputError, match=r"timestamps: are -?[0-9.e+]+ in row 1, must be below 2\*\*63"):
        positives([1, 1], [1, 2], [5, 5], np.array([type(time)(5), time]), minimum=1)
