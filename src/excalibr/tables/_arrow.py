"""pyarrow as the tables use it: imported with the first use, and where it is missing an error names the extra.

``pa`` and ``pc`` stand for ``pyarrow`` and ``pyarrow.compute``, ``arrow_csv`` and ``parquet`` for its readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from excalibr.errors import needs_extra


class _WhenUsed:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # whoever inspects this object does not use the module
            raise AttributeError(attribute)
        with needs_extra("data", "pyarrow"):
            return getattr(import_module(self._name), attribute)


pa: Any = _WhenUsed("pyarrow")
pc: Any = _WhenUsed("pyarrow.compute")
arrow_csv: Any = _WhenUsed("pyarrow.csv")
parquet: Any = _WhenUsed("pyarrow.parquet")


def require_arrow() -> None:
    """Raise the error that names the extra, where pyarrow is not installed."""
    with needs_extra("data", "pyarrow"):
        import_module("pyarrow")
