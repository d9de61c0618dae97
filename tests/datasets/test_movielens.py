from pathlib import Path

import pytest

from excalibr.datasets import MovieLens, genre, load_movielens
from excalibr.datasets._movielens import OFFICIAL, year_of
from excalibr.errors import InputError
from tests.datasets.sets import FORMATS, ITEMS, RATINGS, changed, csv_files, dat_files, write_folder, write_parquet


@pytest.fixture(params=FORMATS)
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> MovieLens:
    return load_movielens(FORMATS[request.param](tmp_path), complete=False)


def test_every_format_gives_the_same_ratings(loaded: MovieLens) -> None:
    given = loaded.ratings
    columns = (given.user_ids, given.item_ids, given.values, given.timestamps)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == RATINGS
    assert [column.dtype.name for column in columns] == ["int32", "int32", "float32", "int64"]
    assert len(given) == 4


def test_every_format_gives_the_same_items_by_rising_id(loaded: MovieLens) -> None:
    items = loaded.items
    assert list(zip(items.ids.tolist(), items.titles, items.genres, strict=True)) == sorted(ITEMS)
    assert items.years.tolist() == [1995, 0, 1977]


def test_every_format_has_a_name_and_counts(loaded: MovieLens) -> None:
    assert loaded.name in OFFICIAL
    assert str(loaded.counts) == "4 ratings, 2 users and 3 items"
    assert repr(loaded) == f"MovieLens({loaded.name!r}: 4 ratings, 2 users and 3 items)"


def test_a_set_cannot_be_changed(loaded: MovieLens) -> None:
    for array in (loaded.ratings.values, loaded.items.titles):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_the_10m_folder_has_its_zips_name(tmp_path: Path) -> None:
    assert load_movielens(FORMATS["10M zip"](tmp_path), complete=False).name == "ml-10m"


def test_a_year_that_the_column_lacks_comes_from_the_title(tmp_path: Path) -> None:
    made = load_movielens(write_parquet(tmp_path / "mine", [None, 1978, 1993]))
    assert made.items.years.tolist() == [1995, 1993, 1978]


def test_positives_and_their_items_go_together(loaded: MovieLens) -> None:
    liked = loaded.positives(minimum=1)
    items = loaded.items.of(liked.item_ids)
    assert items.titles.tolist() == [title for item, title, _ in sorted(ITEMS) if item in (10, 30)]
    assert genre(items.genres).categories == ("Animation", "Comedy", "Drama")
    with pytest.raises(InputError, match="item_ids: contain 11, must be ids of the catalogue"):
        loaded.items.of([10, 11])


@pytest.mark.parametrize(
    ("title", "year"),
    [
        ("Heat (1995)", 1995),
        ("Heat (1995) ", 1995),
        ("Fawlty Towers (1975-1979)", 1975),
        ("Hyena Road (2009– )", 2009),
        ("2001: A Space Odyssey (1968)", 1968),
        ("Nine (9) (2009)", 2009),
        ("Moonlight (1984) and after", 0),
        ("Babylon 5", 0),
        ("", 0),
    ],
)
def test_the_year_is_at_the_end_of_the_title(title: str, year: int) -> None:
    assert year_of(title) == year


def test_a_set_that_is_called_official_must_be_complete(tmp_path: Path) -> None:
    path = FORMATS["1M zip"](tmp_path)
    with pytest.raises(InputError) as caught:
        load_movielens(path)
    message = (
        "has 4 ratings, 2 users and 3 items, must have 1,000,209 ratings, 6,040 users and 3,883 items as ml-1m has."
    )
    assert message in str(caught.value)
    assert "Hint: get it again; or pass complete=False" in str(caught.value)


def test_a_set_of_another_name_may_have_any_size(tmp_path: Path) -> None:
    assert load_movielens(write_folder(tmp_path / "mine", csv_files())).name == "mine"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            changed(csv_files(), "ratings.csv", "5.0", "5.5"),
            "has the rating 5.5 in row 1 of its ratings, must be 0.5 to 5",
        ),
        (changed(csv_files(), "ratings.csv", "5.0", "4.7"), "has the rating 4.69.* in row 1 of its ratings"),
        (
            changed(csv_files(), "ratings.csv", "1,30", "1,31"),
            "has the item 31 in row 1 .*must be one of the catalogue's",
        ),
        (changed(csv_files(), "ratings.csv", "2,20", "2,10"), "has two ratings of item 10 by user 2, must have one"),
        (changed(csv_files(), "ratings.csv", "978302109", "0"), "has the timestamp 0 in row 1"),
        (changed(csv_files(), "ratings.csv", "5.0", "five"), r"ratings.csv: cannot be read \(.*five.*\), must be"),
        (changed(csv_files(), "ratings.csv", "5.0", ""), "ratings.csv: column 'rating' lacks 1 values"),
        (
            changed(csv_files(), "ratings.csv", "rating,", "stars,"),
            "ratings.csv: has no column 'rating'.*Hint: columns are",
        ),
        (changed(csv_files(), "movies.csv", "30,", "10,"), "has item 10 twice among its items"),
        (
            {**csv_files(), "ratings.csv": b"userId,movieId,rating,timestamp\n"},
            "has no ratings, must have at least one",
        ),
        (changed(dat_files(), "ratings.dat", "1::30", "one::30"), r"ratings.dat: cannot be read \(.*one"),
        (changed(dat_files(), "movies.dat", "20::", "20;"), "movies.dat: line 3 is .*, must be item::title::genres"),
        (
            changed(dat_files("utf-8"), "movies.dat", "20::", "²::"),
            "movies.dat: line 3 is '²::.*, must be item::title::genres",
        ),
        (changed(dat_files(), "movies.dat", "20::", "9876543210::"), r"movies.dat: cannot be read \(.*9876543210"),
        ({"links.csv": b""}, "has links.csv, must have ratings.csv and movies.csv, or ratings.dat and movies.dat, or"),
        ({}, "has no files, must have"),
    ],
)
def test_what_is_wrong_with_a_set_is_said(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_movielens(write_folder(tmp_path / "mine", files))
