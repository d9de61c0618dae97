from typing import Any

import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import InputError
from excalibr.tables import Tables
from excalibr.tables._columns import OWN_COLUMNS, USUAL, usual_columns
from tests.tables.invented import CANDIDATES, ITEMS, KINDS, KINDS_OF_FRAMES, RERANKER, as_arrow


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


def test_a_hint_names_the_option_of_all_tables_where_none_was_named_and_no_name_is_alike() -> None:
    with pytest.raises(InputError) as raised:
        names().column("item_id", "items", ["Buch", "Titel"])
    assert str(raised.value) == (
        "column 'item_id' not found in items. Hint: columns are ['Buch', 'Titel']; "
        "pass item_id=… to name yours in all tables, or items_item_id=… in this one alone."
    )
    with pytest.raises(InputError, match="columns are .*; pass items_item_id=… to name yours."):
        names(item_id="sku").column("item_id", "items", ["Buch", "Titel"])


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


def test_a_mistyped_column_is_answered_with_the_columns_there_are() -> None:
    with pytest.raises(InputError) as raised:
        RERANKER.rerank(CANDIDATES.rename_columns(["users", "item_id", "pred"]), ITEMS, targets={"a": 1})
    assert str(raised.value) == (
        "column 'user_id' not found in candidates. Hint: columns are ['users', 'item_id', 'pred']; "
        "pass user_id='users'."
    )


def test_all_columns_that_a_table_lacks_are_named_at_once() -> None:
    with pytest.raises(InputError) as raised:
        RERANKER.rerank(CANDIDATES.rename_columns(["users", "thing", "s"]), ITEMS, targets={"a": 1})
    listed = "Hint: columns are ['users', 'thing', 's']; pass"
    assert str(raised.value).splitlines() == [
        "3 things are wrong with candidates.",
        f"(1) column 'user_id' not found in candidates. {listed} user_id='users'.",
        f"(2) column 'item_id' not found in candidates. {listed} item_id=… to name yours.",
        f"(3) column 'score' not found in candidates. {listed} score=… to name yours.",
    ]
    with pytest.raises(InputError, match="2 things are wrong with items.*\n.*'item_id'.*\n.*'category'"):
        RERANKER.rerank(CANDIDATES, ITEMS.rename_columns(["x", "y"]), targets={"a": 1})
    with pytest.raises(InputError, match="2 things are wrong with items.*\n.*'genre'.*\n.*'decade'"):
        RERANKER.rerank(CANDIDATES, ITEMS, targets={"a": 1}, category=["genre", "decade"])
    for table in ("history", "pinned", "shown"):
        beside: dict[str, Any] = {} if table == "history" else {"targets": {"a": 1}}
        with pytest.raises(InputError, match=f"things are wrong with {table}.*\n.*'user_id'.*\n.*'item_id'"):
            RERANKER.rerank(CANDIDATES, ITEMS, **beside, **{table: ITEMS.rename_columns(["x", "y"])})


def test_a_table_read_with_the_wrong_delimiter_lacks_one_thing() -> None:
    with pytest.raises(InputError, match="^column 'user_id' not found in candidates.*read it with sep=';'"):
        RERANKER.rerank(pa.table({"user_id;item_id;score": ["7;1;0.5"]}), ITEMS, targets={"a": 1})


def test_columns_may_have_other_names() -> None:
    candidates = CANDIDATES.rename_columns(["who", "what", "how"])
    items = ITEMS.rename_columns(["what", "kind"])
    names = {"user_id": "who", "item_id": "what", "score": "how", "category": "kind", "rank": "place"}
    slates = Reranker(k=2).rerank(candidates, items, targets={"a": 1, "b": 1}, **names)
    assert slates.column_names == ["who", "place", "what", "how"]


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_names_may_differ_by_table(kind: str) -> None:
    """Once the hints for the two tables contradicted one another."""
    candidates = KINDS[kind](CANDIDATES.rename_columns(["userId", "movieId", "prediction"]))
    items = KINDS[kind](ITEMS.rename_columns(["item", "Genres"]))
    history = KINDS[kind](pa.table({"user_id": ["u", "u"], "item_id": [3, 4], "ts": [1, 2]}))
    plain = Reranker(k=2).rerank(CANDIDATES, ITEMS, history=pa.table({"user_id": ["u", "u"], "item_id": [3, 4]}))
    slates = Reranker(k=2).rerank(candidates, items, history=history, half_life=100.0)
    assert list(slates.columns if kind != "pyarrow" else slates.column_names) == [
        *("userId", "rank", "movieId", "prediction")
    ]
    assert as_arrow(slates)["movieId"].to_pylist() == plain["item_id"].to_pylist()


def test_any_name_can_be_given_for_one_table() -> None:
    items = ITEMS.rename_columns(["thing", "kind"])
    history = pa.table({"listener": ["u", "u"], "song": [1, 3], "plays": [1.0, 3.0]})
    users = pa.table({"account": ["u"], "k": [1]})
    names = {"items_item_id": "thing", "history_user_id": "listener", "history_item_id": "song"}
    report = Reranker(k=2).report(
        *(CANDIDATES, items),
        history=history,
        users=users,
        category="kind",
        history_weight="plays",
        users_user_id="account",
        **names,
    )
    assert report["slots"].to_pylist() == [1]
    assert report["deviation_before"].to_pylist() == pytest.approx([1.5])


def test_targets_by_user_are_known_by_a_usual_name_too() -> None:
    """Once a table with ``userId`` was taken for one target for all."""
    wanted = pa.table({"userId": ["u", "somebody else"], "genre": ["b", "a"], "weight": [1.0, 99.0]})
    slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=wanted)
    assert slates["item_id"].to_pylist() == [3, 4]
    named = wanted.rename_columns(["who", "what", "share"])
    own = {"targets_user_id": "who", "targets_category": "what", "targets_weight": "share"}
    assert Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=named, **own).equals(slates)


def test_following_a_hint_once_is_enough() -> None:
    history = pa.table({"userId": ["u"], "item_id": [3]})
    with pytest.raises(InputError, match="column 'userId' not found in candidates.*; pass user_id='user_id'"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, user_id="userId")
    assert len(Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, user_id="user_id")) == 2
