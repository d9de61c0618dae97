"""A run's work, kept beside its output: finished parts, what they were made of, and the outputs made of them.

A part is done when its tally is there, which is written last. Every file is written under another name and renamed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from excalibr.cli.rerank.sources import format_of
from excalibr.errors import InputError
from excalibr.results import Tally

__all__ = ["Run", "fingerprint"]

STAMP = b"excalibr.run"


def fingerprint(facts: Mapping[str, Any]) -> str:
    """A digest of everything that the outputs depend on."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


class Run:
    """The folder of one run, ``<output>.parts``, and the outputs that it ends in.

    Parameters
    ----------
    outputs
        What is written, by name ("slates", "report", "lotteries"); the first one names the folder.
    stamp
        The digest of inputs and options.
    """

    def __init__(self, outputs: Mapping[str, Path], stamp: str) -> None:
        self.outputs = dict(outputs)
        self.stamp = stamp
        first = next(iter(self.outputs.values()))
        self.folder = first.with_name(first.name + ".parts")

    def begin(self, *, resume: bool) -> None:
        """Make the folder ready: with what is there already, or empty."""
        kept = self.folder / "run.json"
        if resume and kept.exists():
            if json.loads(kept.read_text(encoding="utf-8"))["stamp"] != self.stamp:
                raise InputError(
                    f"{self.folder}: is of a run with other inputs or options, must be of the same. "
                    "Hint: leave --resume out to start again."
                )
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with _beside(kept) as path:
            path.write_text(json.dumps({"stamp": self.stamp}), encoding="utf-8")

    def is_finished(self) -> bool:
        """Whether every output is there and says that it is of this very run; CSV files cannot say so."""
        return all(path.exists() and _stamp_of(path) == self.stamp for path in self.outputs.values())

    def done(self, number: int) -> Tally | None:
        """The tally of a part that is done, None of one that is not."""
        path = self.folder / f"part-{number:06d}.json"
        if not (path.exists() and all(self._part(number, name).exists() for name in self.outputs)):
            return None  # a folder that was being removed may lack any of its files
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Tally(stored["users"], Counter(stored["statuses"]), Counter(stored["left_out"]), stored["tight"])

    def keep(self, number: int, tables: Mapping[str, Any], tally: Tally) -> None:
        """Store a part."""
        for name, table in tables.items():
            with _beside(self._part(number, name)) as path, pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        with _beside(self.folder / f"part-{number:06d}.json") as path:
            path.write_text(json.dumps(vars(tally)), encoding="utf-8")

    def finish(self, count: int) -> None:
        """Put the outputs together from the parts, each in place in one step, and remove the folder."""
        for name, output in self.outputs.items():
            with _beside(output) as path:
                self._assemble(name, count, path, format_of(output, "out"))
        self.clear()

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _assemble(self, name: str, count: int, path: Path, kind: str) -> None:
        with pa.memory_map(str(self._part(0, name))) as file:
            schema = pa.ipc.open_file(file).schema
        with _writer(kind, path, schema.with_metadata({STAMP: self.stamp})) as writer:
            for number in range(count):
                with pa.memory_map(str(self._part(number, name))) as file:
                    writer.write_table(pa.ipc.open_file(file).read_all().cast(schema))

    def _part(self, number: int, name: str) -> Path:
        return self.folder / f"part-{number:06d}.{name}.arrow"


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside the path to write to, renamed to it when all is written and removed when it is not."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _writer(kind: str, path: Path, schema: Any) -> Any:
    match kind:
        case "parquet":
            return pa.parquet.ParquetWriter(path, schema)
        case "csv":
            return pa.csv.CSVWriter(path, schema)
        case _:
            return pa.ipc.new_file(path, schema)


def _stamp_of(path: Path) -> str | None:
    try:
        match format_of(path, "out"):
            case "parquet":
                metadata = pa.parquet.read_schema(path).metadata
            case "csv":
                return None
            case _:
                with pa.memory_map(str(path)) as file:
                    metadata = pa.ipc.open_file(file).schema.metadata
    except (OSError, pa.ArrowInvalid):
        return None
    return (metadata or {}).get(STAMP, b"").decode() or None
