"""A table in files: one file or a folder of them, read batch by batch or whole, with columns of the same types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from excalibr.errors import InputError, InputTypeError
from excalibr.tables._arrow import pa
from excalibr.tables._files import dialect_of, files_of, kind_of, read_batches, read_schema
from excalibr.tables._ids import is_text

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class TableSource:
    """A table in files, and its name in messages; ``check`` is called before each batch, to stop a long read."""

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
    def schemas(self) -> dict[Path, Any]:
        """The columns of each file; one that is text in some file is read as text from every CSV file."""
        found = {path: read_schema(path, self.check) for path in self.files}
        texts = {field.name for schema in found.values() for field in schema if is_text(field.type)}
        return {
            path: _with_texts(schema, texts) if kind_of(path) == "csv" else schema for path, schema in found.items()
        }

    @cached_property
    def schema(self) -> Any:
        """The columns of all files together; of a column with several types, the widest."""
        try:
            return pa.unify_schemas(list(self.schemas.values()), promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise self._differ(error) from error

    @property
    def dialects(self) -> list[str]:
        """What is unusual about its CSV files, to be said: delimiters that are not commas."""
        kinds = {dialect_of(path).text for path in self.files if kind_of(path) == "csv"}
        return [f"{self.path.name} has {text}" for text in sorted(kinds) if text]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as tables of at most 65,536 rows, with some or all columns."""
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        empty = wanted.empty_table()
        for path, schema in self.schemas.items():
            for batch in read_batches(path, schema, columns, BATCH_ROWS):
                self.check()
                table = pa.Table.from_batches([batch])
                if table.schema != wanted:
                    try:
                        table = pa.concat_tables([empty, table], promote_options="permissive").select(wanted.names)
                    except pa.ArrowInvalid as error:  # a whole number that the other files' type cannot hold
                        raise self._differ(error) from error
                yield table.replace_schema_metadata(None)

    def read(self) -> Any:
        """The whole table."""
        return pa.concat_tables([self.schema.empty_table(), *self.batches()], promote_options="permissive")

    def check_numbers(self, column: str) -> None:
        """Raise an error where a column of numbers has a text that is none, with the file and the row that it is in."""
        for path, schema in self.schemas.items():
            if column not in schema.names or not is_text(schema.field(column).type):
                continue
            first = 0
            for batch in read_batches(path, schema, [column], BATCH_ROWS):
                self.check()
                for row, text in enumerate(batch.column(0).to_pylist(), first):
                    if text and not _is_number(text):
                        found = f"row {row} of {path} is {text!r}"
                        raise InputTypeError(f"column {column!r} of {self.name}", found, "have numbers")
                first += len(batch)

    def _differ(self, error: Exception) -> InputError:
        found = f"the files in {self.path} differ ({' '.join(str(error).split())})"
        return InputError(self.name, found, "have columns of the same types")


def _with_texts(schema: Any, texts: Collection[str]) -> Any:
    return pa.schema([field.with_type(pa.string()) if field.name in texts else field for field in schema])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
