"""What items are calibrated on, as sparse item × category shares: genre, decade, popularity, any column of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import indices, is_real, is_whole, numbers, starts_of
from excalibr._sparse import SparseRows, build_rows, freeze_rows, read_rows
from excalibr._types import Floats
from excalibr.errors import InputError, InputTypeError

NO_GENRES = "(no genres listed)"  # MovieLens' own words, and a value like any other


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """One way to sort items into categories.

    Attributes
    ----------
    name
        What the categories are, such as "genre".
    categories
        (r,) their names, in the order of the columns.
    matrix
        (items, r) sparse rows, each item's share of each category; rows sum to 1. Its arrays are read-only.

    Examples
    --------
    >>> attribute = from_column("language", ["en", "en|fr"])
    >>> attribute
    Attribute('language', 2 items, 2 categories: 'en', 'fr')
    >>> attribute.matrix.toarray().tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    name: str
    categories: tuple[str, ...]
    matrix: SparseRows

    def __post_init__(self) -> None:
        if self.matrix.shape[1] != len(self.categories):
            found, must = f"has shape {self.matrix.shape}", f"have {len(self.categories)} columns, one a category"
            raise InputError("matrix", found, must)
        freeze_rows(self.matrix)

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.matrix.shape[0])

    def take(self, items: ArrayLike) -> Attribute:
        """The same attribute of some of the items, in the order given, or by a mask; every category stays."""
        chosen = indices("items", items, self.items)
        return Attribute(self.name, self.categories, read_rows("matrix", self.matrix[chosen]))

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.categories[:6])) + (", …" if len(self.categories) > 6 else "")
        return f"Attribute({self.name!r}, {self.items} items, {len(self.categories)} categories: {names})"


def genre(genres: Iterable[object]) -> Attribute:
    """The genres of each item in equal shares; an item without any has the value ``(no genres listed)``.

    Parameters
    ----------
    genres
        One entry per item: labels separated by ``|``, or a list of labels.

    Examples
    --------
    >>> genre(["Comedy|Drama", "(no genres listed)"]).categories
    ('(no genres listed)', 'Comedy', 'Drama')
    """
    return from_column("genre", genres, missing=NO_GENRES)


def from_column(
    name: str, values: Iterable[object], *, separator: str | None = "|", missing: str = "(none)"
) -> Attribute:
    """Any column of a table as an attribute: an item has equal shares of its different labels.

    Parameters
    ----------
    name
        What to call the attribute.
    values
        One entry per item, from a list, a numpy or Arrow array or a data frame's column: a label, several in one text
        with ``separator`` between them, or a list of labels. Categories are the labels that occur, in alphabetical
        order.
    separator
        What stands between labels in a text; None keeps every text whole.
    missing
        The label of an item that has none (None, NaN, an empty text or list).

    Examples
    --------
    >>> from_column("origin", ["FR;BE", None, ["BE"]], separator=";").matrix.toarray().tolist()
    [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if isinstance(values, (str, bytes)):
        raise InputError("values", f"are the text {values!r}", "have an entry for each item")
    by_key = isinstance(values, Mapping) or hasattr(values, "columns")  # a table would give the names of its columns
    if by_key or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        found = f"are a {type(values).__name__}"
        raise InputTypeError("values", found, "be a list, an array or a column, with an entry for each item")
    if not isinstance(separator, (str, NoneType)):
        raise InputTypeError("separator", f"is {separator!r}", "be a text, or None")
    listed = getattr(values, "to_pylist", None) or getattr(values, "to_list", None)  # Arrow's; Polars' and pandas'
    labels = [_labels(value, separator) or (missing,) for value in (listed() if listed else values)]
    if not labels:
        raise InputError("values", "are empty", "have an entry for each item")
    categories = tuple(sorted({label for row in labels for label in row}))
    column = {label: number for number, label in enumerate(categories)}
    counts = np.array([len(row) for row in labels], dtype=np.int64)
    columns = np.array([column[label] for row in labels for label in row], dtype=np.int64)
    rows = build_rows(np.repeat(1.0 / counts, counts), columns, starts_of(counts), len(categories))
    return Attribute(name, categories, rows)


def decade(years: ArrayLike, *, first: int = 1920, missing: str | None = None) -> Attribute:
    """The decade of each item's year, such as "1990s".

    The rule for what does not fit, which the paper leaves open: a year before ``first`` counts as the first decade, so
    that MovieLens 20M has the paper's ten values, 1920s to 2010s. An item without a year has the shares that the
    decades have among the items with one: it then pulls towards no decade, and adds no category.

    Parameters
    ----------
    years
        (items,) years; 0, None or NaN where there is none.
    first
        The earliest decade that is kept apart.
    missing
        A label to give items without a year as a category of their own, instead of the rule above.

    Examples
    --------
    >>> attribute = decade([1912, 1925, 1994, 1999, 0])
    >>> attribute.categories
    ('1920s', '1990s')
    >>> attribute.matrix.toarray().tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 0.5]]
    """
    if not is_whole(first):
        raise InputTypeError("first", f"is {first!r}", "be a year")
    given = _years(years)
    known = given > 0
    labels = [f"{int(max(year, first)) // 10 * 10}s" if year > 0 else missing for year in given]
    if missing is not None or known.all():
        return from_column("decade", labels, separator=None)
    dated = from_column("decade", [label for label in labels if label is not None], separator=None)
    shares = np.zeros((len(given), len(dated.categories)))
    shares[known] = dated.matrix.toarray()
    shares[~known] = shares[known].mean(axis=0)
    return Attribute("decade", dated.categories, read_rows("matrix", shares))


def popularity(positives: ArrayLike, *, share: float = 0.05) -> Attribute:
    """The most liked items against the rest: "popular" and "other".

    Parameters
    ----------
    positives
        (items,) how many positives each item has among the training users.
    share
        The share of items, by number, that is called popular: rounded, at least one; of equals the lower index.

    Examples
    --------
    >>> popularity([3, 9, 1, 9], share=0.25).matrix.toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    counts = numbers("positives", positives)
    if counts.ndim != 1 or not counts.size:
        raise InputError("positives", f"have shape {counts.shape}", "have shape (items,)")
    if np.isnan(counts).any():
        raise InputError("positives", f"are nan in row {int(np.argmax(np.isnan(counts)))}", "be a number in every row")
    if not is_real(share) or not 0.0 < share < 1.0:
        raise InputError("share", f"is {share!r}", "be between 0 and 1", "0.05 is the top 5 %.")
    top = np.argsort(-counts, kind="stable")[: max(1, round(share * len(counts)))]
    columns = np.ones(len(counts), dtype=np.int64)
    columns[top] = 0
    rows = build_rows(np.ones(len(counts)), columns, np.arange(len(counts) + 1), 2)
    return Attribute("popularity", ("popular", "other"), rows)


def _labels(value: object, separator: str | None) -> tuple[str, ...]:
    """The different labels of one entry, none where it is empty."""
    if _is_nothing(value):
        return ()
    if isinstance(value, str):
        parts: Iterable[object] = value.split(separator) if separator else [value]
    elif isinstance(value, (bytes, bytearray)):  # their parts would be numbers
        raise InputTypeError("values", f"have the bytes {bytes(value)!r}", "be texts", "decode them first.")
    else:
        parts = value if isinstance(value, Iterable) else [value]
    texts = [str(part).strip() for part in parts if not _is_nothing(part)]
    return tuple(dict.fromkeys(text for text in texts if text))


def _is_nothing(value: object) -> bool:
    """None, NaN, and what pandas writes for them."""
    if isinstance(value, (str, list, tuple, np.ndarray)):
        return False
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _years(years: ArrayLike) -> Floats:
    given = np.nan_to_num(numbers("years", years), nan=0.0)
    if given.ndim != 1 or not given.size:
        raise InputError("years", f"have shape {given.shape}", "have shape (items,)")
    odd = (given != 0) & ((given < 1000) | (given > 9999) | (given != np.floor(given)))
    if odd.any():
        at = int(np.argmax(odd))
        raise InputError("years", f"item {at} has {given[at]:g}", "be a year of four digits, or 0 where there is none")
    if not given.any():
        raise InputError("years", "are all missing", "have a year for at least one item")
    return given
