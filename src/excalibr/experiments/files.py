"""What an experiment shows of its results: figures, tables and the report in its folder, and the page elsewhere."""

from __future__ import annotations

from pathlib import Path

from excalibr.experiments.figures import write_figures
from excalibr.experiments.page import write_page
from excalibr.experiments.report import write_report
from excalibr.experiments.run import Results
from excalibr.experiments.store import Store
from excalibr.experiments.tables import write_tables

__all__ = ["write_files", "write_page"]


def write_files(results: Results, out: Path, *, figures: bool = True) -> Path:
    """Write figures (PNG and SVG), tables (Markdown and CSV) and the report; returns the report."""
    if figures:
        write_figures(results.curves, out / "figures")
    store = Store(out)
    return write_report(results, write_tables(results, store), store)
