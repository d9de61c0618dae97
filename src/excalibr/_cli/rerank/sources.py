"""Tables in files: Parquet, CSV or Arrow, one file or a folder of them, read batch by batch with one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from excalibr.errors import InputError, explain
from excalibr.tables._files import dialect_of, explained, files_of, kind_of, read_batches, read_schema

__all__ = ["FORMATS", "TableSource", "format_of"]

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow"}
"""What can be written, by the end of the name; compressed CSV can also be read."""

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class TableSource:
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
        return files_of(self.name, self.path)

    @cached_property
    def schema(self) -> Any:
        """The columns of all files together; of a column with several types, the widest."""
        schemas = [read_schema(path) for path in self.files]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            found = f"the files in {self.path} differ ({' '.join(str(error).split())})"
            raise InputError(explain(self.name, found, "have the same columns")) from error

    @property
    def dialects(self) -> list[str]:
        """What is unusual about its CSV files, to be said: delimiters that are not commas."""
        kinds = {dialect_of(path).text for path in self.files if kind_of(path) == "csv"}
        return [f"{self.path.name} has {text}" for text in sorted(kinds) if text]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as tables of at most 65,536 rows, with some or all columns."""
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        empty = wanted.empty_table()
        for path in self.files:
            for batch in read_batches(path, columns, BATCH_ROWS):
                self.check()
                table = pa.Table.from_batches([batch])
                if table.schema != wanted:
                    with explained(path):
                        table = pa.concat_tables([empty, table], promote_options="permissive").select(wanted.names)
                yield table.replace_schema_metadata(None)

    def read(self) -> Any:
        """The whole table."""
        return pa.concat_tables([self.schema.empty_table(), *self.batches()], promote_options="permissive")


def format_of(path: Path, argument: str) -> str:
    """The format that a file's name asks for when it is written.

    >>> format_of(Path("slates.parquet"), "out")
    'parquet'
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(explain(argument, f"is {path.name!r}", f"end in one of {', '.join(FORMATS)}"))
    return FORMATS[path.suffix.lower()]
