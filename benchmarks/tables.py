"""Markdown tables and numbers as the page writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.statistics import Estimate

__all__ = ["estimate", "milliseconds", "number", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["n", "ms"], [["150", "0.3"]]))
    | n | ms |
    |---|---|
    | 150 | 0.3 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def milliseconds(seconds: float) -> str:
    """Three digits of milliseconds.

    >>> milliseconds(0.00012345), milliseconds(12.3456)
    ('0.123', '12,346')
    """
    return number(1e3 * seconds)


def number(value: float) -> str:
    """Three digits, and no exponent from a thousandth up.

    >>> [number(value) for value in (0.0456, 7.891, 1234.5, 0.0)]
    ['0.0456', '7.89', '1,234', '0']
    """
    if value == 0.0:
        return "0"
    if abs(value) >= 100.0:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"


def estimate(found: Estimate) -> str:
    """A value with its interval, if it has one: a single measurement has not.

    >>> estimate(Estimate(437.2, 387.0, 499.4)), estimate(Estimate(3.0, 3.0, 3.0))
    ('437 (387 to 499)', '3 (measured once)')
    """
    if found.value == 1.0:
        return "1"
    if found.low == found.high:
        return f"{number(found.value)} (measured once)"
    return f"{number(found.value)} ({number(found.low)} to {number(found.high)})"
