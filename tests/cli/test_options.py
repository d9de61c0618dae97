"""What is typed after options, as Python takes it."""

from pathlib import Path
from typing import Any

import pytest

from excalibr._cli.options import read_by_group, read_words
from excalibr.errors import InputError


def read(**typed: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Path]]:
    return read_words({"category": "category", **typed})


def test_options_are_parted_into_how_to_rank_how_to_read_and_tables() -> None:
    ranking, columns, tables = read(k=3, separator=";", history=Path("seen.csv"), targets=None)
    assert ranking == {"k": 3}
    assert columns == {"category": "category", "separator": ";"}
    assert tables == {"history": Path("seen.csv")}


@pytest.mark.parametrize(
    ("typed", "columns"),
    [
        ("genre", "genre"),
        ("genre, decade", ["genre", "decade"]),
        ("topic=genre,age=decade", {"topic": "genre", "age": "decade"}),
    ],
)
def test_columns_of_categories_are_one_a_list_or_by_attribute(typed: str, columns: Any) -> None:
    assert read(category=typed)[1] == {"category": columns}


def test_an_attribute_has_one_column_and_each_column_an_attribute() -> None:
    with pytest.raises(InputError, match="category: has 'topic' twice, must have one column for each"):
        read(category="topic=genre, topic =decade")
    assert read(category="a=b,genre")[1] == {"category": ["a=b", "genre"]}  # then they are names, which may have a =


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("position_weights", "log", "log"),
        ("position_weights", "3,2.5,1", [3, 2.5, 1]),
        ("max_per_category", "2", 2),
        ("floors", "drama=0.1, epic=0.25", {"drama": 0.1, "epic": 0.25}),
        ("floors", "a=b=0.5", {"a=b": 0.5}),
        ("floors", "drama=1e-3", {"drama": 0.001}),
        ("k", 3, 3),
    ],
)
def test_numbers_are_one_a_list_or_by_category(name: str, typed: Any, value: Any) -> None:
    assert read(**{name: typed})[0] == {name: value}


@pytest.mark.parametrize("typed", ["drama=much", "drama", "", "drama=0.1,epic", "drama=0.1,0.2", "0.1,epic=0.2"])
def test_what_is_no_number_or_has_only_some_names_is_told_as_it_was_typed(typed: str) -> None:
    with pytest.raises(InputError) as raised:
        read(floors=typed)
    must = "be one number, numbers, or names and numbers such as drama=1,epic=0.5"
    assert str(raised.value) == f"floors: is {typed!r}, must {must}."


@pytest.mark.parametrize("category", ["category", "genre,decade"])
def test_a_category_has_one_number(category: str) -> None:
    with pytest.raises(InputError, match="floors: has 'genre:drama' twice, must have one number for each"):
        read(category=category, floors="genre:drama=0.1,genre:drama=0.3")


def test_with_several_attributes_categories_are_named_with_theirs() -> None:
    ranking, _, _ = read(category="genre,decade", floors="genre:drama=0.1,genre:epic=0.2,decade=0.3")
    assert ranking["floors"] == {"genre": {"drama": 0.1, "epic": 0.2}, "decade": 0.3}


def test_an_attribute_has_one_number_or_some_for_its_categories() -> None:
    for typed in ("genre=0.1,genre:drama=0.2", "genre:drama=0.2,genre=0.1"):
        with pytest.raises(
            InputError, match="floors: has 'genre' both alone and with a category, must have one number"
        ):
            read(category="genre,decade", floors=typed)


@pytest.mark.parametrize("given", [["drama=0.1", "epic=0.2"], ["drama=0.1,epic=0.2"]])
def test_a_list_of_numbers_may_be_given_in_one_option_or_in_several(given: list[str]) -> None:
    assert read(floors=given)[0]["floors"] == {"drama": 0.1, "epic": 0.2}
    assert read_by_group("everyone_weights", given) == {"drama": 0.1, "epic": 0.2}
    assert read(floors=[])[0]["floors"] is None
    for again in ("drama=0.3", ""):
        with pytest.raises(InputError, match="floors: "):
            read(floors=[*given, again])


def test_what_goes_by_group_names_attribute_and_group() -> None:
    assert read_by_group("everyone_weights", "seller=0.5") == {"seller": 0.5}
    assert read_by_group("everyone_floors", "seller:small=0.02") == {"seller": {"small": 0.02}}
    assert read_by_group("everyone_floors", None) is None
    for wrong in ("seller:big", "big=0.3", "seller:big=0.3,small=0.1", ""):
        with pytest.raises(InputError, match=f"caps: is '{wrong}', must be attributes, groups and numbers, such as s"):
            read_by_group("everyone_caps", wrong)
    for wrong in ("seller", "seller:big=0.3", "=0.3"):
        with pytest.raises(InputError, match=f"is '{wrong}', must be attributes and numbers, such as seller=0.5"):
            read_by_group("everyone_weights", wrong)
