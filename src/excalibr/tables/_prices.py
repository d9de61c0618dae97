"""Prices of groups as a table: what a balance found, and what ``rerank(prices=…)`` subtracts.

Columns: ``pass``, ``probability``, ``attribute``, ``category``, ``price`` and ``block``. A row with an attribute is the
price of a category of it in a pass; a row with a block, such as ``519/1000``, has the probability of a pass for the
users of that block. Without ``pass`` and ``probability`` there is one pass; without ``block``, everybody draws the
passes with the same probabilities.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import is_real
from excalibr._messages import counted
from excalibr._population import Mixture, solve_mixed
from excalibr._types import Floats, Integers
from excalibr.errors import InputError
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._ids import by_label, labels_of
from excalibr.tables._items import ItemArrays, read_items
from excalibr.tables._options import Tables
from excalibr.tables._results import Finish, SolvedPart
from excalibr.tables._shares import NA_HINT

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class GroupPrices:
    """A table of prices, read: who draws which pass, and the price of each group, by (attribute, category), in it."""

    groups: list[tuple[str, str]]
    mixture: Mixture

    @property
    def attributes(self) -> list[str]:
        """The attributes that groups are of, in the order they come."""
        return list(dict.fromkeys(attribute for attribute, _ in self.groups))

    def item_prices(self, groups: ItemArrays) -> Floats:
        """(passes, items) what a unit of exposure of each item costs; groups without a price cost nothing."""
        numbers = {label: number for number, label in enumerate(groups.labels)}
        for attribute in self.attributes:
            own = [group for group in self.groups if group[0] == attribute]
            if not any(group in numbers for group in own):
                more = f" and {len(own) - 1:,} more" if len(own) > 1 else ""
                found = f"have {own[0][1]!r}{more} of {attribute!r}, none of which an item has"
                raise InputError("prices", found, "be of groups of these items")
        by_group = np.zeros((len(self.mixture.prices), len(numbers)))
        for column, group in enumerate(self.groups):
            if group in numbers:
                by_group[:, numbers[group]] = self.mixture.prices[:, column]
        return np.asarray((groups.rows.sparse() @ by_group.T).T)

    def solve(self, items: ItemArrays, finish: Finish, **how: Any) -> Iterator[SolvedPart]:
        """As :func:`solve_users`, with every user's lottery mixed from the passes that the user draws."""
        if items.groups is None:
            raise InputError("items", "were read without the groups that prices are of", "be read with prices")
        weights = self.mixture.probabilities_of(finish.keys)
        return solve_mixed(finish.batch, self.item_prices(items.groups), weights, finish, **how)


def read_groups(table: Any, names: list[str], options: Tables) -> ItemArrays:
    """The items' shares of the groups of these attributes, each of which is a column of the items table."""
    columns = read_frame(table, "items").columns
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(name, map(str, columns), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            listed = f"the groups of an attribute are a column, and columns are {columns}"
            raise InputError(f"column {name!r} not found in items. Hint: {listed}{hint}")
    return read_items(table, dataclasses.replace(options, category={name: name for name in names}, prices=None))


def read_prices(table: Any, name: str = "prices") -> GroupPrices:
    """A table of prices, or a mapping by attribute from categories to prices; ``name`` is how messages call it."""
    if isinstance(table, Mapping):
        return _from_mapping(table, name)
    frame = read_frame(table, name, "a mapping by attribute, ")
    for column in ("attribute", "category", "price"):
        if column not in frame.columns:
            must = "have attribute, category and price, as balance writes them"
            raise InputError(name, f"have no column {column!r}, but {frame.columns}", must)
    prices, passes, probabilities = frame.numbers("price", name), _passes(frame), frame.numbers_or_ones("probability")
    frame.require("probability", probabilities, probabilities >= 0, "be at least 0")
    blocks = _texts(frame, "block") if "block" in frame.columns else [""] * len(frame)
    is_block = np.array([bool(block) for block in blocks], dtype=np.bool_)
    priced, listed = np.flatnonzero(~is_block), np.flatnonzero(is_block)
    if not len(priced):
        raise InputError(name, "have no row with an attribute, a category and a price", "have one")
    frame.require("price", prices, np.isfinite(prices) | is_block, "be finite")
    own = _groups_of(frame, priced)
    groups = {group: column for column, group in enumerate(dict.fromkeys(own))}
    columns = np.array([groups[group] for group in own])
    numbers, of_row = np.unique(passes[priced], return_inverse=True)
    if len(np.unique(of_row * len(groups) + columns)) < len(priced):
        raise InputError(name, "have a group twice in a pass", "have one price for each group and pass")
    by_pass, chances = np.zeros((len(numbers), len(groups))), np.zeros(len(numbers))
    by_pass[of_row, columns], chances[of_row] = prices[priced], probabilities[priced]
    if abs(chances.sum() - 1.0) > SUM_TOLERANCE:
        found = f"sum to {chances.sum():g} over {counted(len(numbers), 'pass', 'passes')}"
        raise InputError(f"column 'probability' of {name}", found, "sum to 1")
    row_blocks = [_block(blocks[row], name) for row in listed.tolist()]
    by_block = _by_block(name, row_blocks, numbers, passes[listed], probabilities[listed])
    return GroupPrices(list(groups), Mixture(by_pass, chances / chances.sum(), *by_block))


def _groups_of(frame: Frame, rows: Integers) -> list[tuple[str, str]]:
    """The attribute and the category of these rows."""
    names = {column: _texts(frame, column) for column in ("attribute", "category")}
    for row in rows.tolist():
        for column, texts in names.items():
            if not texts[row]:
                found = f"row {row} has a price and no {column}"
                raise InputError(f"column {column!r} of {frame.name}", found, "name a group for each price", NA_HINT)
    return [(names["attribute"][row], names["category"][row]) for row in rows.tolist()]


def _from_mapping(table: Mapping[Any, Any], what: str) -> GroupPrices:
    """One price per group, by attribute and category."""
    groups: dict[tuple[str, str], float] = {}
    for attribute, own in table.items():
        if not isinstance(own, Mapping):
            hint = f'{what}={{"seller": {{"big": 0.1}}}} makes the seller big dearer.'
            raise InputError(what, f"have {own!r} for {attribute!r}", "have a price for each category of it", hint)
        for label, price in by_label(own, f"{what}[{attribute!r}]").items():
            if not (is_real(price) and np.isfinite(price)):
                raise InputError(what, f"have {price!r} for {label!r} of {attribute!r}", "have finite numbers")
            groups[str(attribute), label] = float(price)
    if not groups:
        raise InputError(what, "are empty", "have a price for at least one group")
    return GroupPrices(list(groups), Mixture.single(np.array(list(groups.values()))))


def price_columns(groups: list[tuple[str, str]], mixture: Mixture) -> dict[str, Any]:
    """The columns of a table of prices that :func:`read_prices` reads back."""
    passes, count = len(mixture.prices), len(groups)
    own = np.argwhere(mixture.weights.T > 0)  # by block, then pass
    texts = [f"{block}/{mixture.n_blocks}" for block in mixture.blocks[own[:, 0]].tolist()]
    nothing = [""] * len(texts)
    return {
        "pass": np.concatenate([np.repeat(np.arange(1, passes + 1), count), own[:, 1] + 1]),
        "probability": np.concatenate([np.repeat(mixture.probabilities, count), mixture.weights[own[:, 1], own[:, 0]]]),
        "attribute": [attribute for attribute, _ in groups] * passes + nothing,
        "category": [category for _, category in groups] * passes + nothing,
        "price": np.concatenate([mixture.prices.ravel(), np.zeros(len(texts))]),
        "block": [""] * (passes * count) + texts,
    }


def _by_block(
    name: str, row_blocks: list[tuple[int, int]], numbers: Integers, passes: Integers, probabilities: Floats
) -> tuple[int, Integers, Floats]:
    """How many blocks there are, those of the rows, and (passes, blocks) their probabilities; 1 and none without rows.

    ``row_blocks`` has each row's block and how many there are; ``passes`` must be among the priced ones, ``numbers``.
    """
    sizes = {size for _, size in row_blocks} or {1}
    if len(sizes) > 1 or not np.isin(passes, numbers).all():
        raise InputError(name, "mix blocks of several balances", "be the table of one balance")
    different, place = np.unique(np.array([block for block, _ in row_blocks], dtype=np.int64), return_inverse=True)
    weights = np.zeros((len(numbers), len(different)))
    weights[np.searchsorted(numbers, passes), place] = probabilities
    sums = weights.sum(axis=0)
    if (np.abs(sums - 1.0) > SUM_TOLERANCE).any():
        worst = int(np.argmax(np.abs(sums - 1.0)))
        found = f"sum to {sums[worst]:g} in block {different[worst]}"
        raise InputError(f"column 'probability' of {name}", found, "sum to 1 in each block")
    return sizes.pop(), different, weights / sums


def _block(text: str, name: str) -> tuple[int, int]:
    number, _, size = text.partition("/")
    if not (number.isdigit() and size.isdigit() and 0 <= int(number) < int(size) <= 1 << 62):
        raise InputError(f"column 'block' of {name}", f"has {text!r}", "have texts such as '519/1000'")
    return int(number), int(size)


def _texts(frame: Frame, name: str) -> list[str]:
    """Labels as the items have them, empty where there is none."""
    labels = labels_of(frame.column(name, frame.name), f"column {name!r} of {frame.name}")
    return [label or "" for label in labels.to_pylist()]


def _passes(frame: Frame) -> Integers:
    """The number of each row's pass."""
    numbers = frame.numbers_or_ones("pass")
    frame.require("pass", numbers, np.isfinite(numbers) & (numbers == np.floor(numbers)), "be the number of a pass")
    return numbers.astype(np.int64)
