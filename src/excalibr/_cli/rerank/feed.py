"""Candidates handed out whole users at a time, with their rows of the other tables; and how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from excalibr._types import Integers
from excalibr.errors import InputError, explain
from excalibr.tables._ids import keys_of, matched, read_ids
from excalibr.tables._users import UserStream

__all__ = ["Feed", "Pace", "UserBlock"]


@dataclass(frozen=True)
class UserBlock:
    """Some users: their candidates, their rows of the other tables, and how many they are."""

    candidates: Any
    others: dict[str, Any]
    users: int


class Feed:
    """Users in their order.

    Parameters
    ----------
    candidates, others
        Tables by user.
    user_id
        The column with the user.
    rows
        How many rows of candidates are held, about.
    check
        Called whenever more is read.
    """

    def __init__(
        self,
        candidates: UserStream,
        others: Mapping[str, UserStream],
        user_id: str,
        rows: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._chunks = self._checked(candidates.chunks(rows), check)
        self._others = dict(others)
        self._user_id = user_id
        self._held: Any = None
        self._ends: Integers = np.empty(0, dtype=np.int64)

    def take(self, users: int) -> UserBlock | None:
        """The next users, at most so many; None after the last. A table without rows is one block without users."""
        if not self._hold():
            return None
        count = min(users, len(self._ends))
        return self._cut(int(self._ends[count - 1]) if count else 0, count)

    def skip(self, rows: int) -> None:
        """Go past the rows of a finished part, which end with a user's last."""
        while self._hold():
            past = int(np.searchsorted(self._ends, rows, side="right"))
            cut = int(self._ends[past - 1]) if past else 0
            self._cut(cut, past)
            rows -= cut
            if rows <= 0:
                return
            if not cut:
                break
        found, hint = "lack rows that finished parts took", "leave --resume out to start again."
        raise InputError(explain("candidates", found, "be those that the run began with", hint))

    def _hold(self) -> bool:
        """Whether there is a table at hand."""
        if self._held is None:
            self._held = next(self._chunks, None)
            self._ends = np.empty(0, dtype=np.int64) if self._held is None else _ends(self._held, self._user_id)
        return self._held is not None

    def _cut(self, rows: int, users: int) -> UserBlock:
        table, left = self._held[:rows], self._held[rows:]
        self._held, self._ends = (left, self._ends[users:] - rows) if len(left) else (None, self._ends[:0])
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

    @staticmethod
    def _checked(tables: Iterator[Any], check: Callable[[], None]) -> Iterator[Any]:
        for table in tables:
            check()
            yield table


@dataclass
class Pace:
    """How many users are solved together: about as many as take ``seconds``, going up in steps."""

    seconds: float
    users: int = 256

    def learn(self, users: int, took: float) -> None:
        """Take into account how long so many users took."""
        if users:
            wanted = users * self.seconds / max(took, 1e-6)
            self.users = max(1, int(min(wanted, 4 * self.users)))


def _ends(table: Any, user_id: str) -> Integers:
    """Where the rows of each user end."""
    ids = read_ids(table.column(user_id))
    if not len(ids):
        return np.empty(0, dtype=np.int64)
    changes = pc.not_equal(ids[1:], ids[:-1])
    return np.append(np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1, len(ids)).astype(np.int64)
