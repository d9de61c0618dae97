from typing import Any

import numpy as np
import pytest

from excalibr.datasets import Interactions, positives
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
