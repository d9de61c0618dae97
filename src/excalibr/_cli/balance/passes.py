"""Passes kept in a run's folder: a search that begins again gets them back in place of running them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from excalibr._population import Sums
from excalibr._sparse import build_rows
from excalibr._types import Floats
from excalibr._writing import beside

__all__ = ["KeptPasses"]


class KeptPasses:
    """The passes of one search, by their number; each is one file, which has the prices that it is of.

    Parameters
    ----------
    folder
        Where they are.
    check
        Called before a pass is kept: an error where the inputs changed under it.
    """

    def __init__(self, folder: Path, check: Callable[[], None]) -> None:
        self.folder, self.check = folder, check
        self.asked = 0

    def recall(self, prices: Floats) -> Sums | None:
        """The next pass, if it was made at these very prices before."""
        self.asked += 1
        try:
            with np.load(self._path(), allow_pickle=False) as stored:
                kept: dict[str, Any] = dict(stored)
        except (OSError, ValueError, KeyError, EOFError):
            return None
        if not np.array_equal(kept["prices"], prices):
            return None
        shares = build_rows(kept["values"], kept["columns"], kept["starts"], len(prices))
        return Sums(kept["bounds"], kept["own"], shares, kept["weights"], kept["blocks"])

    def keep(self, prices: Floats, found: Sums) -> None:
        """Store the pass that was asked for last."""
        self.check()
        arrays: dict[str, Any] = {
            "prices": prices,
            "own": found.own,
            "bounds": found.values,
            "values": found.shares.data,
            "columns": found.shares.indices,
            "starts": found.shares.indptr,
            "weights": found.weights,
            "blocks": found.blocks,
        }
        with beside(self._path()) as path, path.open("wb") as file:
            np.savez(file, **arrays)

    def _path(self) -> Path:
        return self.folder / f"pass-{self.asked:06d}.npz"
