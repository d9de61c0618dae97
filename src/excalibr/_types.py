"""Names for the array types that cross module borders."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["PLACE", "Booleans", "Floats", "Integers", "Places"]

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

Places: TypeAlias = NDArray[np.uint32]
PLACE = np.uint32
"""Numbers of candidates, ranks and entries as the compiled kernel counts them: unsigned."""
