"""What is learned from a dataset: each item's categories, and each user's target, by LensKit's own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from lenskit.data import Dataset, ItemList, Vocabulary

from excalibr._problem import Memberships, Status, Targets
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import InputError
from excalibr.lenskit._config import CalibratedRerankerConfig
from excalibr.tables import ItemArrays, Tables, read_items, read_wanted
from excalibr.tables._ids import codes_in, read_ids, sorted_unique
from excalibr.tables._items import side_by_side
from excalibr.tables._user_targets import aged_weights, read_priors, sum_histories, targets_of_history

DENSE = 4_000_000
"""Up to so many shares are kept as a matrix, 32 MB."""


@dataclass(frozen=True, eq=False)
class Learned:
    """The categories of a dataset's items and the targets of its users.

    Attributes
    ----------
    items
        Shares of categories, by place: items in the order of their ids.
    vocabulary, places
        The dataset's items, and (items,) the place of each item number; a last −1 is for an item that is unknown.
    users, targets, known
        The dataset's users, their targets and (users,) whether they have one, by user number.
    tables, priors
        How histories become targets.
    """

    items: ItemArrays
    vocabulary: Vocabulary
    places: Integers
    users: Vocabulary
    targets: Targets
    known: Booleans
    tables: Tables
    priors: list[Any]

    def places_of(self, items: ItemList) -> Integers:
        """(n,) the place of each item of a list, −1 where the dataset did not have it."""
        return np.asarray(self.places[items.numbers(vocabulary=self.vocabulary, missing="negative")])

    @cached_property
    def _dense(self) -> Floats | None:
        """(items, r) the shares, where they are not many: rows of it are checked in a third of the time."""
        rows = self.items.rows
        return rows.dense() if rows.n_candidates * rows.n_categories <= DENSE else None

    def rows_of(self, places: Integers) -> Floats | Memberships:
        """The shares of items, by their places."""
        return self.items.rows.of(places) if self._dense is None else self._dense[places]

    def target_of(self, user: object, history: ItemList | None, weight: str | None) -> Floats | None:
        """(r,) the target of the history that is given, else the user's own, else the prior; None where none is."""
        if history is not None and self.tables.targets is None:
            return self._target_of_history(history, weight)
        number = None if user is None else self.users.number(user, missing="none")
        if number is None:
            return self._target_of_history(ItemList(), weight) if self.tables.targets is None else self._target(0)
        return self._target(number) if self.known[number] else None

    def _target(self, user: int) -> Floats:
        return self.targets.edges(user)[0]

    def _target_of_history(self, history: ItemList, weight: str | None) -> Floats | None:
        places = self.places_of(history) if len(history) else np.empty(0, dtype=np.int64)
        owners, weights = np.zeros(len(places), dtype=np.int64), _field(history, weight)
        if self.tables.half_life is not None and len(places):
            weights = aged_weights(owners, places, weights, _field(history, "timestamp"), self.tables.half_life)
        sums = sum_histories(owners, places, weights, 1, self.items)
        found = targets_of_history(sums, self.items, self.priors, self.tables.strength)
        if any(missing.all() for _, missing in found):
            return None
        return Targets.side_by_side([own for own, _ in found]).edges(0)[0]


def learn(data: Dataset, config: CalibratedRerankerConfig) -> Learned:
    """Categories and targets of a dataset."""
    items = _read_categories(data, config)
    places = codes_in(read_ids(pa.array(data.items.ids())), items.ids)
    tables = config.tables(_history(data, config)) if config.targets is None else config.tables()
    user_ids = read_ids(pa.array(data.users.ids()))
    users = sorted_unique(user_ids)
    wanted, numbers = read_wanted(users, items, tables), codes_in(user_ids, users)
    if wanted.targets.banded:
        raise InputError("targets", "are bands", "be one share for each category")
    return Learned(
        *(items, data.items, np.append(places, -1), data.users),
        *(wanted.targets.of(numbers), wanted.statuses[numbers] == Status.OK),
        *(config.tables(), read_priors(items, tables)),  # without the history, which is large
    )


def _read_categories(data: Dataset, config: CalibratedRerankerConfig) -> ItemArrays:
    """The shares of one attribute, or of several side by side."""
    if isinstance(config.attribute, str):
        return _read_attribute(data, config.attribute)
    if not config.attribute:
        raise InputError("attribute", "is empty", "name at least one item attribute")
    return side_by_side({name: _read_attribute(data, name) for name in config.attribute})


def _read_attribute(data: Dataset, name: str) -> ItemArrays:
    entities = data.entities("item")
    if name not in entities.attributes:
        hint = f"the dataset has {sorted(entities.attributes)}."
        raise InputError("attribute", f"is {name!r}", "be an attribute of the dataset's items", hint)
    attribute = entities.attribute(name)
    if attribute.is_scalar or attribute.is_list:
        table = pa.table({"item_id": pa.array(attribute.ids()), name: attribute.arrow()})
    else:
        table = _weighted(data, attribute, name)
    return read_items(table, Tables(targets={}, category=name))


def _weighted(data: Dataset, attribute: Any, name: str) -> Any:
    """A row for each item and dimension of a vector, and one without a category for items that have none."""
    matrix, names = attribute.cat_matrix()
    rows, columns = matrix.nonzero()
    labels = [str(number) for number in range(matrix.shape[1])] if names is None else list(map(str, names.ids()))
    ids, weights = attribute.ids()[rows], np.asarray(matrix[rows, columns], dtype=np.float64).ravel()
    missing = np.setdiff1d(data.items.ids(), ids)
    categories = [labels[column] for column in columns] + [None] * len(missing)
    columns_of = {"item_id": np.concatenate([ids, missing]), "weight": np.append(weights, np.ones(len(missing)))}
    return pa.table({**columns_of, name: pa.array(categories, pa.string())})


def _history(data: Dataset, config: CalibratedRerankerConfig) -> Any:
    """The interactions as a history: users, items, and weights and timestamps where they count."""
    interactions = data.interactions(config.interaction_class)
    has = f"the interactions have {interactions.attribute_names}."
    counted = {} if config.weight is None else {"weight": config.weight}
    if not set(counted.values()) <= set(interactions.attribute_names):
        raise InputError("weight", f"is {config.weight!r}", "be an attribute of the interactions", has)
    if config.half_life is not None:
        if "timestamp" not in interactions.attribute_names:
            raise InputError("half_life", "is given", "go with interactions that have a timestamp", has)
        counted["timestamp"] = "timestamp"
    table = interactions.arrow(attributes=list(counted.values()), ids=True)
    columns = {"user_id": table["user_id"], "item_id": table["item_id"]}
    return pa.table(columns | {role: table[name] for role, name in counted.items()})


def _field(history: ItemList, name: str | None) -> Floats:
    """A field of a list as numbers; ones where none is named, nan where the list does not have it."""
    if name is None:
        return np.ones(len(history))
    values = history.field(name)
    return np.full(len(history), np.nan) if values is None else np.asarray(values, dtype=np.float64)
