"""Tiny MovieLens sets in each of the official formats, written by the tests that read them."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

RATINGS = [(1, 10, 4.0, 978300760), (1, 30, 5.0, 978302109), (2, 10, 3.0, 978301968), (2, 20, 1.0, 978300275)]
ITEMS = [
    (10, "Toy Story (1995)", "Animation|Comedy"),
    (30, 'Misérables, Les: A "New" Hope (1977)', "Drama"),
    (20, "Babylon 5", "(no genres listed)"),
]


def csv_files() -> dict[str, bytes]:
    """As in MovieLens 20M, 25M, 32M and latest-small."""
    quoted = [(item, '"' + title.replace('"', '""') + '"', genres) for item, title, genres in ITEMS]
    return {
        "ratings.csv": _lines(["userId,movieId,rating,timestamp", *(",".join(map(str, row)) for row in RATINGS)]),
        "movies.csv": _lines(["movieId,title,genres", *(",".join(map(str, row)) for row in quoted)]),
        "README.txt": b"Summary",
    }


def dat_files(encoding: str = "latin-1", whole: bool = True) -> dict[str, bytes]:
    """As in MovieLens 1M, or 10M with UTF-8 and half stars."""
    ratings = [(user, item, int(rating) if whole else rating, time) for user, item, rating, time in RATINGS]
    return {
        "ratings.dat": _lines(["::".join(map(str, row)) for row in ratings]),
        "movies.dat": _lines(["::".join(map(str, row)) for row in ITEMS], encoding),
    }


def write_zip(path: Path, folder: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{folder}/", b"")
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}", content)
    return path


def write_folder(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def write_parquet(path: Path, years: list[int | None] | None = None) -> Path:
    path.mkdir()
    users, items, values, times = zip(*RATINGS, strict=True)
    ratings = {"user_id": users, "item_id": items, "rating": values, "timestamp": times}
    pq.write_table(pa.table({name: list(values) for name, values in ratings.items()}), path / "ratings.parquet")
    ids, titles, genres = zip(*ITEMS, strict=True)
    columns: dict[str, list[object]] = {"item_id": list(ids), "title": list(titles), "genres": list(genres)}
    if years is not None:
        columns["year"] = list(years)
    pq.write_table(pa.table(columns), path / "items.parquet")
    return path


def _lines(lines: list[str], encoding: str = "utf-8") -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(encoding)


def compressed(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content) for name, content in files.items()}


def semicolons(files: dict[str, bytes]) -> dict[str, bytes]:
    """Commas in titles stay."""
    return {name: re.sub(rb"(?<=\w),(?! )|(?<=\"),", b";", content) for name, content in files.items()}


def changed(files: dict[str, bytes], name: str, old: str, new: str) -> dict[str, bytes]:
    assert old.encode() in files[name]
    return {**files, name: files[name].replace(old.encode(), new.encode())}


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
