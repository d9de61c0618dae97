"""Files in the order of their users: as they are, or sorted on disk first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from excalibr._cli.rerank.sources import TableSource
from excalibr._types import Integers
from excalibr._writing import errors_named, sync_file
from excalibr.tables._ids import keys_of, read_ids
from excalibr.tables._users import UserStream

__all__ = ["Scan", "in_user_order", "scan"]

BUCKET_ROWS = 500_000
MOST_BUCKETS = 256
SAMPLED = 512
"""Every so manyth user is looked at to divide the users into buckets of about the same size."""


@dataclass(frozen=True)
class Scan:
    """What one pass over the users' column tells.

    ``users`` counts runs of equal ids, which are the users where the rows are sorted. ``sample`` are some ids.
    """

    rows: int
    users: int
    is_sorted: bool
    sample: Any
    without_user: int


def scan(source: TableSource, user_id: str) -> Scan:
    """Count rows and users, and see whether the rows are in the order of their users."""
    rows = users = without = 0
    in_order, sample = True, []
    last: Any = None
    for table in source.batches([user_id]):
        ids = read_ids(table.column(0))
        rows, without = rows + len(ids), without + ids.null_count
        ids = ids.drop_null()
        if not len(ids):
            continue
        first, *_, final = keys_of(ids.take([0, len(ids) - 1]))
        changes = pc.not_equal(ids[1:], ids[:-1])
        users += int(first != last) + (pc.sum(changes).as_py() or 0)
        in_order = in_order and (last is None or last <= first) and bool(_rises(ids))
        last = final
        sample.append(ids[::SAMPLED])
    return Scan(rows, users, in_order, _concatenated(sample), without)


def in_user_order(source: TableSource, user_id: str, scanned: Scan, folder: Path) -> UserStream:
    """The source's rows by user; where the files do not have them so, they are sorted in ``folder``."""
    tables = _with_user(source, user_id) if scanned.is_sorted else _sorted_on_disk(source, user_id, scanned, folder)
    return UserStream(tables, source.schema, user_id)


def _with_user(source: TableSource, user_id: str) -> Iterator[Any]:
    for table in source.batches():
        column = table.column(user_id)
        yield table.filter(pc.is_valid(column)) if column.null_count else table


def _sorted_on_disk(source: TableSource, user_id: str, scanned: Scan, folder: Path) -> Iterator[Any]:
    """The rows put into one file for each range of users, then each file sorted in memory.

    Each range has about the same number of rows, known from the sample. A range is read only when it is its turn. The
    files stay until the run ends, so that a run that goes on need not make them again.
    """
    bounds = _bounds(scanned)
    paths = [folder / f"users-{number:03d}.arrow" for number in range(len(bounds) + 1)]
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with errors_named(folder):
            _write_ranges(source, user_id, bounds, paths)
        (folder / "done").touch()
    for path in paths:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        yield table.take(pc.sort_indices(read_ids(table.column(user_id))))


def _write_ranges(source: TableSource, user_id: str, bounds: list[Hashable], paths: list[Path]) -> None:
    with ExitStack() as opened:
        writers = [opened.enter_context(pa.ipc.new_file(path, source.schema)) for path in paths]
        for table in _with_user(source, user_id):
            _distribute(table.cast(source.schema), _buckets(read_ids(table.column(user_id)), bounds), writers)
    for path in paths:
        sync_file(path)


def _bounds(scanned: Scan) -> list[Hashable]:
    """The first user of each bucket but the first."""
    buckets = min(MOST_BUCKETS, scanned.rows // BUCKET_ROWS + 1)
    ordered = keys_of(scanned.sample.take(pc.sort_indices(scanned.sample)))
    chosen = [ordered[len(ordered) * number // buckets] for number in range(1, buckets)]
    return list(dict.fromkeys(chosen))


def _buckets(ids: Any, bounds: list[Hashable]) -> Integers:
    buckets = np.zeros(len(ids), dtype=np.int64)
    for bound in bounds:
        buckets += ~_below(ids, bound)
    return buckets


def _distribute(table: Any, buckets: Integers, writers: list[Any]) -> None:
    order = np.argsort(buckets, kind="stable")
    edges = np.searchsorted(buckets[order], np.arange(len(writers) + 1))
    ordered = table.take(order)
    for number, writer in enumerate(writers):
        if edges[number] < edges[number + 1]:
            writer.write_table(ordered[edges[number] : edges[number + 1]])


def _below(ids: Any, user: Any) -> Any:
    if pa.types.is_integer(ids.type):
        return ids.to_numpy() < user
    return pc.less(ids, pa.scalar(user, ids.type)).to_numpy(zero_copy_only=False)


def _rises(ids: Any) -> bool:
    return pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py() is not False


def _concatenated(arrays: list[Any]) -> Any:
    if not arrays:
        return pa.array([], pa.int64())
    if len({array.type for array in arrays}) > 1:
        arrays = [array.cast(pa.decimal256(76, 0)) for array in arrays]
    return pa.concat_arrays(arrays)
