import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from excalibr.datasets import _archives as archives
from excalibr.datasets import load_movielens
from excalibr.errors import InputError, InputTypeError, MissingExtraError
from tests.datasets.sets import (
    FORMATS,
    changed,
    compressed,
    csv_files,
    dat_files,
    write_folder,
    write_parquet,
    write_zip,
)


def bomb(path: Path, zeros: int, name: str = "ratings.csv") -> Path:
    """A zip whose ratings unpack to so many bytes of next to nothing."""
    return write_zip(path, "mine", csv_files() | {name: csv_files()["ratings.csv"] + b"\n" * zeros})


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
    assert len(load_movielens(path, max_ratio=float("inf")).ratings) == 4  # once an OverflowError


@pytest.mark.parametrize("limits", [{"max_bytes": "4 GB"}, {"max_bytes": 0}, {"max_ratio": float("nan")}])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limits: dict[str, Any]) -> None:
    """Once a ratio of nan was a limit of 10 MB."""
    with pytest.raises((InputError, InputTypeError), match=f"{next(iter(limits))}: is .*, must be a (whole )?number"):
        load_movielens(tmp_path, **limits)


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
