"""The caller's tables, of any kind: columns out as Arrow, rows back in the caller's own kind and types.

The only module that knows narwhals. What comes back is gathered from the caller's own rows, so ids and kept columns
never change their type on the way.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from excalibr._arrays import first_true
from excalibr._messages import Message, Option, Wording
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError, InputTypeError
from excalibr.tables._arrow import pa, require_arrow, without_views
from excalibr.tables._ids import is_text, plain

DELIMITERS = (";", "\t", "|", ",")
"""What stands in a header that was read as one column."""

NEAR = 0.55
"""How alike a column's name must be to be suggested: `users` for `user_id`, but not `title` for `item_id`."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One of the caller's tables, and what to call it in a message.

    ``views`` has the Arrow fields of columns that were views in the caller's table, and are again in what comes back.
    """

    name: str
    data: Any
    views: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.data.columns)

    def __len__(self) -> int:
        return len(self.data)

    def column(self, name: str, keyword: str) -> Any:
        """A column as one Arrow array; where there is none of that name, an error lists those there are."""
        if name not in self.columns:
            raise InputError(missing_column(name, self.name, self.columns, keyword))
        return _arrow(self.data[name], f"column {name!r} of {self.name}")

    def numbers(self, name: str, keyword: str) -> Floats:
        """A column of numbers, nan where it is null."""
        return numbers_of(self.column(name, keyword), f"column {name!r} of {self.name}")

    def numbers_or_ones(self, name: str | None) -> Floats:
        """The same, ones where there is no such column."""
        return np.ones(len(self)) if name is None or name not in self.columns else self.numbers(name, name)

    def require(self, name: str, values: Floats, good: Booleans, must: str, hint: str = "") -> None:
        """Raise an error that names the first row in which a value of a column is not good."""
        at = first_true(~good)
        if at is not None:
            raise InputError(f"column {name!r} of {self.name}", f"row {at} is {values[at]}", must, hint)

    def take(self, rows: Integers, columns: Sequence[str], added: Mapping[str, Any]) -> Any:
        """Some rows of some columns with new ones beside them, in the caller's kind; ``columns`` names the order."""
        import narwhals as nw

        kept = [name for name in columns if name not in added]
        chosen = nw.maybe_reset_index(self.data.select(nw.col(*kept))[rows])  # names in pandas may be numbers
        new = [_series(name, values, self.data.implementation) for name, values in added.items()]
        made = nw.to_native(chosen.with_columns(*new).select(nw.col(*columns)))
        if not self.views:
            return made
        return made.cast(
            pa.schema([own if own.name in added else self.views.get(own.name, own) for own in made.schema])
        )

    def like(self, columns: Mapping[str, Any]) -> Any:
        """A table of these columns, of numbers or texts, in the caller's kind."""
        import narwhals as nw

        kind = self.data.implementation
        series = {name: _series(name, values, kind) for name, values in columns.items()}
        return nw.to_native(nw.from_dict(series, backend=kind))


def read_frame(table: Any, name: str, or_else: str = "") -> Frame:
    """A table of pandas, Polars or PyArrow, or anything with an Arrow stream, which comes back as a PyArrow table.

    ``or_else`` is what else it may be, as a message says it.
    """
    import narwhals as nw

    require_arrow()
    try:
        frame = Frame(name, nw.from_native(table, eager_only=True))
        check_columns_once(frame.columns, name)
    except nw.exceptions.DuplicateError as error:
        found = " ".join(str(error).split())
        raise InputError(name, f"has columns twice ({found})", "have each column once") from error
    except TypeError as error:
        if hasattr(table, "__arrow_c_stream__"):
            with suppress(pa.ArrowInvalid):  # a stream of one column alone, as a Series is
                return _plain(Frame(name, nw.from_arrow(table, backend="pyarrow")))
        hint = "call .collect() first." if hasattr(table, "collect") else ""
        must = f"be {or_else}a table of pandas, Polars or PyArrow, or have an Arrow stream"
        raise InputTypeError(name, f"is a {type_name(table)}", must, hint) from error
    return _plain(frame)


def type_name(value: Any) -> str:
    """What kind of thing it is: "list", "pyspark.sql.dataframe.DataFrame"."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def check_columns_once(columns: Sequence[str], name: str) -> None:
    """Raise an error where two columns of a table have the same name."""
    twice = [column for number, column in enumerate(columns) if column in columns[:number]]
    if twice:
        raise InputError(name, f"has the column {twice[0]!r} twice", "have each column once")


def _plain(frame: Frame) -> Frame:
    """The same with plain columns for views, which Arrow can neither sort nor take."""
    import narwhals as nw

    table = nw.to_native(frame.data)
    if not isinstance(table, pa.Table):
        return frame
    schema = without_views(table.schema)
    views = {own.name: own for own, plain in zip(table.schema, schema, strict=True) if own.type != plain.type}
    return Frame(frame.name, nw.from_native(table.cast(schema), eager_only=True), views) if views else frame


def numbers_of(column: Any, what: str, must: str = "have numbers") -> Floats:
    """An Arrow array as numbers, nan where it is null; whole numbers too large for a float are rounded."""
    try:
        return np.array(_floats(column).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputTypeError(what, _no_number(column), must) from error


def _floats(column: Any) -> Any:
    return column.cast(pa.float64(), safe=False)


def _no_number(column: Any) -> str:
    """What is in the way: the first text that is no number, or the type."""
    if not is_text(column.type):
        return f"has the type {column.type}"
    first, past = 0, len(column)  # the first wrong row is one of these
    while past - first > 1:
        middle = (first + past) // 2
        try:
            _floats(column[first:middle])
            first = middle
        except pa.ArrowInvalid:
            past = middle
    return f"row {first} is {column[first].as_py()!r}"


def missing_column(
    name: str, table: str, columns: Sequence[str], keyword: str, role: str = "", everywhere: str | None = None
) -> Message:
    """The message for a column that is not there, with the option that names another.

    ``role`` is what the column is for, where that is not its name; ``everywhere`` is the option that names it in all
    tables, where that would do as well.
    """
    not_found = f"column {name!r} not found in {table}. Hint: "
    between = delimiter_in(columns)
    if between is not None:
        way = Wording(f"with sep={between!r}", f"from a CSV file, where {between!r} is seen as the delimiter")
        return Message(not_found, f"it has a single column, {columns[0]!r}; read it ", way, ".")
    near = [each for each in (role, name) if each in columns]
    near += difflib.get_close_matches(name, map(str, columns), n=1, cutoff=NEAR)
    listed = f"columns are {list(columns)}; pass "
    if near:
        return Message(not_found, listed, Option(keyword, near[0]), ".")
    if everywhere is None:
        return Message(not_found, listed, Option(keyword, ...), " to name yours.")
    alone = (Option(keyword, ...), " in this one alone.")
    return Message(not_found, listed, Option(everywhere, ...), " to name yours in all tables, or ", *alone)


def joined_error(errors: Sequence[InputError], what: str) -> InputError:
    """One error as it is; several as one, each in a line with its own hint."""
    if len(errors) == 1:
        return errors[0]
    lines = [part for number, error in enumerate(errors, 1) for part in (f"\n({number}) ", error.args[0])]
    return InputError(Message(f"{len(errors)} things are wrong with {what}.", *lines))


def delimiter_in(columns: Sequence[str]) -> str | None:
    """What stands in a header that was read as one column; None where there is nothing of the kind."""
    return next((mark for mark in DELIMITERS if len(columns) == 1 and mark in str(columns[0])), None)


def _arrow(series: Any, what: str) -> Any:
    import narwhals as nw

    if series.implementation.is_polars() and series.dtype == nw.Object:  # Arrow would have their addresses
        raise InputTypeError(what, "has Python objects", "have values of one type, such as text or whole numbers")
    try:
        array = series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        array = _one_by_one(series.to_list(), what, error)
    return plain(array, what)


def _one_by_one(values: list[Any], what: str, error: Exception) -> Any:
    """Values of a column that Arrow does not take as a whole: sparse ones, and whole numbers beyond 64 bits."""
    for kind in (None, pa.decimal256(76, 0)):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError):
            return pa.array(values, kind)
    found = f"cannot be read ({error})"
    raise InputTypeError(what, found, "have values of one type, such as text or whole numbers") from error


def _series(name: str, values: Any, backend: Any) -> Any:
    import narwhals as nw

    kinds = {"i": nw.Int64, "f": nw.Float64}
    dtype = kinds[values.dtype.kind] if isinstance(values, np.ndarray) else nw.String
    return nw.new_series(name, values, dtype, backend=backend)
