"""Tables in files: Parquet, CSV or Arrow, one file or a folder of them, read batch by batch with one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from excalibr._files import errors_named
from excalibr.errors import InputError, explain

__all__ = ["FORMATS", "Source", "format_of"]

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow"}
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Source:
    """A table in a file or in a folder of files, and what to call it in a message.

    ``check`` is called before each batch of rows, so that a long read can be stopped.
    """

    name: str
    path: Path
    check: Callable[[], None] = lambda: None

    @cached_property
    def files(self) -> list[Path]:
        """The files, in the order of their names."""
        return self.found()

    def found(self) -> list[Path]:
        """The files as they are now."""
        if not self.path.exists():
            raise InputError(explain(self.name, f"{self.path} does not exist", "be a file or a folder"))
        if self.path.is_file():
            return [self.path]
        found = sorted(path for path in self.path.rglob("*") if path.suffix.lower() in FORMATS and path.is_file())
        if not found:
            must = f"hold files that end in {', '.join(FORMATS)}"
            raise InputError(explain(self.name, f"the folder {self.path} holds no table", must))
        return found

    @cached_property
    def schema(self) -> Any:
        """The columns of all files together; of a column with several types, the widest."""
        try:
            return pa.unify_schemas([_schema(path) for path in self.files], promote_options="permissive")
        except pa.ArrowTypeError as error:
            raise InputError(explain(self.name, f"the files differ ({error})", "have the same columns")) from error

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as tables of at most 65,536 rows, with some or all columns."""
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        empty = wanted.empty_table()
        for path in self.files:
            with errors_named(path), _explained(path):
                for batch in _read(path, columns):
                    self.check()
                    table = pa.Table.from_batches([batch])
                    if table.schema != wanted:
                        table = pa.concat_tables([empty, table], promote_options="permissive").select(wanted.names)
                    yield table.replace_schema_metadata(None)

    def read(self) -> Any:
        """The whole table."""
        return pa.concat_tables([self.schema.empty_table(), *self.batches()], promote_options="permissive")


def format_of(path: Path, argument: str) -> str:
    """The format that a file's name asks for.

    >>> format_of(Path("slates.parquet"), "out")
    'parquet'
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(explain(argument, f"is {path.name!r}", f"end in one of {', '.join(FORMATS)}"))
    return FORMATS[path.suffix.lower()]


def _schema(path: Path) -> Any:
    with errors_named(path), _explained(path):
        match format_of(path, "file"):
            case "parquet":
                return pa.parquet.read_schema(path).remove_metadata()
            case "csv":
                with pa.csv.open_csv(path) as reader:
                    return reader.schema
            case _:
                with pa.OSFile(str(path)) as file:
                    return _open_arrow(file).schema.remove_metadata()


def _read(path: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    match format_of(path, "file"):
        case "parquet":
            with pa.parquet.ParquetFile(path) as file:
                for group in range(file.num_row_groups):  # one by one: Arrow would hold on to several
                    yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns)
        case "csv":
            options = pa.csv.ConvertOptions(include_columns=columns)
            with pa.csv.open_csv(path, convert_options=options) as reader:
                yield from reader
        case _:
            with pa.OSFile(str(path)) as file:  # not mapped: reading a mapped file that gets shorter ends the process
                opened = _open_arrow(file)
                numbers = range(getattr(opened, "num_record_batches", 0))
                batches = (opened.get_batch(number) for number in numbers) if numbers else opened
                for batch in batches:
                    yield batch if columns is None else batch.select(columns)


def _open_arrow(file: Any) -> Any:
    """The file form, which Feather also is, or else the stream form."""
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever Arrow cannot read is an error of one line with the file's name."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        found = " ".join(str(error).split())
        raise InputError(explain(str(path), f"cannot be read ({found})", "be a whole table")) from error
