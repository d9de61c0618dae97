"""Files of a MovieLens set, from the official zip or from a folder, read into tables with our column names.

In a folder they may be compressed (``.gz``, ``.zst``, ``.bz2``), and fields of a CSV file may stand between semicolons.

Three layouts: ``ratings.csv`` and ``movies.csv`` with a header (20M, 25M, 32M, latest-small); ``ratings.dat`` and
``movies.dat`` with ``::`` between fields (1M in Latin-1, 10M in UTF-8); ``ratings.parquet`` and ``items.parquet``.
What a zip, compressed or Parquet file unpacks to is counted and limited: a few megabytes can become gigabytes.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from excalibr._messages import Message, Option
from excalibr.errors import InputError, explain
from excalibr.tables._arrow import arrow_csv, pa, parquet
from excalibr.tables._files import SNIFFED, explained, open_bytes, plain_name, sniff

__all__ = ["MAX_BYTES", "MAX_RATIO", "ArchiveTables", "Unpacked", "read_tables"]

MAX_BYTES = 4_000_000_000
"""What an archive's two tables may unpack to, together: four times the largest official set."""

MAX_RATIO = 100.0
"""How many times its own size an archive may unpack to; the official ones are at 3 to 5."""

FREE_BYTES = 10_000_000
"""So much is never too much, whatever the ratio."""

RATING_COLUMNS = {"user_id": "int32", "item_id": "int32", "rating": "float32", "timestamp": "int64"}
ITEM_COLUMNS = {"item_id": "int32", "title": "string", "genres": "string"}
_CSV_NAMES = {"userId": "user_id", "movieId": "item_id"}

Opener: TypeAlias = Callable[[], IO[bytes]]
Files: TypeAlias = dict[str, Opener]


@dataclass(frozen=True, slots=True, eq=False)
class ArchiveTables:
    """Two Arrow tables with our column names and types, and the folder name that they came in."""

    folder: str
    ratings: Any
    items: Any


class Unpacked:
    """How much was unpacked from an archive so far, and the limit."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO) -> None:
        self.path, self.max_bytes, self.max_ratio = path, max_bytes, max_ratio
        self.most = max_bytes
        if path.is_file():
            self.most = min(max_bytes, max(FREE_BYTES, int(max_ratio * path.stat().st_size)))
        self.announced: dict[str, int] = {}
        self.reached: dict[str, int] = {}

    def announce(self, name: str, size: int) -> None:
        """Take note of what a file says it unpacks to, before it is read; once, however often it is opened."""
        self.announced[name] = size
        self._check(sum(self.announced.values()))

    def reach(self, name: str, place: int) -> None:
        """Take note of how far a file was unpacked; what a reader goes back to does not count twice."""
        self.reached[name] = max(place, self.reached.get(name, 0))
        self._check(sum(self.reached.values()))

    def _check(self, size: int) -> None:
        if size > self.most:
            must = f"unpack to at most {self.max_bytes:,} bytes and {self.max_ratio:g} times its size"
            hint = Message("if you trust it, raise ", Option("max_bytes"), " and ", Option("max_ratio"), ".")
            raise InputError(explain(str(self.path), f"unpacks to more than {self.most:,} bytes", must, hint))


def read_tables(path: Path, *, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO) -> ArchiveTables:
    """Read a zip or a folder, whichever of the layouts it has, up to a limit on what it unpacks to."""
    try:
        return _read(path, Unpacked(path, max_bytes, max_ratio))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        hint = "get it again: `excalibr data get NAME`."
        raise InputError(explain(str(path), f"is damaged ({error})", "be a whole zip file", hint)) from error


def _read(path: Path, unpacked: Unpacked) -> ArchiveTables:
    with _opened(path, unpacked) as (folder, files):
        for names, read in _LAYOUTS.items():
            if set(names) <= set(files):
                parts = zip(names, (RATING_COLUMNS, ITEM_COLUMNS), strict=True)
                tables = [read(files[name], path / name, columns, unpacked) for name, columns in parts]
                return ArchiveTables(folder, *tables)
        found = ", ".join(sorted(files)[:8]) or "no files"
        must = "have " + ", or ".join(" and ".join(names) for names in _LAYOUTS)
        raise InputError(
            explain(str(path), f"has {found}", must, "pass the official zip, or the folder it unpacks to.")
        )


@contextmanager
def _opened(path: Path, unpacked: Unpacked) -> Iterator[tuple[str, Files]]:
    """The folder's name and how to open each file in it."""
    if path.is_dir():
        there = sorted((file for file in path.iterdir() if file.is_file()), reverse=True)  # what is plain comes last
        yield path.resolve().name, {plain_name(file): _opener(file, unpacked) for file in there}
    elif path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield _zip_folder(archive, path), _zip_files(archive, unpacked)
    else:
        found = "is not a zip file" if path.is_file() else "does not exist"
        hint = "it may be only partly downloaded; `excalibr data get NAME` gets it again." if path.is_file() else ""
        raise InputError(explain(str(path), found, "be a MovieLens zip or folder", hint))


def _opener(file: Path, unpacked: Unpacked) -> Opener:
    if plain_name(file) == file.name:
        return lambda: file.open("rb")
    return lambda: _counted(open_bytes(file), file.name, unpacked)


def _counted(file: IO[bytes], name: str, unpacked: Unpacked) -> IO[bytes]:
    return io.BufferedReader(_Counted(file, name, unpacked), 1 << 20)


class _Counted(io.RawIOBase):
    """A compressed file, with every byte counted."""

    def __init__(self, file: IO[bytes], name: str, unpacked: Unpacked) -> None:
        self._file, self._name, self._unpacked = file, name, unpacked
        self._place = 0  # Arrow's streams do not tell theirs

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = self._file.seek(offset, whence)
        return self._place

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._place += len(content)
        self._unpacked.reach(self._name, self._place)
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def _zip_files(archive: zipfile.ZipFile, unpacked: Unpacked) -> Files:
    def opener(name: str) -> Opener:
        def opened() -> IO[bytes]:
            unpacked.announce(name, archive.getinfo(name).file_size)
            return _counted(archive.open(name), name, unpacked)

        return opened

    return {
        PurePosixPath(name).name: opener(name) for name in archive.namelist() if len(PurePosixPath(name).parts) <= 2
    }


def _zip_folder(archive: zipfile.ZipFile, path: Path) -> str:
    parents = {PurePosixPath(name).parts[0] for name in archive.namelist() if len(PurePosixPath(name).parts) == 2}
    return parents.pop() if len(parents) == 1 else path.stem


def _csv(opener: Opener, where: Path, columns: dict[str, str], _: Unpacked) -> Any:
    """A file with a header, MovieLens' names or ours."""
    ours = {theirs: columns[name] for theirs, name in _CSV_NAMES.items() if name in columns}
    with explained(where), opener() as file:
        dialect = sniff(file.read(SNIFFED).decode("utf-8", errors="replace"))
    parsing = arrow_csv.ParseOptions(delimiter=dialect.delimiter)
    options = arrow_csv.ConvertOptions(
        column_types={**columns, **ours}, strings_can_be_null=False, decimal_point=dialect.decimal
    )
    with explained(where), opener() as file:
        table = arrow_csv.read_csv(file, parse_options=parsing, convert_options=options)
    return _columns(table.rename_columns([_CSV_NAMES.get(name, name) for name in table.column_names]), where, columns)


def _dat(opener: Opener, where: Path, columns: dict[str, str], _: Unpacked) -> Any:
    return _dat_ratings(opener, where) if columns is RATING_COLUMNS else _dat_items(opener, where)


def _dat_ratings(opener: Opener, where: Path) -> Any:
    """``user::item::rating::timestamp``: split at each colon, every second field is empty and left out."""
    names = [name for column in RATING_COLUMNS for name in (column, f"after {column}")][:-1]
    reading = arrow_csv.ReadOptions(column_names=names)
    parsing = arrow_csv.ParseOptions(delimiter=":", quote_char=False)
    convert = arrow_csv.ConvertOptions(column_types=RATING_COLUMNS, include_columns=list(RATING_COLUMNS))
    with explained(where), opener() as file:
        table = arrow_csv.read_csv(file, read_options=reading, parse_options=parsing, convert_options=convert)
    return _columns(table, where, RATING_COLUMNS)


def _dat_items(opener: Opener, where: Path) -> Any:
    """``item::title::genres``; a title may hold colons."""
    with explained(where), opener() as file:
        content = file.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # MovieLens 1M
        text = content.decode("latin-1")
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        item, *middle, genres = line.rstrip("\r").split("::")
        if not middle or not item.isdigit():
            raise InputError(explain(str(where), f"line {number} is {line!r}", "be item::title::genres"))
        rows.append((int(item), "::".join(middle), genres))
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {name: pa.array(part, kind) for (name, kind), part in zip(ITEM_COLUMNS.items(), parts, strict=True)}
    )


def _parquet(opener: Opener, where: Path, columns: dict[str, str], unpacked: Unpacked) -> Any:
    """A file with our names; items may have a year, or lack it in some rows."""
    with explained(where), opener() as file:
        unpacked.announce(where.name, _decoded_size(file))
        table = parquet.read_table(file)
    extra = {"year": "int32"} if columns is ITEM_COLUMNS and "year" in table.column_names else {}
    return _columns(table, where, {**columns, **extra}, may_be_missing=tuple(extra))


def _decoded_size(file: IO[bytes]) -> int:
    """What a Parquet file unpacks to, at least: its pages, and eight bytes a value, which pages can hold in a bit."""
    found = parquet.read_metadata(file)
    file.seek(0)
    pages = sum(int(found.row_group(number).total_byte_size) for number in range(found.num_row_groups))
    return max(pages, 8 * int(found.num_rows) * int(found.num_columns))


def _columns(table: Any, where: Path, columns: dict[str, str], may_be_missing: tuple[str, ...] = ()) -> Any:
    """The wanted columns in our types, without missing values."""
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        hint = f"columns are {table.column_names}."
        raise InputError(explain(str(where), f"has no column {missing[0]!r}", f"have {list(columns)}", hint))
    schema = pa.schema(list(columns.items()))
    with explained(where):
        made = table.select(list(columns)).cast(schema)
    for name in columns:
        empty = made.column(name).null_count
        if empty and name not in may_be_missing:
            raise InputError(explain(str(where), f"column {name!r} lacks {empty} values", "have one in every row"))
    return made


_LAYOUTS: dict[tuple[str, str], Callable[[Opener, Path, dict[str, str], Unpacked], Any]] = {
    ("ratings.csv", "movies.csv"): _csv,
    ("ratings.dat", "movies.dat"): _dat,
    ("ratings.parquet", "items.parquet"): _parquet,
}
"""The files of ratings and of items, and how each of them is read."""
