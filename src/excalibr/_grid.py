"""A small table of a result, told once: as plain lines, on a terminal with colours, and in a notebook with bars.

In a notebook it is HTML without scripts, in the colours of the page around it, and every text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from excalibr._text import html_text
from excalibr._types import Floats

MOST_ROWS = 20
"""How many rows of a table are written out."""

LONGEST_LABEL = 40
TOO_LONG, TOO_SHORT, NOISE = 1e9, 1e-4, 1e-12
"""A column whose largest number is from the first on, or between the others, is written with powers of ten."""

BAR_WIDTH = 5.0
"""Of a full bar, in ems."""

_CELL = "border:none;padding:.15em .7em;background:none;color:inherit"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid currentColor"
_TABLE = "border-collapse:collapse;border:none;margin:.4em 0 .8em;color:inherit;width:auto"
_BAR = "display:inline-block;height:.65em;margin-left:.5em;background:currentColor;opacity:.4"


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Grid(NamedTuple):
    """A table of texts: numbers to the right, the columns named in ``words`` to the left; ``bars`` are of 0 to 1."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: tuple[str, ...]
    more: int = 0
    bars: Mapping[str, Sequence[float] | Floats] = {}

    def text(self) -> str:
        """Plain lines in which the columns line up."""
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        lines = [self._line(cells, widths) for cells in (self.headings, *self.rows)]
        return "\n".join([*lines, *self._rest()])

    def rich(self) -> Any:
        """The same for a terminal with colours."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
        for heading in self.headings:
            table.add_column(heading, justify="left" if heading in self.words else "right", no_wrap=True)
        for cells in self.rows:
            table.add_row(*map(Text, cells))
        table.caption = "".join(self._rest()) or None
        table.caption_justify = "left"
        return table

    def html(self) -> str:
        """The same for a notebook, with a bar beside each number that has one."""
        head = "".join(self._cell("th", heading, html_text(heading)) for heading in self.headings)
        body = "".join(f"<tr>{self._row(number, cells)}</tr>" for number, cells in enumerate(self.rows))
        rest = "".join(f'<div style="opacity:.7">{html_text(line)}</div>' for line in self._rest())
        return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}'

    def _row(self, row: int, cells: tuple[str, ...]) -> str:
        return "".join(
            self._cell("td", heading, self._with_bar(heading, row, cell) if heading in self.bars else html_text(cell))
            for heading, cell in zip(self.headings, cells, strict=True)
        )

    def _with_bar(self, heading: str, row: int, cell: str) -> str:
        """The number in as much room as the longest of its column takes, so that all bars begin in one place."""
        longest = max(len(cells[self.headings.index(heading)]) for cells in self.rows)
        room = f"display:inline-block;min-width:{longest}ch;text-align:right"
        width = BAR_WIDTH * float(np.clip(np.nan_to_num(self.bars[heading][row]), 0.0, 1.0))
        return f'<span style="{room}">{html_text(cell)}</span><span style="{_BAR};width:{width:.2f}em"></span>'

    def _cell(self, tag: str, heading: str, content: str) -> str:
        side = "left" if heading in self.words or heading in self.bars else "right"
        style = _HEAD if tag == "th" else _CELL
        return f'<{tag} style="{style};text-align:{side};white-space:nowrap">{content}</{tag}>'

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        aligned = (
            cell.ljust(width) if heading in self.words else cell.rjust(width)
            for cell, width, heading in zip(cells, widths, self.headings, strict=True)
        )
        return "  ".join(aligned).rstrip()

    def _rest(self) -> list[str]:
        return [f"… and {self.more} more"] if self.more else []


def html_of(headline: str, *grids: Grid) -> str:
    """A headline with tables below, as a notebook shows it."""
    tables = "".join(grid.html() for grid in grids)
    return f'<div style="font-variant-numeric:tabular-nums"><div><b>{html_text(headline)}</b></div>{tables}</div>'


def grid_of(
    columns: dict[str, list[str]],
    words: tuple[str, ...],
    more: int = 0,
    without_nan: str | None = None,
    bars: Mapping[str, Sequence[float] | Floats] | None = None,
) -> Grid:
    """The columns as rows; one that has nothing but nan is left out."""
    kept = {name: cells for name, cells in columns.items() if name != without_nan or set(cells) != {"nan"}}
    return Grid(tuple(kept), list(zip(*kept.values(), strict=True)), words, more, bars or {})


def numbers(values: Floats) -> list[str]:
    """With as many decimals as tell them apart: three at least, fewer for large numbers, and powers of ten beyond."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if largest >= TOO_LONG or NOISE < largest < TOO_SHORT:
        return [f"{float(value):.3g}" for value in values]
    decimals = 3 if largest == 0.0 else int(np.clip(2 - np.floor(np.log10(largest)), 0, 6))
    return [number(value, max(decimals, 3) if largest < 10.0 else decimals) for value in values]


def number(value: float, decimals: int = 3) -> str:
    """So many decimals, and no minus before a zero.

    >>> number(-0.0001), number(0.25)
    ('0.000', '0.250')
    """
    return f"{float(value):z.{decimals}f}"


def percent(part: float) -> str:
    """A part of 1 in per cent.

    >>> percent(0.25), percent(1e-5), percent(1.0)
    ('25.0 %', '< 0.1 %', '100 %')
    """
    if 0.0 < part < 0.0005:
        return "< 0.1 %"
    return "100 %" if abs(part - 1.0) < 1e-9 else f"{number(100.0 * part, 1)} %"


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    r"""The label in one line without control characters, cut where it is too long for a table.

    >>> short("A\tlong\x1b title", 8)
    'A long …'
    """
    label = _CONTROLS.sub(" ", label)
    return label if len(label) <= longest else label[: longest - 1] + "…"
