"""Problems in a file, for processes of either commit and for programs in other languages.

An .npz has all families: for each the arrays of its problems one after another. A .bin has one family in the machine's
byte order; for each problem int32 n, k, r and the number of entries of A, float64 λ, then scores (n), indptr (n + 1,
int32), indices (entries, int32), values (entries), target (r) and position weights (k), those without a type float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Stored", "StoredFamily", "read", "write", "write_binary"]

FIELDS = ("scores", "indptr", "indices", "values", "target", "weights")

MOST_DENSE = 1000
"""How many categories people have in an array."""

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stored:
    """One problem: A by rows (indptr, indices, values), and the weights of the slots, summing to 1."""

    n: int
    k: int
    r: int
    trade_off: float
    scores: Array
    indptr: Array
    indices: Array
    values: Array
    target: Array
    weights: Array

    @property
    def categories(self) -> Any:
        """(n, r) A the way people have it: an array, or sparse rows where there are very many categories."""
        if self.r > MOST_DENSE:
            return sp.csr_array((self.values, self.indices, self.indptr), shape=(self.n, self.r))
        dense = np.zeros((self.n, self.r))
        dense[np.repeat(np.arange(self.n), np.diff(self.indptr)), self.indices] = self.values
        return dense


@dataclass(frozen=True, eq=False)
class StoredFamily:
    """Problems of one name; ``weights`` names the position weights, or is empty where they are numbers."""

    name: str
    divergence: str
    weights: str
    spare: int
    problems: Sequence[Stored]

    @property
    def timed(self) -> Sequence[Stored]:
        """The problems of the stream."""
        return self.problems[: len(self.problems) - self.spare]

    @property
    def warm_up(self) -> Sequence[Stored]:
        """The others, which nobody times."""
        return self.problems[len(self.problems) - self.spare :]


def write(path: Path, families: Sequence[StoredFamily]) -> None:
    """All families in one .npz."""
    arrays: dict[str, Any] = {
        "names": np.array([each.name for each in families]),
        "divergences": np.array([each.divergence for each in families]),
        "weights": np.array([each.weights for each in families]),
        "spare": np.array([each.spare for each in families]),
    }
    for place, family in enumerate(families):
        arrays[f"{place}.sizes"] = np.array([(each.n, each.k, each.r, len(each.values)) for each in family.problems])
        arrays[f"{place}.trade_offs"] = np.array([each.trade_off for each in family.problems])
        for field in FIELDS:
            arrays[f"{place}.{field}"] = np.concatenate([getattr(each, field) for each in family.problems])
    np.savez(path, **arrays)


def read(path: Path, chosen: Sequence[str] | None = None) -> list[StoredFamily]:
    """The families of these names, or all, in the order of the file."""
    with np.load(path) as stored:
        heads = zip(stored["names"], stored["divergences"], stored["weights"], stored["spare"], strict=True)
        return [
            StoredFamily(str(name), str(divergence), str(weights), int(spare), list(_problems(stored, place)))
            for place, (name, divergence, weights, spare) in enumerate(heads)
            if chosen is None or name in chosen
        ]


def write_binary(path: Path, family: StoredFamily) -> None:
    """One family, for a program that knows nothing of numpy; without the spare problems."""
    with path.open("wb") as file:
        for each in family.timed:
            file.write(np.array([each.n, each.k, each.r, len(each.values)], dtype=np.int32).tobytes())
            file.write(np.float64(each.trade_off).tobytes())
            for field in FIELDS:
                file.write(getattr(each, field).tobytes())


def _problems(stored: Any, place: int) -> Iterator[Stored]:
    columns = {field: stored[f"{place}.{field}"] for field in FIELDS}
    starts = dict.fromkeys(FIELDS, 0)
    for (n, k, r, entries), trade_off in zip(
        stored[f"{place}.sizes"].tolist(), stored[f"{place}.trade_offs"].tolist(), strict=True
    ):
        lengths = dict(zip(FIELDS, (n, n + 1, entries, entries, r, k), strict=True))
        arrays = {}
        for field, length in lengths.items():
            arrays[field] = columns[field][starts[field] : starts[field] + length].copy()
            starts[field] += length
        yield Stored(n, k, r, trade_off, **arrays)
