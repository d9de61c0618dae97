import gzip
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from excalibr.datasets import MovieLens, genre, load_movielens
from excalibr.datasets import _archives as archives
from excalibr.datasets._movielens import OFFICIAL, year_of
from excalibr.errors import InputError, MissingExtraError
from tests.datasets.sets import ITEMS, RATINGS, csv_files, dat_files, write_folder, write_parquet, write_zip


def compressed(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content) for name, content in files.items()}


def semicolons(files: dict[str, bytes]) -> dict[str, bytes]:
    """Commas in titles stay."""
    return {name: re.sub(rb"(?<=\w),(?! )|(?<=\"),", b";", content) for name, content in files.items()}


FORMATS: dict[str, Callable[[Path], Path]] = {
    "20M zip": lambda at: write_zip(at / "ml-20m.zip", "ml-20m", csv_files()),
    "25M zip": lambda at: write_zip(at / "ml-25m.zip", "ml-25m", csv_files()),
    "32M zip": lambda at: write_zip(at / "ml-32m.zip", "ml-32m", csv_files()),
    "latest-small folder": lambda at: write_folder(at / "ml-latest-small", csv_files()),
    "compressed folder": lambda at: write_folder(at / "ml-latest-small", compressed(csv_files())),
    "compressed 1M folder": lambda at: write_folder(at / "ml-1m", compressed(dat_files())),
    "folder with semicolons": lambda at: write_folder(at / "ml-latest-small", semicolons(csv_files())),
    "1M zip": lambda at: write_zip(at / "ml-1m.zip", "ml-1m", dat_files()),
    "1M folder": lambda at: write_folder(at / "ml-1m", dat_files()),
    "10M zip": lambda at: write_zip(at / "ml-10m.zip", "ml-10M100K", dat_files("utf-8", whole=False)),
    "parquet": lambda at: write_parquet(at / "ml-1m"),
    "parquet with years": lambda at: write_parquet(at / "ml-1m", [1995, 1977, None]),
}


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


def changed(files: dict[str, bytes], name: str, old: str, new: str) -> dict[str, bytes]:
    assert old.encode() in files[name]
    return {**files, name: files[name].replace(old.encode(), new.encode())}


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
        ({"links.csv": b""}, "has links.csv, must have ratings.csv and movies.csv, or ratings.dat and movies.dat, or"),
        ({}, "has no files, must have"),
    ],
)
def test_what_is_wrong_with_a_set_is_said(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_movielens(write_folder(tmp_path / "mine", files))


def test_what_is_no_set_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: does not exist, must be a MovieLens zip or folder"):
        load_movielens(tmp_path / "nowhere")
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="half.zip: is not a zip file.*Hint: it may be only partly downloaded"):
        load_movielens(tmp_path / "half.zip")
    write_parquet(tmp_path / "broken")
    (tmp_path / "broken" / "items.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="items.parquet: cannot be read"):
        load_movielens(tmp_path / "broken")


@pytest.mark.parametrize("name", ["ratings.dat", "movies.dat", "ratings.csv"])
def test_a_damaged_zip_is_said_to_be_one(tmp_path: Path, name: str) -> None:
    path = write_zip(tmp_path / "ml.zip", "mine", csv_files() if name.endswith("csv") else dat_files())
    content = bytearray(path.read_bytes())
    content[content.index(f"mine/{name}".encode()) + len(f"mine/{name}") + 5] ^= 255
    path.write_bytes(content)
    with pytest.raises(InputError, match="ml.zip: is damaged .*Hint: get it again"):
        load_movielens(path)


def test_files_outside_the_folder_of_a_zip_do_not_matter(tmp_path: Path) -> None:
    files = {**csv_files(), "__MACOSX/deeper/ratings.csv": b"no"}
    made = load_movielens(write_zip(tmp_path / "ml.zip", "mine", files))
    assert (made.name, len(made.ratings)) == ("mine", 4)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FORMATS["20M zip"](tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(MissingExtraError, match=r"pyarrow is not installed. Hint: pip install 'excalibr\[data\]'"):
        load_movielens(path)


def test_ids_are_as_large_as_the_largest_set_needs(tmp_path: Path) -> None:
    files = changed(changed(csv_files(), "ratings.csv", "1,30,", "1,292757,"), "movies.csv", "30,", "292757,")
    assert load_movielens(write_folder(tmp_path / "mine", files)).ratings.item_ids.max() == np.int32(292757)


@pytest.mark.parametrize("name", ["ratings.parquet", "items.parquet"])
def test_damaged_parquet_is_named(tmp_path: Path, name: str) -> None:
    folder = write_parquet(tmp_path / "ml-1m")
    content = bytearray((folder / name).read_bytes())
    content[4:60] = bytes(56)
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        load_movielens(folder, complete=False)


def test_a_plain_file_goes_before_a_compressed_one(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "ml-latest-small", csv_files() | {"ratings.csv.gz": b"not read"})
    assert len(load_movielens(folder, complete=False).ratings) == 4


def bomb(path: Path, zeros: int, name: str = "ratings.csv") -> Path:
    """A zip whose ratings unpack to so many bytes of next to nothing."""
    return write_zip(path, "mine", csv_files() | {name: csv_files()["ratings.csv"] + b"\n" * zeros})


def test_a_zip_that_unpacks_to_many_times_its_size_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(tmp_path / "bomb.zip", 30_000_000)
    assert path.stat().st_size < 50_000
    monkeypatch.setattr(archives._Counted, "readinto", lambda *_: pytest.fail("read"))
    with pytest.raises(
        InputError, match="bomb.zip: unpacks to more than 10,000,000 bytes, must unpack to at most"
    ) as at:
        load_movielens(path)
    assert str(at.value).endswith(
        "at most 4,000,000,000 bytes and 100 times its size. Hint: if you trust it, raise max_bytes and max_ratio."
    )


def test_the_limit_can_be_raised(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.zip", 12_000_000)
    assert len(load_movielens(path, max_ratio=10_000).ratings) == 4
    with pytest.raises(InputError, match="unpacks to more than 11,000,000 bytes"):
        load_movielens(path, max_ratio=10_000, max_bytes=11_000_000)


@pytest.mark.parametrize("files", [csv_files, dat_files])
def test_what_is_read_is_counted_whatever_the_header_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Callable[[], dict[str, bytes]]
) -> None:
    path = write_zip(tmp_path / "ml.zip", "mine", files())
    size = sum(len(content) for name, content in files().items() if name != "README.txt")
    monkeypatch.setattr(archives.Unpacked, "announce", lambda *_: None)
    assert len(load_movielens(path, max_bytes=size).ratings) == 4
    with pytest.raises(InputError, match="unpacks to more than"):
        load_movielens(path, max_bytes=size - 1)


def test_a_header_that_says_too_little_does_not_help(tmp_path: Path) -> None:
    """The central directory's size of the ratings set to 20 bytes: what comes after them is never read."""
    path = bomb(tmp_path / "bomb.zip", 30_000_000)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"mine/ratings.csv") - 46
    assert content[at : at + 4] == b"PK\x01\x02"
    content[at + 24 : at + 28] = (20).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError, match="bomb.zip"):
        load_movielens(path)


def test_parquet_files_are_limited_by_what_they_unpack_to(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "mine")
    with pytest.raises(InputError, match="mine: unpacks to more than 100 bytes"):
        load_movielens(path, max_bytes=100)
    assert len(load_movielens(path, max_bytes=2000).ratings) == 4


def test_compressed_files_of_a_folder_are_limited_by_what_they_unpack_to(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "mine", compressed(csv_files()))
    size = sum(len(content) for name, content in csv_files().items() if name != "README.txt")
    assert len(load_movielens(path, max_bytes=size).ratings) == 4
    with pytest.raises(InputError, match="mine: unpacks to more than"):
        load_movielens(path, max_bytes=size - 1)


def test_the_start_of_a_file_that_is_looked_at_first_counts_once(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "ml.zip", "mine", csv_files())
    size = sum(len(content) for name, content in csv_files().items() if name != "README.txt")
    assert len(load_movielens(path, max_bytes=size).ratings) == 4
