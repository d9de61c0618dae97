"""One HTML file with everything: claims, figures and tables, its pictures inside it and nothing fetched."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from excalibr._experiments.figures import figures_of, write_figures
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.sentences import READING, caption, introduction, verdicts
from excalibr._experiments.store import Store
from excalibr._experiments.table import Table
from excalibr._experiments.tables import write_tables

__all__ = ["write_files", "write_report"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; } figure { margin: 1.5rem 0; } figcaption { color: #555; font-size: 0.9rem; }
table { border-collapse: collapse; font-size: 0.9rem; display: block; max-height: 40rem; overflow: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: #fff; }
"""


def write_files(results: ExperimentResults, out: Path, *, figures: bool = True) -> Path:
    """Write figures (PNG and SVG), tables (Markdown and CSV) and the report; returns the report."""
    if figures:
        write_figures(results.curves, out / "figures")
    store = Store(out)
    return write_report(results, write_tables(results, store), store)


def write_report(results: ExperimentResults, tables: Sequence[Table], store: Store) -> Path:
    """Write ``report.html``; figures are those in the folder ``figures``, where they were drawn."""
    title = f"Calibrated re-ranking on {results.study.name}"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join([f"<h1>{escape(title)}</h1>", *_body(results, tables, store.folder / "figures")])
    return store.write_text(
        "report.html", f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
    )


def _body(results: ExperimentResults, tables: Sequence[Table], figures: Path) -> Iterator[str]:
    yield from (f"<p>{escape(paragraph)}</p>" for paragraph in introduction(results))
    yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in verdicts(results)) + "</ul>"
    by_name = {table.name: table for table in tables}
    yield _table(by_name.pop("claims"))
    yield f"<h2>Figures</h2><p>{escape(READING)}</p>"
    for figure in figures_of(results.curves):
        path = figures / f"{figure.name}.png"
        if path.is_file():
            coded = base64.b64encode(path.read_bytes()).decode()
            words = escape(caption(figure, results))
            picture = f'<img alt="{escape(figure.title)}" src="data:image/png;base64,{coded}">'
            yield f"<figure>{picture}<figcaption>{words}</figcaption></figure>"
    yield from map(_table, by_name.values())


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "\n".join(_row(row, [name == table.bold for name in table.head]) for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return f"<h2>{escape(table.title)}</h2>\n<table><tr>{head}</tr>\n{rows}</table>{note}"


def _row(cells: Sequence[str], bold: Sequence[bool]) -> str:
    shown = (f"<b>{escape(cell)}</b>" if strong else escape(cell) for cell, strong in zip(cells, bold, strict=True))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>"
