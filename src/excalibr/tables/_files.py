"""Tables in files: Parquet, Arrow, and CSV of any delimiter, compressed or not, as Arrow batches.

What cannot be read is an error that names the file and what is wrong with it.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from excalibr.errors import ExcalibrError, InputError
from excalibr.tables._arrow import arrow_csv, pa, parquet, pc, plain_type
from excalibr.tables._frames import check_columns_once
from excalibr.tables._ids import EXACT_IN_FLOATS

KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".arrow": "arrow", ".feather": "arrow"}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}

ENDINGS = f"{', '.join(KINDS)}, or of CSV also with {', '.join(COMPRESSIONS)}"
"""The ends of names that can be read, as messages list them."""

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED = 65_536
_IN_COLUMN = re.compile(r"In CSV column #(\d+): ")  # Arrow's word for where a value is of another type
_WITH_COMMA, _WITH_POINT = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: what stands between its fields, and in its numbers."""

    delimiter: str = ","
    decimal: str = "."

    @property
    def text(self) -> str:
        """What is unusual about it, in words; empty for plain commas."""
        between = f"fields between {DELIMITERS[self.delimiter]}" if self.delimiter != "," else ""
        return between + (", decimal commas" if self.decimal == "," else "")


def kind_of(path: Path) -> str | None:
    """``parquet``, ``csv`` or ``arrow`` by the end of a file's name, None for any other.

    >>> kind_of(Path("ratings.CSV.gz")), kind_of(Path("ratings.parquet.gz"))
    ('csv', None)
    """
    if path.suffix.lower() in COMPRESSIONS:
        return "csv" if KINDS.get(Path(path.stem).suffix.lower()) == "csv" else None
    return KINDS.get(path.suffix.lower())


def plain_name(path: Path) -> str:
    """A file's name without the ending of its compression.

    >>> plain_name(Path("data/ratings.csv.gz"))
    'ratings.csv'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def open_bytes(path: Path) -> Any:
    """A file opened for reading, decompressed as its name says."""
    return pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower()))


def files_of(name: str, path: Path) -> list[Path]:
    """A file, or the tables in a folder and the folders in it, in the order of their names; one at least.

    What begins with a dot or an underscore is left out, as Arrow and Spark do: files that are still being written, and
    what file systems keep for themselves. ``name`` is what a message calls the table.
    """
    if not path.exists():
        raise InputError(name, f"{path} does not exist", "be a file or a folder")
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(name, f"{path} is a pipe or a device", "be a file or a folder: tables are read more than once")
    found = sorted(file for file in path.rglob("*") if kind_of(file) is not None and file.is_file())
    found = [file for file in found if not any(part[0] in "._" for part in file.relative_to(path).parts)]
    if not found:
        must = f"hold files that end in {ENDINGS}, and do not begin with a dot or an underscore"
        raise InputError(name, f"the folder {path} holds no table", must)
    return found


def read_schema(path: Path, check: Callable[[], None] = lambda: None) -> Any:
    """The columns of a file and their types; of a CSV file those that all rows have room in, for which it is read.

    ``check`` is called again and again on the way, to stop it.
    """
    with explained(path), _opened(path) as (schema, _):
        check_columns_once(schema.names, str(path))
        return _csv_types(path, schema, check) if kind_of(path) == "csv" else pa.schema(map(_plain_field, schema))


def read_batches(path: Path, schema: Any, columns: Sequence[str] | None = None, rows: int = 65_536) -> Iterator[Any]:
    """The rows as record batches, of Parquet at most so many at a time; all columns, or those of some that it has.

    ``schema`` is the file's own, as :func:`read_schema` found it.
    """
    there = columns if columns is None else [name for name in columns if name in schema.names]
    with explained(path), _opened(path, schema, there, rows) as (_, batches):
        yield from map(_plain, batches)


def read_table(path: Path) -> Any:
    """The whole file as an Arrow table."""
    schema = read_schema(path)
    return pa.Table.from_batches(list(read_batches(path, schema)), schema)


def dialect_of(path: Path) -> Dialect:
    """How a CSV file is written, seen from its first lines.

    The delimiter is the one of comma, semicolon, tab and bar that the header has most of, outside quotes; of equals
    the comma. Between semicolons, numbers have decimal commas where some are written so and none with a point.
    """
    with explained(path), open_bytes(path) as file:
        start = file.read(SNIFFED)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as spreadsheets save "Unicode text"
        raise _not_utf8(path, "is UTF-16")
    return sniff(start.decode("utf-8", errors="replace"))


def sniff(start: str) -> Dialect:
    """The dialect of a text that begins as a CSV file does."""
    start = start.removeprefix("\ufeff")
    header = next(iter(re.sub(r'"[^"]*"', "", start).splitlines()), "")
    delimiter = max(DELIMITERS, key=header.count) if any(map(header.count, DELIMITERS)) else ","
    if delimiter == ",":
        return Dialect()
    fields = [field for row in csv.reader(start.splitlines()[1:200], delimiter=delimiter) for field in row]
    commas = any(map(_WITH_COMMA.fullmatch, fields)) and not any(map(_WITH_POINT.fullmatch, fields))
    return Dialect(delimiter, "," if commas else ".")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file's content is an error of one line with the file's name."""
    try:
        yield
    except ExcalibrError:
        raise
    except (pa.ArrowException, ValueError, OverflowError, EOFError, MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, and not the content's
            named = error.filename is not None or str(path) in str(error)
            raise (error if named else OSError(error.errno, error.strerror or str(error), str(path))) from error
        found = " ".join(str(error).split()) or type(error).__name__
        hint = "it may be incomplete, damaged, or of another format than its name says."
        raise InputError(str(path), f"cannot be read ({found})", "be a whole table", hint) from error


@contextmanager
def _opened(
    path: Path, schema: Any = None, columns: Sequence[str] | None = None, rows: int = 65_536
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema of a file, and its record batches when they are asked for."""
    match kind_of(path):
        case "parquet":
            with parquet.ParquetFile(path) as file:
                groups = range(file.num_row_groups)  # one by one: Arrow would hold on to several
                parts = (file.iter_batches(rows, row_groups=[group], columns=columns) for group in groups)
                yield file.schema_arrow, chain.from_iterable(parts)
        case "csv":
            with _open_csv(path, schema, columns) as reader:
                yield reader.schema, map(_empty_as_null, reader)
        case "arrow":
            with pa.OSFile(str(path)) as file:  # mapped, a file that gets shorter would end the process
                opened = _open_arrow(file)
                yield opened.schema, _arrow_batches(opened, columns)
        case _:
            raise InputError(str(path), "is of no known format", f"end in one of {ENDINGS}")


def _open_csv(path: Path, types: Any = None, columns: Sequence[str] | None = None) -> Any:
    dialect = dialect_of(path)
    reader = arrow_csv.open_csv(
        open_bytes(path),
        parse_options=arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=columns, column_types=types, decimal_point=dialect.decimal
        ),
    )
    wrong = [field.name for field in reader.schema if pa.types.is_binary(field.type)]  # text in another encoding
    if wrong:
        raise _not_utf8(path, f"column {wrong[0]!r} has bytes that are not UTF-8")
    return reader


def _not_utf8(path: Path, found: str) -> InputError:
    return InputError(str(path), found, "be UTF-8 text", "save it as UTF-8.")


def _csv_types(path: Path, schema: Any, check: Callable[[], None]) -> Any:
    """The columns of a CSV file in types that hold for all rows; Arrow goes by the first megabyte.

    A column that turns out not to fit is read as whole numbers of any size, then as numbers, then as text.
    """
    tried: set[int] = set()  # columns that were read as whole numbers of any size
    while (at := _misfit(path, schema, tried, check)) is not None:
        field, whole = schema.field(at), pa.decimal128(38, 0)
        if pa.types.is_string(field.type):
            raise _not_utf8(path, f"column {field.name!r} has bytes that are not UTF-8")
        if pa.types.is_null(field.type):
            wider = pa.int64()
        elif at not in tried and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            wider = whole
            tried.add(at)
        else:
            wider = pa.float64() if field.type == whole else pa.string()
        schema = schema.set(at, field.with_type(wider))
    return schema


def _misfit(path: Path, schema: Any, tried: set[int], check: Callable[[], None]) -> int | None:
    """The place of a column with a value that its type cannot hold, or can hold only rounded; None if there is none."""
    floats = [at for at, kind in enumerate(schema.types) if pa.types.is_floating(kind) and at not in tried]
    try:
        with _open_csv(path, schema) as reader:
            for batch in reader:
                check()
                for at in floats:
                    if (pc.max(pc.abs(batch.column(at))).as_py() or 0.0) >= EXACT_IN_FLOATS:
                        return at
    except pa.ArrowInvalid as error:
        found = _IN_COLUMN.match(str(error))
        if found is None:
            raise
        return int(found[1])
    return None


def _empty_as_null(batch: Any) -> Any:
    """A text of nothing in a CSV file is no value, as it is for numbers."""
    for at, field in enumerate(batch.schema):
        empty = pc.equal(batch.column(at), "") if pa.types.is_string(field.type) else None
        if empty is not None and pc.any(empty).as_py():
            filled = pc.if_else(empty, pa.scalar(None, field.type), batch.column(at))
            batch = batch.set_column(at, field, filled)
    return batch


def _plain(batch: Any) -> Any:
    """The same rows with every column in the plain type of its values."""
    for at, field in enumerate(batch.schema):
        plain, column = _plain_field(field), batch.column(at)
        if plain.type != field.type:
            coded = pa.types.is_dictionary(field.type)
            values = column.dictionary.cast(plain.type).take(column.indices) if coded else column.cast(plain.type)
            batch = batch.set_column(at, plain, values)
    return batch


def _plain_field(field: Any) -> Any:
    """A column without what only saves space: categories by number, and views of text.

    Categories differ from batch to batch, of which an Arrow file takes no more than one set; and CSV takes no views.
    """
    kind = plain_type(field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
    return field if kind == field.type else pa.field(field.name, kind)


def _arrow_batches(opened: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    count = getattr(opened, "num_record_batches", None)  # a stream does not know it
    for batch in opened if count is None else map(opened.get_batch, range(count)):
        batch.validate(full=True)  # what a damaged file points to may be anywhere
        yield batch if columns is None else batch.select(columns)


def _open_arrow(file: Any) -> Any:
    """The file form, which Feather also is, or else the stream form."""
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)
