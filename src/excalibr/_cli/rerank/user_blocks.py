"""Candidates handed out whole users at a time, with their rows of the other tables; and how many at a time.

Files that are not in the order of their users are sorted on disk first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from excalibr._cli.rerank.parts import read_arrow
from excalibr._types import Integers
from excalibr._writing import errors_named, sync_file
from excalibr.errors import InputError
from excalibr.tables._ids import keys_of, matched, read_ids
from excalibr.tables._sources import TableSource
from excalibr.tables._users import UserStream

BUCKET_ROWS = 500_000
MOST_BUCKETS = 256
SAMPLED = 512  # every so manyth user is looked at to divide the users into buckets of about the same size


@dataclass(frozen=True)
class UserBlock:
    """Some users: their candidates, their rows of the other tables, and how many they are."""

    candidates: Any
    others: dict[str, Any]
    users: int


class UserBlocks:
    """Users in their order, of about so many rows of candidates at a time."""

    def __init__(self, candidates: UserStream, others: Mapping[str, UserStream], user_id: str, rows: int) -> None:
        self._chunks, self._others, self._user_id = candidates.chunks(rows), others, user_id
        self._held: Any = None
        self._ends: Integers = np.empty(0, dtype=np.int64)

    def take(self, users: int) -> UserBlock | None:
        """The next users, at most so many; None after the last. A table without rows is one block without users."""
        return self._cut(min(users, len(self._ends))) if self._hold() else None

    def skip(self, rows: int) -> None:
        """Go past the rows of a finished part, which end with a user's last."""
        while self._hold():
            past = self._cut(int(np.searchsorted(self._ends, rows, side="right")))
            rows -= len(past.candidates)
            if rows <= 0:
                return
            if not past.users:
                break
        found, hint = "lack rows that finished parts took", "leave --resume out to start again."
        raise InputError("candidates", found, "be those that the run began with", hint)

    def _hold(self) -> bool:
        """Whether there is a table at hand."""
        if self._held is None:
            self._held = next(self._chunks, None)
            if self._held is not None:
                self._ends = _ends(read_ids(self._held.column(self._user_id)))
        return self._held is not None

    def _cut(self, users: int) -> UserBlock:
        rows = int(self._ends[users - 1]) if users else 0
        table, left = self._held[:rows], self._held[rows:]
        self._held, self._ends = left if len(left) else None, self._ends[users:] - rows
        return UserBlock(table, self._rows_of(table), users)

    def _rows_of(self, table: Any) -> dict[str, Any]:
        """The rows of the other tables up to the last user."""
        if not len(table):
            return {name: stream.empty for name, stream in self._others.items()}
        ids = read_ids(table.column(self._user_id))
        for name, stream in self._others.items():
            matched(stream.first_id(), ids, "user_id", (name, "candidates"))
        last = keys_of(ids[-1:])[0]
        return {name: stream.until(last) for name, stream in self._others.items()}


@dataclass
class BlockSize:
    """How many users are solved together: about as many as take ``seconds``, going up in steps."""

    seconds: float
    users: int = 256

    def adapt(self, users: int, took: float) -> None:
        """Take into account how long so many users took."""
        if users:
            wanted = users * self.seconds / max(took, 1e-6)
            self.users = max(1, int(min(wanted, 4 * self.users)))


def _ends(ids: Any) -> Integers:
    """Where the rows of each user end."""
    if not len(ids):
        return np.empty(0, dtype=np.int64)
    changes = pc.not_equal(ids[1:], ids[:-1])
    return np.append(np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1, len(ids)).astype(np.int64)


@dataclass(frozen=True)
class Scan:
    """What one pass over the users' column of a table tells."""

    source: TableSource
    user_id: str
    rows: int
    users: int  # runs of equal ids, which are the users where the rows are sorted
    is_sorted: bool
    sample: list[Any]  # some of the ids
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
        sample += keys_of(ids[::SAMPLED])
        first, final = keys_of(ids.take([0, len(ids) - 1]))
        users += len(_ends(ids)) - int(first == last)
        rises = pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py() is not False
        in_order = in_order and (last is None or last <= first) and rises
        last = final
    return Scan(source, user_id, rows, users, in_order, sample, without)


def in_user_order(scanned: Scan, folder: Path) -> UserStream:
    """The rows of a table by user; where the files do not have them so, they are sorted in ``folder``."""
    tables = _with_user(scanned) if scanned.is_sorted else _sorted_on_disk(scanned, folder)
    return UserStream(tables, scanned.source.schema, scanned.user_id)


def _with_user(scanned: Scan) -> Iterator[Any]:
    for table in scanned.source.batches():
        column = table.column(scanned.user_id)
        yield table.filter(pc.is_valid(column)) if column.null_count else table


def _sorted_on_disk(scanned: Scan, folder: Path) -> Iterator[Any]:
    """The rows put into one file for each range of users, then each file sorted in memory.

    Each range has about the same number of rows, known from the sample. A range is read only when it is its turn. The
    files stay until the run ends, so that a run that goes on need not make them again.
    """
    bounds = _bounds(scanned)
    paths = [folder / f"users-{number:03d}.arrow" for number in range(len(bounds) + 1)]
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with errors_named(folder):
            _write_ranges(scanned, bounds, paths)
        (folder / "done").touch()
    for path in paths:
        scanned.source.check()
        table = read_arrow(path)
        yield table.take(pc.sort_indices(read_ids(table.column(scanned.user_id))))


def _write_ranges(scanned: Scan, bounds: list[Any], paths: list[Path]) -> None:
    schema = scanned.source.schema
    with ExitStack() as opened:
        writers = [opened.enter_context(pa.ipc.new_file(path, schema)) for path in paths]
        for table in _with_user(scanned):
            ids = read_ids(table.column(scanned.user_id))
            ranges = np.zeros(len(ids), dtype=np.int64)
            for bound in bounds:
                ranges += ~_below(ids, bound)
            ordered = table.cast(schema).take(np.argsort(ranges, kind="stable"))
            edges = np.append(0, np.cumsum(np.bincount(ranges, minlength=len(writers))))
            for writer, (first, last) in zip(writers, pairwise(edges), strict=True):
                if first < last:
                    writer.write_table(ordered[first:last])
    for path in paths:
        sync_file(path)


def _bounds(scanned: Scan) -> list[Any]:
    """The first user of each bucket but the first."""
    buckets, ordered = min(MOST_BUCKETS, scanned.rows // BUCKET_ROWS + 1), sorted(scanned.sample)
    return list(dict.fromkeys(ordered[len(ordered) * number // buckets] for number in range(1, buckets)))


def _below(ids: Any, user: Any) -> Any:
    if pa.types.is_integer(ids.type):
        return ids.to_numpy() < user
    return pc.less(ids, pa.scalar(user, ids.type)).to_numpy(zero_copy_only=False)
