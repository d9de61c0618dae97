import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from excalibr import Problem, datasets
from excalibr.datasets import Attribute, decade, from_column, genre, popularity
from excalibr.errors import InputError, InputTypeError


def shares(attribute: Attribute) -> list[list[float]]:
    return [[float(share) for share in row] for row in attribute.matrix.toarray()]


def test_genres_share_an_item_equally() -> None:
    attribute = genre(["Action|Comedy", "Comedy", "Action|Comedy|Drama|War"])
    assert attribute.categories == ("Action", "Comedy", "Drama", "War")
    assert shares(attribute) == [[0.5, 0.5, 0, 0], [0, 1, 0, 0], [0.25, 0.25, 0.25, 0.25]]


@pytest.mark.parametrize("nothing", ["(no genres listed)", "", None, float("nan"), [], " | "])
def test_no_genres_listed_is_a_genre(nothing: object) -> None:
    attribute = genre(["Drama", nothing])
    assert attribute.categories == ("(no genres listed)", "Drama")
    assert shares(attribute) == [[0, 1], [1, 0]]


def test_a_label_that_is_listed_twice_counts_once() -> None:
    assert shares(genre(["War|War|Drama"])) == [[0.5, 0.5]]


@pytest.mark.parametrize(
    "column", [["a;b", "b"], [["a", "b"], ["b"]], np.array(["a;b", "b"]), pd.Series(["a; b", "b"])]
)
def test_a_column_may_be_text_or_lists_from_anywhere(column: object) -> None:
    attribute = from_column("tag", column, separator=";")  # type: ignore[arg-type]
    assert (attribute.name, attribute.categories, shares(attribute)) == ("tag", ("a", "b"), [[0.5, 0.5], [0, 1]])


def test_a_column_of_numbers_is_labelled_by_them() -> None:
    assert from_column("age", [18, 6, 18]).categories == ("18", "6")


def test_without_a_separator_a_text_is_one_label() -> None:
    assert from_column("studio", ["A|B"], separator=None).categories == ("A|B",)


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan])
def test_what_is_missing_has_a_label_of_its_own(missing: object) -> None:
    assert from_column("studio", ["A", missing], missing="(unknown)").categories == ("(unknown)", "A")


def test_years_before_1920_are_of_the_1920s() -> None:
    assert decade([1891, 1919, 1929, 1930]).categories == ("1920s", "1930s")
    assert decade([1891, 1930], first=1890).categories == ("1890s", "1930s")


def test_an_item_without_a_year_is_spread_as_the_other_items_are() -> None:
    attribute = decade([1994, 1995, 1996, 2001, 0])
    assert attribute.categories == ("1990s", "2000s")
    assert shares(attribute)[4] == [0.75, 0.25]
    assert shares(decade([1994, 1995, 1996, 2001, np.nan])) == shares(attribute)


def test_an_item_without_a_year_may_have_a_category_of_its_own() -> None:
    assert decade([1994, 0], missing="(no year)").categories == ("(no year)", "1990s")


def test_popular_are_the_top_five_per_cent_and_of_equals_the_first() -> None:
    counts = np.full(40, 3)
    counts[17] = 9
    assert np.flatnonzero(popularity(counts).matrix.toarray()[:, 0]).tolist() == [0, 17]


def test_even_a_tiny_catalogue_has_a_popular_item() -> None:
    assert shares(popularity([1, 2])) == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "attribute", [genre(["A|B", "", "C"]), decade([1950, 0, 2001]), popularity([1, 5, 2]), from_column("x", ["a", "b"])]
)
def test_rows_sum_to_one_and_cannot_be_changed(attribute: Attribute) -> None:
    np.testing.assert_allclose(attribute.matrix.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        attribute.matrix.data[0] = 2.0


def test_rows_of_candidates_go_straight_into_a_problem() -> None:
    attribute = genre(["A|B", "B", "C", "A"])
    problem = Problem.of([1.0, 0.5], attribute.matrix[[3, 0]], [0.5, 0.5, 0.0])
    assert problem.r == 3


def test_some_items_keep_every_category() -> None:
    some = genre(["A", "B", "C"]).take([2, 2, 0])
    assert (some.categories, shares(some)) == (("A", "B", "C"), [[0, 0, 1], [0, 0, 1], [1, 0, 0]])
    assert some.items == 3


def test_the_repr_names_the_first_categories() -> None:
    assert repr(from_column("x", list("abcdefgh"))).endswith("8 categories: 'a', 'b', 'c', 'd', 'e', 'f', …)")


def test_every_name_of_the_module_exists() -> None:
    assert all(hasattr(datasets, name) for name in datasets.__all__)


def test_what_cannot_be_an_attribute_is_refused() -> None:
    with pytest.raises(InputError, match="values: are the text 'Drama', must have an entry for each item"):
        genre("Drama")
    with pytest.raises(InputError, match="values: are empty"):
        from_column("x", [])
    with pytest.raises(InputError, match="years: item 1 has 95, must be a year of four digits, or 0"):
        decade([1995, 95])
    with pytest.raises(InputError, match="years: are all missing"):
        decade([0, np.nan])
    with pytest.raises(InputError, match="years: have shape"):
        decade([[1995]])
    with pytest.raises(InputError, match="positives: have shape"):
        popularity([])
    with pytest.raises(InputError, match="share: is 5, must be between 0 and 1. Hint: 0.05 is the top 5 %"):
        popularity([1, 2], share=5)
    with pytest.raises(InputError, match="matrix: has shape .*, must have 1 columns"):
        Attribute("x", ("a",), sparse.csr_array(np.eye(2)))


@pytest.mark.parametrize("column", [pa.array(["a|b", None]), pl.Series([["a", "b"], None])])
def test_columns_of_arrow_and_polars_are_read_as_their_values(column: object) -> None:
    """Once each of Arrow's was one label, "a|b" and "None"."""
    attribute = from_column("tag", column)  # type: ignore[arg-type]
    assert (attribute.categories, shares(attribute)) == (("(none)", "a", "b"), [[0, 0.5, 0.5], [1, 0, 0]])


def test_what_is_no_column_of_labels_is_refused() -> None:
    with pytest.raises(InputTypeError, match="values: are a DataFrame, must be a list, an array or a column"):
        from_column("tag", pd.DataFrame({"tag": ["a"]}))
    with pytest.raises(InputTypeError, match="values: have the bytes b'a', must be texts"):
        from_column("tag", [b"a"])
    with pytest.raises(InputTypeError, match="separator: is 5, must be a text, or None"):
        from_column("tag", ["a"], separator=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positives: are nan in row 1"):
        popularity([3, np.nan])
    with pytest.raises(InputTypeError, match="first: is '1920', must be a year"):
        decade([1994], first="1920")  # type: ignore[arg-type]


def test_some_items_are_taken_by_a_mask_and_no_fraction_is_one() -> None:
    attribute = genre(["A", "B", "C"])
    assert shares(attribute.take([True, False, True])) == shares(attribute.take([0, 2]))
    with pytest.raises(
        InputError, match=r"items: have shape \(1,\) and type float64, must be indices from 0 to 2, or 3 booleans"
    ):
        attribute.take([0.5])
    with pytest.raises(InputError, match="items: element 0 is 3, must be indices from 0 to 2"):
        attribute.take([3])


@pytest.mark.parametrize("values", [{"Heat": "Crime", "Up": "Comedy"}, np.array("Crime")])
def test_what_has_no_entry_for_each_item_is_refused(values: object) -> None:
    """Once the keys of a mapping were taken for the labels."""
    with pytest.raises(InputTypeError, match=r"values: are a (dict|ndarray), must be a list, an array or a column"):
        from_column("genre", values)  # type: ignore[arg-type]
