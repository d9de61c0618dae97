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
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from excalibr._messages import Message, Option
from excalibr.errors import InputError
from excalibr.tables._arrow import arrow_csv, pa, parquet
from excalibr.tables._files import SNIFFED, explained, open_bytes, plain_name, sniff

MAX_BYTES = 4_000_000_000
"""What an archive's two tables may unpack to, together: four times the largest official set."""

MAX_RATIO = 100.0
"""How many times its own size an archive may unpack to; the official ones are at 3 to 5."""

FREE_BYTES = 10_000_000
"""So much is never too much, whatever the ratio."""

RATING_COLUMNS = {"user_id": "int32", "item_id": "int32", "rating": "float32", "timestamp": "int64"}
ITEM_COLUMNS = {"item_id": "int32", "title": "string", "genres": "string"}
_CSV_NAMES = {"userId": "user_id", "movieId": "item_id"}
_BUFFER = 1 << 20  # bytes; the first of them tell how a CSV file is written

Opener: TypeAlias = Callable[[], io.RawIOBase]
File: TypeAlias = "io.BufferedReader[Any]"


class Unpacked:
    """How much was unpacked from an archive so far, and the limit."""

    def __init__(self, path: Path, max_bytes: int, max_ratio: float) -> None:
        self.path, self.max_bytes, self.max_ratio = path, max_bytes, max_ratio
        self.most = max_bytes
        if path.is_file():
            self.most = int(min(max_bytes, max(FREE_BYTES, max_ratio * path.stat().st_size)))
        self.announced = 0
        self.reached: dict[str, int] = {}

    def announce(self, size: int) -> None:
        """Take note of what a file says it unpacks to, before it is read."""
        self.announced += size
        self._check(self.announced)

    def reach(self, name: str, place: int) -> None:
        """Take note of how far a file was unpacked; what a reader goes back to does not count twice."""
        self.reached[name] = max(place, self.reached.get(name, 0))
        self._check(sum(self.reached.values()))

    def _check(self, size: int) -> None:
        if size > self.most:
            must = f"unpack to at most {self.max_bytes:,} bytes and {self.max_ratio:g} times its size"
            hint = Message("if you trust it, raise ", Option("max_bytes"), " and ", Option("max_ratio"), ".")
            raise InputError(str(self.path), f"unpacks to more than {self.most:,} bytes", must, hint)


def read_tables(path: Path, max_bytes: int, max_ratio: float) -> tuple[str, Any, Any]:
    """The folder's name, and its ratings and items as Arrow tables with our column names and types.

    Of a zip or a folder, whichever of the layouts it has, up to a limit on what it unpacks to.
    """
    unpacked = Unpacked(path, max_bytes, max_ratio)
    try:
        with _opened(path, unpacked) as (folder, files):
            layout = next((each for each in _LAYOUTS if each.keys() <= files.keys()), None)
            if layout is None:
                found = f"has {', '.join(sorted(files)[:8]) or 'no files'}"
                must = "have " + ", or ".join(" and ".join(each) for each in _LAYOUTS)
                raise InputError(str(path), found, must, "pass the official zip, or the folder it unpacks to.")
            tables = []
            for (name, read), columns in zip(layout.items(), (RATING_COLUMNS, ITEM_COLUMNS), strict=True):
                with explained(path / name), io.BufferedReader(files[name](), _BUFFER) as file:
                    tables.append(read(file, path / name, columns, unpacked))
            return folder, tables[0], tables[1]
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        hint = "get it again: `excalibr data get NAME`."
        raise InputError(str(path), f"is damaged ({error})", "be a whole zip file", hint) from error


@contextmanager
def _opened(path: Path, unpacked: Unpacked) -> Iterator[tuple[str, dict[str, Opener]]]:
    """The folder's name and how to open each file in it."""
    if path.is_dir():
        there = sorted((file for file in path.iterdir() if file.is_file()), reverse=True)  # what is plain comes last
        yield path.resolve().name, {plain_name(file): _opener(file, unpacked) for file in there}
    elif path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = {name: PurePosixPath(name).parts for name in archive.namelist()}
            folders = {each[0] for each in parts.values() if len(each) == 2}
            near = [name for name, each in parts.items() if len(each) in (1, 2)]
            files = {parts[name][-1]: _zip_opener(archive, name, unpacked) for name in near}
            yield folders.pop() if len(folders) == 1 else path.stem, files
    else:
        found = "is not a zip file" if path.is_file() else "does not exist"
        hint = "it may be only partly downloaded; `excalibr data get NAME` gets it again." if path.is_file() else ""
        raise InputError(str(path), found, "be a MovieLens zip or folder", hint)


def _opener(file: Path, unpacked: Unpacked) -> Opener:
    if plain_name(file) == file.name:
        return lambda: io.FileIO(file)
    return lambda: _Counted(open_bytes(file), file.name, unpacked)


def _zip_opener(archive: zipfile.ZipFile, name: str, unpacked: Unpacked) -> Opener:
    def opened() -> io.RawIOBase:
        unpacked.announce(archive.getinfo(name).file_size)
        return _Counted(archive.open(name), name, unpacked)

    return opened


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


def _csv(file: File, where: Path, columns: dict[str, str], _: Unpacked) -> Any:
    """A file with a header, MovieLens' names or ours."""
    ours = {theirs: columns[name] for theirs, name in _CSV_NAMES.items() if name in columns}
    dialect = sniff(file.peek()[:SNIFFED].decode("utf-8", errors="replace"))
    parsing = arrow_csv.ParseOptions(delimiter=dialect.delimiter)
    options = arrow_csv.ConvertOptions(
        column_types={**columns, **ours}, strings_can_be_null=False, decimal_point=dialect.decimal
    )
    table = arrow_csv.read_csv(file, parse_options=parsing, convert_options=options)
    return _columns(table.rename_columns([_CSV_NAMES.get(name, name) for name in table.column_names]), where, columns)


def _dat_ratings(file: File, where: Path, columns: dict[str, str], _: Unpacked) -> Any:
    """``user::item::rating::timestamp``: split at each colon, every second field is empty and left out."""
    names = [name for column in columns for name in (column, f"after {column}")][:-1]
    reading = arrow_csv.ReadOptions(column_names=names)
    parsing = arrow_csv.ParseOptions(delimiter=":", quote_char=False)
    convert = arrow_csv.ConvertOptions(column_types=columns, include_columns=list(columns))
    table = arrow_csv.read_csv(file, read_options=reading, parse_options=parsing, convert_options=convert)
    return _columns(table, where, columns)


def _dat_items(file: File, where: Path, columns: dict[str, str], _: Unpacked) -> Any:
    """``item::title::genres``; a title may hold colons."""
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
        if not middle or not item.isdecimal():
            raise InputError(str(where), f"line {number} is {line!r}", "be item::title::genres")
        rows.append({"item_id": int(item), "title": "::".join(middle), "genres": genres})
    return pa.Table.from_pylist(rows, pa.schema(list(columns.items())))


def _parquet(file: File, where: Path, columns: dict[str, str], unpacked: Unpacked) -> Any:
    """A file with our names; items may have a year, or lack it in some rows."""
    held = parquet.read_metadata(file)
    pages = sum(int(held.row_group(number).total_byte_size) for number in range(held.num_row_groups))
    unpacked.announce(max(pages, 8 * int(held.num_rows) * int(held.num_columns)))  # a page can hold a value in a bit
    file.seek(0)
    table = parquet.read_table(file)
    extra = {"year": "int32"} if columns is ITEM_COLUMNS and "year" in table.column_names else {}
    return _columns(table, where, {**columns, **extra}, may_be_missing=tuple(extra))


def _columns(table: Any, where: Path, columns: dict[str, str], may_be_missing: tuple[str, ...] = ()) -> Any:
    """The wanted columns in our types, without missing values."""
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        hint = f"columns are {table.column_names}."
        raise InputError(str(where), f"has no column {missing[0]!r}", f"have {list(columns)}", hint)
    made = table.select(list(columns)).cast(pa.schema(list(columns.items())))
    for name in columns:
        empty = made.column(name).null_count
        if empty and name not in may_be_missing:
            raise InputError(str(where), f"column {name!r} lacks {empty} values", "have one in every row")
    return made


_LAYOUTS: tuple[dict[str, Callable[[File, Path, dict[str, str], Unpacked], Any]], ...] = (
    {"ratings.csv": _csv, "movies.csv": _csv},
    {"ratings.dat": _dat_ratings, "movies.dat": _dat_items},
    {"ratings.parquet": _parquet, "items.parquet": _parquet},
)
"""The file of ratings and that of items, and how each of them is read."""
