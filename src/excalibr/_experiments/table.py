"""A table of texts, as Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan

from excalibr._text import csv_cell, markdown_text


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts with the name of its files, a title, and what to know when reading it.

    Cells are plain text, which may come from data. ``bold`` is the column to stand out.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    bold: str = ""

    def markdown(self) -> str:
        """As Markdown."""
        bold = [name == self.bold for name in self.head]
        lines = [_line(map(markdown_text, self.head)), _line(["---"] * len(self.head))]
        for row in self.rows:
            cells = zip(map(markdown_text, row), bold, strict=True)
            lines.append(_line(f"**{cell}**" if strong and cell else cell for cell, strong in cells))
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """As HTML, under its title and above its note."""
        head, rows = "".join(f"<th>{escape(name)}</th>" for name in self.head), []
        for row in self.rows:
            cells = zip(self.head, map(escape, row), strict=True)
            shown = (f"<td><b>{cell}</b></td>" if name == self.bold else f"<td>{cell}</td>" for name, cell in cells)
            rows.append("<tr>" + "".join(shown) + "</tr>")
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"<h2>{escape(self.title)}</h2>\n<table><tr>{head}</tr>\n" + "\n".join(rows) + f"</table>{note}"

    def csv(self) -> str:
        """As CSV; a label that a spreadsheet would take for a formula has an apostrophe before it."""
        text = io.StringIO()
        rows = ([csv_cell(cell) for cell in row] for row in (self.head, *self.rows))
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()


def number(value: float, digits: int) -> str:
    """So many decimals, – for nan."""
    return "–" if isnan(value) else f"{value:.{digits}f}"


def short(value: float) -> str:
    """Seconds, with more decimals where they are few."""
    return number(value, 3 if value >= 0.01 else 5)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
