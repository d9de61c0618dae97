"""Rows of a table that is too large to hold, read forwards and handed out whole users at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from excalibr.tables._arrow import pa, pc
from excalibr.tables._ids import read_ids


class UserStream:
    """A table that is read forwards, whole users at a time.

    Its pieces are Arrow tables of one schema, in which the rows of a user stand together; for :meth:`until`, users in
    order.
    """

    def __init__(self, tables: Iterator[Any], schema: Any, user_id: str) -> None:
        self._tables = tables
        self._user_id = user_id
        self._held = self.empty = schema.empty_table()

    def first_id(self) -> Any:
        """The id of the next row, in an array of its own, which is empty where no row is left."""
        if not len(self._held):
            self._held = next(self._tables, self.empty)
        return read_ids(self._held.column(self._user_id)[:1])

    def chunks(self, rows: int) -> Iterator[Any]:
        """Tables of at least so many rows, and never part of a user; at least one table, the last one may be small."""
        waiting, count = [self._held], 0
        for table in self._tables:
            waiting.append(table)
            count += len(table)
            if count < rows:
                continue
            held = _joined(waiting)
            ids = read_ids(held.column(self._user_id))
            cut = int(pc.index(ids, ids[-1]).as_py())  # where the last user begins
            waiting, count = [held[cut:]], len(held) - cut
            if cut:
                yield held[:cut]
        yield _joined(waiting)

    def until(self, user: Hashable) -> Any:
        """The next rows, up to and with those of this user."""
        taken = []
        while True:
            cut = _count_up_to(read_ids(self._held.column(self._user_id)), user)
            taken.append(self._held[:cut])
            self._held = self._held[cut:]
            if len(self._held) or (following := next(self._tables, None)) is None:
                return _joined(taken)
            self._held = following


def _count_up_to(ids: Any, user: Any) -> int:
    """How many of the ids, which are in order, come before this user or are it."""
    if not len(ids):
        return 0  # a column of nothing but nulls has no type to compare in
    if pa.types.is_integer(ids.type):
        return int(np.count_nonzero(ids.to_numpy() <= user))
    return int(pc.sum(pc.less_equal(ids, pa.scalar(user, ids.type))).as_py() or 0)


def _joined(tables: list[Any]) -> Any:
    return pa.concat_tables(tables, promote_options="permissive")
