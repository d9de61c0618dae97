"""What became of a user, and what is wrong with a user's numbers, in words.

The kernel finds faults while it packs what it is given; here they become a status of one user among many, or the error
of a single call.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from excalibr._native import kernel
from excalibr._problem.terms import AttributeSpan
from excalibr._types import Integers
from excalibr.errors import InputError

TARGET_SHARE, TARGET_SUM, BAND, SHARE, ROW_SUM, SCORE, SCORE_RANGE = range(1, 8)
"""The kernel's numbers."""


class Status(IntEnum):
    """What became of a user; those from ``NO_CANDIDATES`` on could not be calibrated."""

    TIME_LIMIT_REACHED = -1
    OK = 0
    STOPPED_EARLY = 1
    NO_CANDIDATES = 2
    NO_TARGET = 3
    BAD_SCORES = 4
    BAD_CATEGORIES = 5
    BAD_TARGET = 6
    BAD_TRADE_OFF = 7
    BAD_K = 8
    FAILED = 9
    BAD_PIN = 10
    BAD_VISIT = 11

    @property
    def text(self) -> str:
        """The status as reports show it: "bad target"."""
        return self.name.lower().replace("_", " ")


NEVER_RANKED = (Status.NO_CANDIDATES, Status.BAD_SCORES, Status.BAD_K)
"""Users with these statuses have no order by scores to fall back to."""

_STATUSES = {
    Status.BAD_TARGET: (TARGET_SHARE, TARGET_SUM, BAND),
    Status.BAD_CATEGORIES: (SHARE, ROW_SUM),
    Status.BAD_SCORES: (SCORE, SCORE_RANGE),
}


def status_of_faults(faults: Integers, statuses: Integers) -> None:
    """Write the statuses of users with a fault of the kernel's."""
    for status, numbers in _STATUSES.items():
        statuses[(faults >= numbers[0]) & (faults <= numbers[-1])] = status


def error_of_fault(
    fault: tuple[Any, ...], attributes: Sequence[AttributeSpan] = (), categories: str = "categories"
) -> InputError:
    """The error that says what a fault is, where, and what to do."""
    kind, attribute, at, column, value, other = fault
    part = f"[{attributes[attribute].name!r}]" if attributes else ""
    rows, target = f"{categories}{part}", f"target{part}"
    bound = f"{kernel.WIDEST_RANGE:g}"
    row_hint = "divide each row by its sum." if value else "give items without a category one of their own."
    said = {
        TARGET_SHARE: (target, f"element {at} is {value}", "be finite and at least 0", ""),
        TARGET_SUM: (target, f"sums to {value:.6g}", "sum to 1", "divide it by its sum."),
        BAND: (target, f"has the edges {value:g} and {other:g} for category {at}", "be within ±1e30 and rise", ""),
        SHARE: (rows, f"row {at}, column {column} is {value}", "be finite and at least 0", ""),
        ROW_SUM: (rows, f"row {at} sums to {value:.6g}", "sum to 1", row_hint),
        SCORE: (
            *("scores", f"element {at} is {value}", "be finite"),
            "drop the candidates without a score before re-ranking.",
        ),
        SCORE_RANGE: (
            *("scores", f"go from {value:.3g} to {other:.3g}", f"be within ±{bound}"),
            "leave candidates out instead of masking them with a huge score.",
        ),
    }
    return InputError(*said[kind])


def too_few_candidates(k: float, room: float) -> InputError:
    """The error for slots that cannot all be filled once the shown ones and full groups are out."""
    found = f"is {k:.0f}, and only {room:.0f} of the candidates may be shown together"
    hint = "pass more candidates, a smaller k, or wider limits."
    return InputError("k", found, f"be at most {room:.0f}", hint)
