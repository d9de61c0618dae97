"""pyarrow as the tables use it: imported with the first use, and where it is missing an error names the extra.

``pa`` and ``pc`` stand for ``pyarrow`` and ``pyarrow.compute``, ``arrow_csv`` and ``parquet`` for its readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from excalibr.errors import needs_extra


class _LazyModule:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # whoever inspects this object does not use the module
            raise AttributeError(attribute)
        with needs_extra("data", "pyarrow"):
            return getattr(import_module(self._name), attribute)


pa: Any = _LazyModule("pyarrow")
pc: Any = _LazyModule("pyarrow.compute")
arrow_csv: Any = _LazyModule("pyarrow.csv")
parquet: Any = _LazyModule("pyarrow.parquet")


def require_arrow() -> None:
    """Raise the error that names the extra, where pyarrow is not installed."""
    with needs_extra("data", "pyarrow"):
        import_module("pyarrow")


def without_views(schema: Any) -> Any:
    """The same schema with plain text for views, as Polars writes them, which Arrow can neither sort nor take.

    >>> without_views(pa.schema({"user_id": pa.string_view(), "score": pa.float64()})).types
    [DataType(large_string), DataType(double)]
    """
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema], metadata=schema.metadata)


def plain_type(kind: Any) -> Any:
    """The type with plain text for views, at any depth."""
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_field.with_type(plain_type(kind.value_type))
        if types.is_large_list(kind):
            return pa.large_list(inner)
        return pa.list_(inner) if types.is_list(kind) else pa.list_(inner, kind.list_size)
    return kind
