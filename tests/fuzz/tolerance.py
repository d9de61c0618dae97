"""How small a gap must be when no ``GapWarning`` came: the library's statement, at the fuzz's only place for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.program import Program
from tests.fuzz.questions import Floats
from tests.fuzz.reading import LONG

TOLERANCE = 1e-9
"""The default of ``calibrate``."""

ROUNDING = LONG(1e-13)
"""What rounding allows beside the largest number that a figure is made of: 450 units in the last place of a double."""

MOST_ROUNDING = LONG(1e-6)
"""Rounding beyond this part of what a gap is measured by is told."""

NO_SPREAD = LONG(1e-305)
"""Scores that differ by less count as equal."""

SMALLEST = LONG(1e-305)
"""Where doubles begin to lose digits."""

FRONTIER_PART = 0.4
"""How exactly the points of a frontier are solved, as a part of its tolerance."""


def allowed_gap(program: Program, trade_off: float, *, frontier: float | None = None, cost: bool = False) -> Any:
    """The largest gap without a warning, of ``calibrate`` or of the points of a frontier with this tolerance.

    A part of the range of the scores that can be chosen among, or where they do not count of the largest weight, 1 at
    the most. What rounding leaves beside the scores and the gentlest weight of what candidates have may be more, up to
    a millionth of the same.
    Where the cost is the aim, as it is within a loss of relevance, the weights always count.
    """
    spread = program.open_spread if program.open_spread > NO_SPREAD else LONG(0)
    gains, slopes = (1 - LONG(trade_off)) * spread, LONG(trade_off) * program.steepest
    tolerance = LONG(TOLERANCE) if frontier is None else max(LONG(TOLERANCE), LONG(FRONTIER_PART * frontier))
    scale = gains if gains > 0 else min(slopes, LONG(1))
    weights = program.weights[program.there]
    gentlest = weights[weights > 0].min(initial=program.steepest)
    rounded = ROUNDING * (gains + LONG(trade_off) * gentlest)
    scale = max(scale, min(slopes, LONG(1))) if cost else scale
    return max(tolerance * scale, min(rounded, MOST_ROUNDING * scale)) + SMALLEST


def rounding(program: Program, trade_off: float, prices: Floats) -> Any:
    """What no gap in doubles can be trusted beyond: beside scores, prices, and both times what shares are set by.

    After pages that were seen 1e9 times as much, the price of a limit, which no slope bounds, multiplies edges of 1e9.
    """
    gains, slopes = (1 - LONG(trade_off)) * program.spread, LONG(trade_off) * program.steepest
    dearest = np.abs(prices).max(initial=0)
    beside = ROUNDING * (gains + slopes + dearest)
    large = (1 - LONG(trade_off)) * program.largest + max(slopes, dearest) * (program.around - 1)
    return beside + 4 * LONG(2) ** -52 * large + SMALLEST
