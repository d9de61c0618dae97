"""How small a gap must be when no ``GapWarning`` came: the library's statement, at the fuzz's only place for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.program import LONG, Program
from tests.fuzz.questions import Floats

TOLERANCE = 1e-9
"""The default of ``calibrate``."""

RELATIVE = False
"""False: relative to max(1, (1 − λ)·spread). True: relative to (1 − λ)·spread, and no less than rounding allows."""

ROUNDING = LONG(2) ** -46
"""What rounding allows beside the largest number that a figure is made of: 64 units in the last place of a double."""

SMALLEST = LONG(1e-305)
"""Where doubles begin to lose digits."""

FRONTIER_PART = 0.4
"""How exactly the points of a frontier are solved, as a part of its tolerance."""


def allowed_gap(program: Program, trade_off: float, prices: Floats, *, frontier: float | None = None) -> Any:
    """The largest gap without a warning, of ``calibrate`` or of the points of a frontier with this tolerance."""
    spread = (1 - LONG(trade_off)) * program.spread
    tolerance = LONG(TOLERANCE) if frontier is None else max(LONG(TOLERANCE), LONG(FRONTIER_PART * frontier))
    if not RELATIVE:
        return tolerance * max(LONG(1), spread)
    if frontier is not None:
        return tolerance * np.hypot(spread, LONG(trade_off)) + rounding(program, trade_off, prices)
    return max(tolerance * spread, rounding(program, trade_off, prices))


def rounding(program: Program, trade_off: float, prices: Floats) -> Any:
    """What no gap in doubles can be trusted beyond: beside the range of the scores, the slopes and the prices."""
    gains, slopes = (1 - LONG(trade_off)) * program.spread, LONG(trade_off) * program.steepest
    beside = ROUNDING * (gains + slopes + np.abs(prices).max(initial=0))
    return beside + 4 * LONG(2) ** -52 * (1 - LONG(trade_off)) * program.largest + SMALLEST
