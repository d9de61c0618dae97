"""What an experiment shows of its results: figures, tables and the report in its folder, and the page elsewhere."""

from __future__ import annotations

from pathlib import Path

from excalibr._experiments.figures import write_figures
from excalibr._experiments.page import write_page
from excalibr._experiments.report import write_report
from excalibr._experiments.run import Results
from excalibr._experiments.store import Store
from excalibr._experiments.tables import write_tables

__all__ = ["write_files", "write_page"]


def write_files(results: Results, out: Path, *, figures: bool = True) -> Path:
    """Write figures (PNG and SVG), tables (Markdown and CSV) and the report; returns the report."""
    if figures:
        write_figures(results.curves, out / "figures")
    store = Store(out)
    return write_report(results, write_tables(results, store), store)
