"""What is explored: the tables as arrays of all users, a sample of them, titles, and what users went on to like."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from excalibr import _seeds as seeds
from excalibr._arrays import spans
from excalibr._messages import counted
from excalibr._options import read_options
from excalibr._problem import Status
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError
from excalibr.service._page.truth import Truth, read_truth
from excalibr.service._prices import ItemPrices
from excalibr.service._profiles import read_source
from excalibr.tables import ItemArrays, Reranker, Tables, Wanted, read_candidates, read_wanted, review_items
from excalibr.tables._by_name import with_names
from excalibr.tables._frames import read_frame
from excalibr.tables._ids import codes_in
from excalibr.tables._reranker import read_items_and_prices
from excalibr.tables._summary import items_text

SAMPLE = 500
"""Users whose slates are averaged, unless told otherwise."""

TITLES = ("title", "name", "label")
"""Columns of items that are shown to a person without being asked for."""


@dataclass(frozen=True)
class PageSource:
    """What the page is about, as the command line or a profile says it.

    Attributes
    ----------
    reranker
        How to rank at first; the page changes what it has choices for.
    columns
        How columns are called and read, as :class:`Tables` takes them.
    tables
        By name (``candidates``, ``items``, ``history``, ``targets``, ``prior``, ``prices``, ``truth``) a file, or what
        is written down in its place; empty for the invented catalogue.
    sample
        How many users are averaged.
    title
        The column of items that is shown to a person.
    """

    reranker: Reranker = field(default_factory=Reranker)
    columns: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Path | Mapping[str, Any]] = field(default_factory=dict)
    sample: int = SAMPLE
    title: str | None = None


@dataclass(frozen=True, eq=False)
class Explored:
    """All that is known before the page asks.

    Attributes
    ----------
    source
        What was asked for.
    items, titles
        The items table, and what to call each item.
    keys
        The users, by which rankings are drawn.
    starts, places, scores
        Where each user's candidates begin; (N,) each candidate's item and score.
    wanted
        What each user's target is.
    prices
        What items cost because of the groups that they belong to; None: nothing.
    sample
        (m,) the users that are averaged, in order.
    tuning
        (m,) which of them a trade-off is tuned on; the others show what it is worth.
    truth
        What users went on to like, or None.
    understood, notes
        What the tables were taken for, and what looks wrong about them.
    """

    source: PageSource
    items: ItemArrays
    titles: list[str]
    keys: list[Hashable]
    starts: Integers
    places: Integers
    scores: Floats
    wanted: Wanted
    prices: ItemPrices | None
    sample: Integers
    tuning: Booleans
    truth: Truth | None
    understood: str
    notes: list[str]

    def candidates_of(self, users: Integers) -> Integers:
        """Where the candidates of some users are, one user after another."""
        return spans(self.starts[users], self.starts[users + 1] - self.starts[users])

    def named(self, message: str) -> str:
        """A message of the library with the names of categories in place of their numbers, as plain text."""
        return str(with_names(message, self.items))

    def labels(self, users: Integers) -> list[str]:
        """What to call users."""
        return [str(self.keys[user]) for user in users.tolist()]


def read_explored(source: PageSource) -> Explored:
    """Read the tables of a source, all of them into memory."""
    tables = {name: read_source(name, given) for name, given in source.tables.items()} or _invented()
    truth, price_table = tables.pop("truth", None), tables.pop("prices", None)
    candidates, items_table = tables.pop("candidates"), tables.pop("items")
    options = read_options(Tables, {**source.columns, **tables})
    items, prices = read_items_and_prices(items_table, price_table, options)
    given = read_candidates(candidates, items, options)
    if not len(given.users):
        raise InputError("candidates", "have no users", "have at least one row with a user")
    wanted = read_wanted(given.users, items, options)
    sample = _sample(wanted, np.diff(given.starts), source)
    users, median = len(given.users), int(np.median(np.diff(given.starts)))
    understood = [f"{counted(users, 'user')}, {counted(median, 'candidate')} each (median)", items_text(items.columns)]
    if prices is not None:
        understood.append(f"prices of {counted(len(prices.groups), 'group')} ({', '.join(prices.attributes)})")
    return Explored(
        source,
        items,
        _titles(items_table, items, options, source.title),
        given.keys(),
        given.starts,
        given.items,
        given.scores,
        wanted,
        None if prices is None or items.groups is None else ItemPrices.of(prices, items.groups),
        sample,
        _first_half(sample, source.reranker.seed),
        None if truth is None else read_truth(truth, given, items, options),
        "; ".join([*understood, *options.recognised_text()]),
        [str(note.message) for note in review_items(items)],
    )


def _invented() -> dict[str, Any]:
    from excalibr.datasets import make_catalogue

    return dict(make_catalogue().tables())


def _sample(wanted: Wanted, sizes: Integers, source: PageSource) -> Integers:
    """Users who can be calibrated, chosen by the seed and put in order; anybody where nobody can."""
    usable = np.flatnonzero((wanted.statuses == Status.OK) & (sizes > 0))
    usable = usable if len(usable) else np.arange(len(sizes))
    chosen = _drawn(source.reranker.seed, "sample of the page", len(usable))[: source.sample]
    return np.asarray(np.sort(usable[chosen]))


def _first_half(sample: Integers, seed: int) -> Booleans:
    half = np.zeros(len(sample), dtype=bool)
    half[_drawn(seed, "halves of the page", len(sample))[: len(sample) // 2]] = True
    return half


def _drawn(seed: int, purpose: str, count: int) -> Integers:
    """So many numbers in an order that the seed draws."""
    return np.argsort(seeds.uniforms(seed, purpose, count), kind="stable")


def _titles(table: Any, items: ItemArrays, options: Tables, column: str | None) -> list[str]:
    """The title of each item, of several rows of one the first; its id where there is none."""
    frame = read_frame(table, "items")
    known = {name.lower(): name for name in frame.columns}
    named = column if column is not None else next((known[name] for name in TITLES if name in known), None)
    titles = [str(key) for key in items.ids.to_pylist()]
    if named is None:
        return titles
    rows = codes_in(options.read_ids(frame, "item_id"), items.ids)
    texts = frame.column(named, "title").to_pylist()
    for row in range(len(rows) - 1, -1, -1):
        if rows[row] >= 0 and texts[row] is not None:
            titles[rows[row]] = str(texts[row])
    return titles
