"""Ids of a table's column: what a request writes is brought to the column's type, and found by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from excalibr._native import kernel
from excalibr.errors import InputTypeError
from excalibr.service._failures import RequestFailure
from excalibr.tables._ids import keys_of


@dataclass(frozen=True, eq=False, slots=True)
class Ids:
    """The place of each id; ``whole`` where they are whole numbers, and not text; ``table`` to look up many at once."""

    places: dict[Any, int]
    whole: bool
    table: kernel.IdTable | dict[Any, int]

    @classmethod
    def of(cls, ids: Any, what: str) -> Ids:
        """The ids of an Arrow array without nulls or repeats, at their places."""
        keys = keys_of(ids)
        whole = bool(keys) and isinstance(keys[0], int)
        if not all(isinstance(key, int if whole else str) for key in keys):
            raise InputTypeError(what, f"has the type {ids.type}", "have text or whole numbers")
        places = {key: place for place, key in enumerate(keys)}
        return cls(places, whole, _table(keys, places) if whole else places)

    def __len__(self) -> int:
        return len(self.places)

    def read(self, given: int | str, path: str) -> int | str:
        """An id of a request in the column's type.

        >>> import pyarrow as pa
        >>> numbers, texts = Ids.of(pa.array([42]), "item_id"), Ids.of(pa.array(["42"]), "item_id")
        >>> numbers.read("42", "$.user"), texts.read(42, "$.user")
        (42, '42')
        """
        if isinstance(given, int):
            return given if self.whole else str(given)
        return _whole(given, path) if self.whole else given

    def read_all(self, given: Sequence[int | str], path: str) -> list[int | str]:
        """The same for a list of a request."""
        return [self.read(each, f"{path}[{number}]") for number, each in enumerate(given)]

    def find(self, given: Sequence[int | str], path: str) -> list[int]:
        """The place of each id, −1 where the table does not have it."""
        places = self.places
        try:
            return [places[each] for each in given]  # most requests have nothing else
        except KeyError:
            return [places.get(each, -1) for each in self.read_all(given, path)]

    def unused(self) -> int | str:
        """An id that the table does not have."""
        if self.whole:
            return next(each for each in count() if each not in self.places)
        return f"{max(self.places)}\0" if self.places else ""


def _table(keys: list[Any], places: dict[Any, int]) -> kernel.IdTable | dict[Any, int]:
    """What the kernel looks whole numbers up in; where one has more than 64 bits, Python does."""
    try:
        return kernel.IdTable(np.array(keys, dtype=np.int64))
    except OverflowError:
        return places


def _whole(text: str, path: str) -> int:
    """A whole number that was written as text."""
    digits = text[1:] if text[:1] == "-" else text
    if len(digits) <= 76 and digits.isascii() and digits.isdigit():
        return int(text)
    raise RequestFailure(422, f"The id {text[:80]!r} must be a whole number, as those of the table are.", path)
