"""A question in plain arrays, as a caller would write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Floats = np.ndarray

CALLS = ("calibrate", "calibrate_path", "frontier", "calibrate_batch")
"""The public functions that a question can be for."""


@dataclass(frozen=True, eq=False)
class Question:
    """The arguments of a public function: three arrays (or mappings of them, or bands) and its options.

    With ``calibrate_batch`` the options are those of ``calibrate``, and the question is asked as one user of several.
    """

    scores: Floats
    categories: Any
    target: Any
    options: dict[str, Any] = field(default_factory=dict)
    call: str = "calibrate"

    def __repr__(self) -> str:
        rows = list(self.categories.values()) if isinstance(self.categories, dict) else [self.categories]
        sizes = f"n={len(self.scores)}, k={self.options.get('k')}, r={'+'.join(str(part.shape[1]) for part in rows)}"
        told = {name: value for name, value in self.options.items() if name != "k"}
        with np.printoptions(threshold=8, edgeitems=2, precision=4):
            listed = ", ".join(f"{name}={_short(value)}" for name, value in told.items())
        return f"{self.call}({sizes}, {listed})"


def _short(value: Any) -> str:
    text = f"{value}".replace("\n", "")
    return text if len(text) <= 60 else text[:57] + "…"
