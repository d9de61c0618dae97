"""The folder of an experiment: a manifest that guards it, finished parts, and every file written beside and renamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import run_starts
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import PlanPart, Setting
from excalibr._types import Floats
from excalibr._writing import atomic_write, remove_all_leftovers
from excalibr.errors import InputError
from excalibr.tables._arrow import pa, parquet


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What a part found, and what its axes are."""

    part: PlanPart
    weightings: tuple[str, ...]
    user_ids: NDArray[Any]
    trade_offs: tuple[float, ...]
    values: Floats  # (weightings, users, trade-offs, metrics)
    catalogue: Floats  # (weightings, trade-offs, 2) CATALOGUE, of all its users


_MADE_AGAIN = "remove it, and start the experiment again with the same arguments: it makes it again."
_NOT_MADE_AGAIN = "what belongs to it cannot be told without it: an experiment needs another folder."


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Around reading a file of an experiment: an error of ours for one that is damaged, or not an experiment's."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        hint = _NOT_MADE_AGAIN if path.suffix == ".json" else _MADE_AGAIN
        raise InputError(str(path), f"cannot be read ({error})", "be as an experiment wrote it", hint) from error


@dataclass(frozen=True, slots=True)
class Store:
    """Where an experiment keeps its files."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, manifest: dict[str, Any]) -> Store:
        """Make the folder, or go on in one with the same manifest; another experiment's folder is refused."""
        store = cls(folder)
        stored, asked = store.read_json("manifest.json"), json.loads(json.dumps(manifest))
        if stored is None:
            (folder / "parts").mkdir(parents=True, exist_ok=True)
            store.write_json("manifest.json", manifest)
            stored = asked
        for name in sorted(stored.keys() | asked.keys()):
            if stored.get(name) != asked.get(name):
                found = f"has an experiment with {name} {stored.get(name)}, and {asked.get(name)} is asked for"
                hint = "go on with the same arguments, or pass another --out."
                raise InputError(str(folder), found, "hold one experiment", hint)
        for place in ("", "parts", "figures", "tables"):  # what a run that was killed was writing
            remove_all_leftovers(folder / place)
        return store

    def write_json(self, name: str, record: dict[str, Any]) -> None:
        self.write_text(name, json.dumps(record, indent=2) + "\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A record, or None where there is no such file."""
        path = self.folder / name
        if not path.is_file():
            return None
        with readable(path):
            record = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(record, dict):
                raise ValueError(f"it holds a {type(record).__name__}")
        return record

    @property
    def study(self) -> Path:
        """The prepared data."""
        return self.folder / "prepared.npz"

    def path(self, part: PlanPart) -> Path:
        """The file of a part, there or not."""
        return self.folder / "parts" / part.file

    def write_text(self, name: str, text: str) -> Path:
        with atomic_write(self.folder / name) as path:
            path.write_text(text, encoding="utf-8")
        return self.folder / name

    def write_part(self, block: Block) -> None:
        """Store what a part found, a row for each weighting, user and trade-off."""
        self.write_table(f"parts/{block.part.file}", _columns(block))

    def read_part(self, part: PlanPart) -> Block:
        with readable(self.path(part)):
            return _block(part, parquet.read_table(self.path(part)))

    def read_results(self) -> list[Block]:
        """All parts from ``results.parquet``, as :meth:`gather` wrote them; what an older version has not is nan."""
        with readable(self.folder / "results.parquet"):
            return _blocks(parquet.read_table(self.folder / "results.parquet"))

    def write_table(self, name: str, columns: dict[str, Any]) -> None:
        with atomic_write(self.folder / name) as path:
            parquet.write_table(pa.table(columns), path, compression="zstd")

    def read_table(self, name: str) -> dict[str, list[Any]]:
        with readable(self.folder / name):
            columns: dict[str, list[Any]] = parquet.read_table(self.folder / name).to_pydict()
        return columns

    def gather(self, parts: Sequence[PlanPart]) -> None:
        """All parts as one tidy table, ``results.parquet``; one part at a time is in memory."""
        with readable(self.path(parts[0])):
            schema = parquet.read_schema(self.path(parts[0]))
        whole = self.folder / "results.parquet"
        with atomic_write(whole) as path, parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for part in parts:
                with readable(self.path(part)):
                    writer.write_table(parquet.read_table(self.path(part)))


_KEYS = ("attribute", "candidates", "slots", "method")


def _blocks(table: Any) -> list[Block]:
    """The parts of ``results.parquet``, one after another."""
    columns = [table.column(name).dictionary_encode().combine_chunks().indices.to_numpy() for name in _KEYS]
    starts = np.flatnonzero(run_starts(*columns)).tolist()
    found = []
    for start, end in pairwise([*starts, table.num_rows]):
        attribute, candidates, slots, arm = (table.column(name)[start].as_py() for name in _KEYS)
        part = PlanPart(attribute, Setting(candidates, slots), arm)
        found.append(_block(part, table.slice(start, end - start)))
    return found


def _block(part: PlanPart, table: Any) -> Block:
    names = ("weighting", "user_id", "trade_off")
    weightings, users, trade_offs = (table.column(name).unique().to_pylist() for name in names)
    shape = (len(weightings), len(users), len(trade_offs))
    absent = np.full(shape, np.nan)
    measured = [
        table.column(name).to_numpy().reshape(shape) if name in table.column_names else absent
        for name in (*METRICS, *CATALOGUE)
    ]
    values, of_all = np.split(np.stack(measured, axis=-1), [len(METRICS)], axis=-1)
    return Block(part, tuple(weightings), np.asarray(users), tuple(trade_offs), values, of_all[:, 0])


def _columns(block: Block) -> dict[str, Any]:
    """A row for each weighting, user and trade-off, the last of them changing first."""
    part, shape = block.part, block.values.shape[:-1]
    columns = {
        "attribute": part.attribute,
        "weighting": np.array(block.weightings)[:, None, None],
        "candidates": part.setting.candidates,
        "slots": part.setting.slots,
        "method": part.arm,
        "user_id": block.user_ids[:, None],
        "trade_off": np.array(block.trade_offs),
        **dict(zip(METRICS, np.moveaxis(block.values, -1, 0), strict=True)),
        **dict(zip(CATALOGUE, np.moveaxis(block.catalogue[:, None], -1, 0), strict=True)),  # the same for all users
    }
    return {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
