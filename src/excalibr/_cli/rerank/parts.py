"""A run's work, kept beside its output: finished parts, what they were made of, and the outputs made of them.

A part is done when its tally is there, which is written last. Every file is written under another name and renamed. The
folder has a file that says whose it is; a folder without one is somebody else's, and is neither used nor removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from excalibr._cli.lock import MADE_BY
from excalibr._cli.rerank.inputs import Inputs, facts_of, format_of, parts_folder
from excalibr._messages import Message, Option
from excalibr._writing import atomic_write, put_in_place, remove_leftovers, sync_file, temporary
from excalibr.errors import ExcalibrError, InputError
from excalibr.tables._results import Tally

STAMP = b"excalibr.run"
MARKER = "run.json"
GROUP_ROWS = 250_000
"""Rows that are written to an output together, whatever the parts have: where those end does not show in the bytes."""

_WRITERS = {"parquet": pa.parquet.ParquetWriter, "csv": pa.csv.CSVWriter, "arrow": pa.ipc.new_file}

_OURS = re.compile(
    r"part-\d{6,}\.(json|\w+\.arrow)|pass-\d{6,}\.npz|sorting-\w+|\.(part-\d+(\.\w+)?|pass-\d+|run)\.[0-9a-f]{12}\.tmp\.\w+"
)


@dataclass(frozen=True)
class StoredPart:
    """A finished part: how many rows of the candidates it took, and what became of their users."""

    rows: int
    tally: Tally


class Run:
    """The folder of one run, ``<output>.parts``, named by the first of the outputs that the run ends in.

    ``asked`` are the options that its outputs depend on. Nothing is kept, nor put in place, after one of the inputs
    changed.
    """

    def __init__(self, outputs: Mapping[str, Path], asked: Mapping[str, Any], inputs: Inputs) -> None:
        self.outputs = dict(outputs)
        names = {name: path.name for name, path in outputs.items()}
        self.facts = json.loads(
            json.dumps({"asked": {**asked, "outputs": names}, "inputs": inputs.stamp()}, default=str)
        )
        self.stamp = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()
        self.inputs = inputs
        self.folder = parts_folder(next(iter(self.outputs.values())))

    def begin(self, *, resume: bool) -> list[StoredPart]:
        """Make the folder ready, with what is there already or empty; returns the parts that are done."""
        for output in self.outputs.values():
            remove_leftovers(output)
        kept = self._marker()
        if resume and kept is not None:
            self._check_same(kept)
            return self._parts_done()
        self.clear()
        about = {"made_by": MADE_BY, "output": self.folder.name.removesuffix(".parts"), "stamp": self.stamp}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_marker(about | self.facts)
        return []

    def is_finished(self) -> bool:
        """Whether every output is there and of this very run.

        The files say so, or the folder if :meth:`finish` left it there: CSV files have no place for it.
        """
        if not all(path.exists() for path in self.outputs.values()):
            return False
        if all(_stamp_of(path) == self.stamp for path in self.outputs.values()):
            return True
        kept = self._marker() or {}
        return kept.get("stamp") == self.stamp and kept.get("made") == self._made()

    @contextmanager
    def cleared_if_wrong(self) -> Iterator[None]:
        """Remove the folder where a wrong input or option ends the run before anything that it could go on with."""
        try:
            yield
        except ExcalibrError:
            if not any(self.folder.glob("part-*.json")) and not any(self.folder.glob("pass-*.npz")):
                self.clear()
            raise

    def keep(self, number: int, part: StoredPart, tables: Mapping[str, Any]) -> None:
        """Store a part, if it was made of the inputs as they were when the run began."""
        self.inputs.check()
        for name, table in tables.items():
            with atomic_write(self._part(number, name)) as path, pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        with atomic_write(self._tally(number)) as path:
            path.write_text(json.dumps({"rows": part.rows, "tally": vars(part.tally)}), encoding="utf-8")

    def finish(self, count: int, check: Callable[[], None], *, keep_folder: bool = False) -> None:
        """Put the outputs together from the parts and in place, all of them or none, and remove the folder.

        ``check`` is called while that can still be stopped. A folder that is kept says what was made: that it is
        finished is then known until :meth:`clear`.
        """
        with ExitStack() as unfinished:
            made = {}
            for name, output in self.outputs.items():
                made[output] = unfinished.enter_context(temporary(output))
                self._assemble(name, count, made[output], format_of(output, "out"), check)
                sync_file(made[output])
            self.inputs.check(thoroughly=True)
            check()
            for output, path in made.items():
                put_in_place(path, output)
        with suppress(OSError):  # the outputs are there; what is left of the folder goes with the next run
            if keep_folder:
                self._write_marker((self._marker() or {}) | {"made": self._made()})
            else:
                self.clear()

    def clear(self) -> None:
        """Remove what the run has in the folder, and the folder if that was all; the marker last, and only then."""
        if self._marker() is None and not self.folder.exists():
            return
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name):
                _remove(path)
        if all(path.name == MARKER for path in self.folder.iterdir()):
            (self.folder / MARKER).unlink(missing_ok=True)
            self.folder.rmdir()

    def _made(self) -> dict[str, list[Any]]:
        """What the outputs are now."""
        return {name: list(facts_of(path)) for name, path in self.outputs.items()}

    def _write_marker(self, facts: Mapping[str, Any]) -> None:
        with atomic_write(self.folder / MARKER) as path:
            path.write_text(json.dumps(facts), encoding="utf-8")

    def _marker(self) -> dict[str, Any] | None:
        """What the folder says of its run, None without a folder or in an empty one; another's folder is an error."""
        if not self.folder.exists() and not self.folder.is_symlink():
            return None
        if self.folder.is_symlink() or not self.folder.is_dir():
            raise self._not_ours("is a link" if self.folder.is_symlink() else "is a file")
        try:
            marker = json.loads((self.folder / MARKER).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if any(not _OURS.fullmatch(path.name) for path in self.folder.iterdir()):
                raise self._not_ours(f"has no {MARKER}") from None
            return None  # of a run that was killed as it began or ended
        except ValueError:
            marker = None
        if not isinstance(marker, dict) or marker.get("made_by") != MADE_BY:
            raise self._not_ours(f"has another's {MARKER}")
        return marker

    def _not_ours(self, found: str) -> InputError:
        return InputError(
            f"{self.folder}: {found}, must be a folder that excalibr rerank made, or not be there. "
            "Hint: move it away, or name another output."
        )

    def _check_same(self, marker: Mapping[str, Any]) -> None:
        if marker.get("stamp") == self.stamp:
            return
        changed: list[Option | str] = []
        for kind, now in self.facts.items():
            before = marker.get(kind, now)
            names = [name for name in before | now if before.get(name) != now.get(name)]
            changed += names if kind == "inputs" else map(Option, names)
        listed = [part for name in changed for part in (" and ", name)][1:]
        what = (" (", *listed, " changed since)") if changed else ()
        found = Message(f"{self.folder}: is of a run with other inputs or options", *what, ", must be of the same. ")
        raise InputError(Message(found, "Hint: leave --resume out to start again."))

    def _parts_done(self) -> list[StoredPart]:
        """The parts up to the first that is not done; what is there of later ones is removed."""
        done: list[StoredPart] = []
        while (part := self._part_done(len(done))) is not None:
            done.append(part)
        for path in self.folder.glob("part-*"):
            if _OURS.fullmatch(path.name) and int(path.name[5:].partition(".")[0]) >= len(done):
                path.unlink()
        return done

    def _part_done(self, number: int) -> StoredPart | None:
        """A folder that was being removed may lack any of its files."""
        try:
            stored = json.loads(self._tally(number).read_text(encoding="utf-8"))
            for name in self.outputs:
                _schema(self._part(number, name))
        except (OSError, ValueError):
            return None
        tally: dict[str, Any] = stored["tally"]
        counted = {name: Counter(value) for name, value in tally.items() if isinstance(value, dict)}
        return StoredPart(stored["rows"], Tally(**tally | counted))

    def _assemble(self, name: str, count: int, path: Path, kind: str, check: Callable[[], None]) -> None:
        parts = (read_arrow(self._part(number, name)) for number in range(count))
        schema = _schema(self._part(0, name))
        with _WRITERS[kind](path, schema.with_metadata({STAMP: self.stamp})) as writer:
            for table in _regrouped(part.cast(schema) for part in parts):
                check()
                writer.write_table(table)

    def _part(self, number: int, name: str) -> Path:
        return self.folder / f"part-{number:06d}.{name}.arrow"

    def _tally(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.json"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def read_arrow(path: Path) -> Any:
    """The table in a file that we wrote."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def _schema(path: Path) -> Any:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).schema


def _regrouped(tables: Iterable[Any]) -> Iterator[Any]:
    """The same rows in tables of 250,000, the last one smaller; at least one table."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        while sum(map(len, waiting)) > GROUP_ROWS:
            held = pa.concat_tables(waiting)
            yield held[:GROUP_ROWS].combine_chunks()
            waiting = [held[GROUP_ROWS:]]
    yield pa.concat_tables(waiting).combine_chunks()


def check_columns(option: str, output: Path, schema: Any) -> None:
    """Raise an error where a column is of a type that the output's format does not have, as CSV has no lists."""
    for field in schema:
        own = pa.schema([field])
        try:
            with _WRITERS[format_of(output, option)](pa.BufferOutputStream(), own) as writer:
                writer.write_table(own.empty_table())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            found = f"is {output.name!r}, which cannot hold the column {field.name!r} of the type {field.type}"
            hint = "name a .parquet or .arrow file, or leave the column out of the candidates."
            raise InputError(option, found, "be of a format that can", hint) from error


def _stamp_of(path: Path) -> str | None:
    kind = format_of(path, "out")
    if kind == "csv":
        return None
    try:
        schema = pa.parquet.read_schema(path) if kind == "parquet" else _schema(path)
    except (OSError, pa.ArrowInvalid):
        return None
    return (schema.metadata or {}).get(STAMP, b"").decode() or None
