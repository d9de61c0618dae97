"""The folder of an experiment: a manifest that guards it, finished parts, and every file written beside and renamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._arrays import run_starts
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import PlanPart, Setting
from excalibr._types import Floats
from excalibr._writing import beside, remove_all_leftovers
from excalibr.errors import InputError, explain
from excalibr.tables._arrow import pa, parquet

__all__ = ["Block", "Store"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What a part found: ``values`` of shape (weightings, users, trade-offs, metrics), and what its axes are.

    ``together`` is of all its users at once, (weightings, trade-offs, 2), :data:`CATALOGUE`.
    """

    part: PlanPart
    weightings: tuple[str, ...]
    user_ids: NDArray[Any]
    trade_offs: tuple[float, ...]
    values: Floats
    together: Floats


@dataclass(frozen=True, slots=True)
class Store:
    """Where an experiment keeps its files."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, manifest: dict[str, Any]) -> Store:
        """Make the folder, or go on in one with the same manifest; another experiment's folder is refused."""
        store = cls(folder)
        path = folder / "manifest.json"
        if path.is_file():
            _check_same(folder, json.loads(path.read_text(encoding="utf-8")), json.loads(json.dumps(manifest)))
        else:
            (folder / "parts").mkdir(parents=True, exist_ok=True)
            store.write_json("manifest.json", manifest)
        for place in ("", "parts", "figures", "tables"):  # what a run that was killed was writing
            remove_all_leftovers(folder / place)
        return store

    def write_json(self, name: str, record: dict[str, Any]) -> Path:
        """Write a record that people may read too."""
        return self.write_text(name, json.dumps(record, indent=2) + "\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Read a record, None where there is none."""
        path = self.folder / name
        record: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return record

    @property
    def study(self) -> Path:
        """The prepared data."""
        return self.folder / "prepared.npz"

    def path(self, part: PlanPart) -> Path:
        """The file of a part, there or not."""
        return self.folder / "parts" / part.file

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file."""
        with beside(self.folder / name) as path:
            path.write_text(text, encoding="utf-8")
        return self.folder / name

    def write_part(self, block: Block) -> None:
        """Store what a part found, a row for each weighting, user and trade-off."""
        self.write_table(Path("parts", block.part.file), _columns(block))

    def read_part(self, part: PlanPart) -> Block:
        """Read what :meth:`write_part` stored."""
        return _block(part, parquet.read_table(self.path(part)))

    def read_results(self) -> list[Block]:
        """All parts from ``results.parquet``, as :meth:`gather` wrote them; what an older version has not is nan."""
        table = parquet.read_table(self.folder / "results.parquet")
        columns = [table.column(name).dictionary_encode().combine_chunks().indices.to_numpy() for name in _KEYS]
        starts = np.flatnonzero(run_starts(*columns)).tolist()
        parts = zip(starts, [*starts[1:], table.num_rows], strict=True)
        return [_block(_part(table, start), table.slice(start, end - start)) for start, end in parts]

    def write_table(self, name: str | Path, columns: dict[str, Any]) -> Path:
        """Write columns as a Parquet file."""
        with beside(self.folder / name) as path:
            parquet.write_table(pa.table(columns), path, compression="zstd")
        return self.folder / name

    def read_table(self, name: str) -> dict[str, list[Any]]:
        """Read what :meth:`write_table` wrote."""
        columns: dict[str, list[Any]] = parquet.read_table(self.folder / name).to_pydict()
        return columns

    def gather(self, parts: Sequence[PlanPart]) -> Path:
        """All parts as one tidy table, ``results.parquet``; one part at a time is in memory."""
        schema = parquet.read_schema(self.path(parts[0]))
        whole = self.folder / "results.parquet"
        with beside(whole) as path, parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.read_table(self.path(part)))
        return whole


_KEYS = ("attribute", "candidates", "slots", "method")


def _part(table: Any, row: int) -> PlanPart:
    attribute, candidates, slots, method = (table.column(name)[row].as_py() for name in _KEYS)
    return PlanPart(attribute, Setting(candidates, slots), method)


def _block(part: PlanPart, table: Any) -> Block:
    weightings, users, trade_offs = (
        table.column(name).unique().to_pylist() for name in ("weighting", "user_id", "trade_off")
    )
    shape = (len(weightings), len(users), len(trade_offs))
    known = {name: table.column(name).to_numpy().reshape(shape) for name in table.column_names if name in _MEASURED}
    absent = np.full(shape, np.nan)
    values = np.stack([known.get(name, absent) for name in METRICS], axis=-1)
    of_all = [known.get(name, absent)[:, 0] for name in CATALOGUE]
    return Block(part, tuple(weightings), np.asarray(users), tuple(trade_offs), values, np.stack(of_all, axis=-1))


_MEASURED = (*METRICS, *CATALOGUE)


def _columns(block: Block) -> dict[str, Any]:
    """A row for each weighting, user and trade-off, the last of them changing first."""
    part, (weightings, users, sweep, _) = block.part, block.values.shape
    same = {
        "attribute": part.attribute,
        "candidates": part.setting.candidates,
        "slots": part.setting.slots,
        "method": part.arm,
    }
    rows = {name: np.repeat(np.array([value]), weightings * users * sweep) for name, value in same.items()}
    rows["weighting"] = np.repeat(np.array(block.weightings), users * sweep)
    rows["user_id"] = np.tile(np.repeat(block.user_ids, sweep), weightings)
    rows["trade_off"] = np.tile(np.array(block.trade_offs), weightings * users)
    ordered = ("attribute", "weighting", "candidates", "slots", "method", "user_id", "trade_off")
    measured = {name: block.values[..., number].ravel() for number, name in enumerate(METRICS)}
    for number, name in enumerate(CATALOGUE):  # the same for all users of a trade-off
        measured[name] = np.repeat(block.together[:, None, :, number], users, axis=1).ravel()
    return {name: rows[name] for name in ordered} | measured


def _check_same(folder: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    for name in sorted(stored.keys() | asked.keys()):
        if stored.get(name) != asked.get(name):
            found = f"has an experiment with {name} {stored.get(name)}, and {asked.get(name)} is asked for"
            hint = "go on with the same arguments, or pass another --out."
            raise InputError(explain(str(folder), found, "hold one experiment", hint))
