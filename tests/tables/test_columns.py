from typing import Any

import pytest

from excalibr.errors import InputError
from excalibr.tables import Tables
from excalibr.tables._columns import OWN_COLUMNS, USUAL, usual_columns


def names(**options: Any) -> Tables:
    return Tables(targets={}, **options)


def test_the_name_for_one_table_goes_before_that_for_all_and_that_before_usual_ones() -> None:
    columns = ["user_id", "uid", "who"]
    assert names(user_id="uid", history_user_id="who").find("user_id", "history", columns) == "who"
    assert names(user_id="uid").find("user_id", "history", columns) == "uid"
    assert names().find("user_id", "history", columns) == "user_id"
    assert names(user_id="elsewhere").find("user_id", "history", ["userId"]) == "userId"


@pytest.mark.parametrize("role", USUAL)
def test_usual_names_are_known_however_they_are_written(role: str) -> None:
    for name in USUAL[role]:
        assert usual_columns(role, ["title", name.upper()]) == [name.upper()]
    assert usual_columns("user_id", ["User ID", "user-id", "user_id"]) == ["User ID", "user-id", "user_id"]


def test_a_name_that_was_given_must_be_in_the_table_that_it_is_about() -> None:
    assert names(user_id="usr").find("user_id", "candidates", ["user_id"]) is None
    with pytest.raises(InputError) as raised:
        names(user_id="usr").column("user_id", "candidates", ["user_id", "score"])
    assert str(raised.value) == (
        "column 'usr' not found in candidates. Hint: columns are ['user_id', 'score']; pass user_id='user_id'."
    )


def test_a_hint_names_the_option_of_that_table_only() -> None:
    with pytest.raises(InputError, match="not found in history.*pass history_user_id='users'"):
        names().column("user_id", "history", ["users", "item_id"])
    with pytest.raises(InputError, match="column 'who' not found in history.*pass history_user_id=… to name yours"):
        names(history_user_id="who").find("user_id", "history", ["a", "b"])


def test_several_usual_names_are_no_answer() -> None:
    with pytest.raises(InputError) as raised:
        names().find("score", "candidates", ["user_id", "rating", "prediction"])
    assert str(raised.value) == (
        "column 'score' not found in candidates, where 'rating' and 'prediction' could be it. "
        "Hint: pass score='rating'."
    )


def test_columns_that_a_table_can_do_without_have_no_usual_names() -> None:
    assert names(weight="w").find("weight", "items", ["weight", "rating"]) is None
    assert names(items_weight="share").find("weight", "items", ["weight", "share"]) == "share"


def test_what_was_recognised_is_said_once() -> None:
    known = names()
    for _ in range(2):
        known.find("user_id", "history", ["userId", "movieId"])
        known.find("item_id", "history", ["userId", "movieId"])
        known.find("item_id", "items", ["movieId"])
        known.find("score", "candidates", ["score"])
    assert known.recognised_text() == [
        "`userId`, `movieId` of history are taken as user_id, item_id",
        "`movieId` of items is taken as item_id",
    ]


def test_a_header_in_one_column_is_answered_with_its_delimiter() -> None:
    with pytest.raises(InputError, match="single column, 'user_id;item_id'; read it with sep=';'"):
        names().column("user_id", "history", ["user_id;item_id"])


def test_the_options_of_one_table_are_those_that_begin_with_its_name() -> None:
    assert {name.partition("_")[0] for name in OWN_COLUMNS} == {
        *("items", "history", "targets", "prior", "users", "pinned", "shown")
    }
