from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from excalibr import Policy, Reranker, calibrate
from excalibr.errors import InputError
from excalibr.tables import ItemArrays, Tables, read_items
from excalibr.tables._items import guess_separator, marks_in
from tests.tables.attributes import ATTRIBUTES, GENRES, Rows, items_of
from tests.tables.invented import GENRE_COLUMNS, KINDS, KINDS_OF_FRAMES, RERANKER, Invented, as_arrow, invented_tables

MIXED = ["Comedy", "Drama", "War", "Comedy{0}Drama", "Comedy{0}War", "Drama{0}War", "Comedy{0}Drama{0}War"]


def read(columns: dict[str, Any], **options: Any) -> ItemArrays:
    return read_items(pa.table(columns), Tables(targets={}, **options))


def shares(items: ItemArrays) -> dict[Any, dict[str, float]]:
    dense = items.rows.dense()
    names = items.categories.to_pylist()
    return {
        item: {name: share for name, share in zip(names, row.tolist(), strict=True) if share}
        for item, row in zip(items.ids.to_pylist(), dense, strict=True)
    }


def test_the_three_forms_of_a_table_say_the_same() -> None:
    long = read({"item_id": [2, 1, 1], "category": ["b", "b", "a"]})
    listed = read({"item_id": [1, 2], "category": [["a", "b"], ["b"]]})
    text = read({"item_id": [1, 2], "category": ["b| a ", "b"]}, separator="|")
    assert shares(long) == shares(listed) == shares(text) == {1: {"a": 0.5, "b": 0.5}, 2: {"b": 1.0}}


def test_shares_are_in_proportion_to_weights() -> None:
    items = read({"item_id": [1, 1, 1], "category": ["a", "b", "c"], "weight": [3.0, 1.0, None]})
    assert shares(items) == {1: {"a": 0.75, "b": 0.25}}


@pytest.mark.parametrize("nothing", [None, "", "  ", "|"])
def test_an_item_without_a_category_has_one_of_its_own(nothing: str | None) -> None:
    items = read({"item_id": [1, 2], "category": ["a", nothing]}, separator="|")
    assert shares(items)[2] == {"(none)": 1.0}


def test_an_empty_list_is_no_category() -> None:
    assert shares(read({"item_id": [1, 2], "category": [["a"], []]}))[2] == {"(none)": 1.0}


def test_labels_under_a_null_do_not_count() -> None:
    starts, labels = pa.array([0, 1, 3, 4], pa.int32()), pa.array(["a", "b", "b", "c"])
    lists = pa.ListArray.from_arrays(starts, labels, mask=pa.array([False, True, False]))
    assert shares(read({"item_id": [1, 2, 3], "category": lists})) == {1: {"a": 1.0}, 2: {"(none)": 1.0}, 3: {"c": 1.0}}
    pairs = pa.array([["a", "b"], None, ["c", "c"]], pa.list_(pa.string(), 2))
    assert shares(read({"item_id": [1, 2, 3], "category": pairs}))[2] == {"(none)": 1.0}


def test_a_pair_that_comes_twice_counts_once_or_with_its_weights_added() -> None:
    columns = {"item_id": [1, 1, 1], "category": ["a", "a", "b"]}
    assert shares(read(columns)) == {1: {"a": 0.5, "b": 0.5}}
    assert shares(read(columns | {"weight": [1, 2, 1]})) == {1: {"a": 0.75, "b": 0.25}}


def test_rows_without_an_item_are_left_out() -> None:
    assert shares(read({"item_id": [1, None], "category": ["a", "b"]})) == {1: {"a": 1.0}}


def test_categories_may_be_numbers_or_pandas_categories() -> None:
    assert shares(read({"item_id": [1, 2], "category": [10, 9]})) == {1: {"10": 1.0}, 2: {"9": 1.0}}
    frame = pd.DataFrame({"item_id": [1, 2], "category": pd.Categorical(["b", "a"])})
    assert shares(read_items(frame, Tables(targets={}))) == {1: {"b": 1.0}, 2: {"a": 1.0}}


def test_lists_of_polars_are_read() -> None:
    frame = pl.DataFrame({"item_id": ["x"], "category": [["a", "b"]]})
    assert shares(read_items(frame, Tables(targets={}))) == {"x": {"a": 0.5, "b": 0.5}}


def test_a_negative_weight_is_an_error() -> None:
    with pytest.raises(InputError, match="column 'weight' of items: row 0 is -1.0, must be finite and at least 0"):
        read({"item_id": [1], "category": ["a"], "weight": [-1.0]})


def test_an_empty_table_is_an_error() -> None:
    with pytest.raises(InputError, match="items: are empty"):
        read({"item_id": pa.array([], pa.int64()), "category": pa.array([], pa.string())})


def test_several_columns_are_several_attributes(tables: Invented) -> None:
    rows = Rows(tables)

    def solve(user: int, own: Any, seen: Any) -> Policy:
        shares = {"genres": rows.genres, "decade": rows.decades}
        chosen = {name: table[own["item_id"]] for name, table in shares.items()}
        wanted = {name: table[seen].mean(axis=0) for name, table in shares.items()}
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, attribute_weights={"decade": 0.5})

    reranker = Reranker(k=5, trade_off=0.4, seed=3, attribute_weights={"decade": 0.5})
    slates = reranker.rerank(tables.candidates, tables.items, history=tables.history, **ATTRIBUTES)
    assert items_of(slates) == rows.each(solve)


def test_attributes_may_have_names_of_their_own(tables: Invented) -> None:
    named: dict[str, Any] = {"category": {"topic": "genres", "age": "decade"}, "separator": "|"}
    given = (tables.candidates, tables.items)
    one = Reranker(k=5, seed=3, attribute_weights={"age": 2}).rerank(*given, history=tables.history, **named)
    other = Reranker(k=5, seed=3, attribute_weights={"decade": 2}).rerank(*given, history=tables.history, **ATTRIBUTES)
    assert one.equals(other)


def test_a_mapping_with_one_column_is_an_attribute_by_name(tables: Invented) -> None:
    given = (tables.candidates, tables.items)
    one = RERANKER.rerank(*given, history=tables.history, category=["genres"], separator="|")
    other = RERANKER.rerank(*given, history=tables.history, **GENRES)
    assert one.equals(other)


@pytest.mark.parametrize("separator", ["|", ";", ",", "/", ", ", " / "])
def test_parts_that_are_labels_of_their_own_show_the_separator(separator: str) -> None:
    assert guess_separator(pa.array([label.format(separator) for label in MIXED])) == separator.strip()


def test_a_bar_is_a_separator_wherever_it_occurs() -> None:
    assert guess_separator(pa.array(["FR|BE", "NL"])) == "|"


@pytest.mark.parametrize(
    "labels",
    [
        ["drama", "comedy"],
        [],
        ["Smith, John", "Smith, Ann", "Miller, John", "Doe, Ann"],
        ["Home &amp; Garden", "Tools &amp; Home", "Garden &amp; Tools"],
        ["Audio/Speakers", "Audio/Cables", "Video/Cameras"],
        ["Sci-Fi/Fantasy", "Drama", "Comedy"],
        ["AC/DC", "R, B"],
    ],
)
def test_marks_in_names_are_no_separators(labels: list[str]) -> None:
    assert guess_separator(pa.array(labels, pa.large_string())) is None


def test_many_labels_of_few_parts_show_the_separator_although_none_stands_alone() -> None:
    parts = "abcdefghijkl"
    labels = [f"{one};{two}" for one in parts for two in parts if one < two]
    assert guess_separator(pa.array(labels)) == ";"


def test_where_two_could_be_it_none_is_taken() -> None:
    assert guess_separator(pa.array(["AC|DC", *(label.format(",") for label in MIXED)])) is None


def test_the_marks_are_counted_by_labels() -> None:
    assert marks_in(pa.array(["a,b", "c,d", "e", "f;g"])) == {",": 0.5, ";": 0.25, "|": 0.0, "/": 0.0}
    assert marks_in(pa.array([], pa.string())) == {}


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_a_guessed_separator_gives_what_an_explicit_one_gives(kind: str) -> None:
    tables = invented_tables(users=4)
    given = [KINDS[kind](table) for table in (tables.candidates, tables.items)]
    reranker, history = Reranker(k=5), KINDS[kind](tables.history)
    guessed = reranker.rerank(*given, history=history)
    named = reranker.rerank(*given, history=history, **GENRE_COLUMNS)
    assert as_arrow(guessed).equals(as_arrow(named))
