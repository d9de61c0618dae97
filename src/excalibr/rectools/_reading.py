"""Categories of items and histories of users from a RecTools ``Dataset``, as the tables that ``Reranker`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rectools import Columns
from rectools.dataset import Dataset, SparseFeatures

from excalibr.errors import InputError
from excalibr.tables import ItemArrays, Tables, read_items
from excalibr.tables._frames import read_frame


def items_of(source: Any, feature: str | Sequence[str]) -> ItemArrays:
    """The categories of a dataset's items by one feature or several, or of an items table by its columns."""
    options = Tables(targets={}, category=feature)
    if isinstance(source, Dataset):
        single = isinstance(feature, str)
        source = _weighted(source, str(feature)) if single else _listed(source, list(feature))
    else:
        _check_columns(source, [feature] if isinstance(feature, str) else feature)
    return read_items(source, options)


def history_of(dataset: Dataset, users: Any, *, weighted: bool, dated: bool) -> pd.DataFrame:
    """The interactions of some users, with their weights and dates where these count."""
    past, known = dataset.interactions.df, dataset.user_id_map.convert_to_internal(users, strict=False)
    wanted = np.zeros(dataset.user_id_map.size, dtype=np.bool_)
    wanted[known] = True
    own = past[wanted[past[Columns.User].to_numpy()]]
    columns = {
        Columns.User: dataset.user_id_map.external_ids[own[Columns.User].to_numpy()],
        Columns.Item: dataset.item_id_map.external_ids[own[Columns.Item].to_numpy()],
    }
    counted = [*([Columns.Weight] if weighted else []), *([Columns.Datetime] if dated else [])]
    return pd.DataFrame(columns | {name: own[name].to_numpy() for name in counted})


def _check_columns(table: Any, features: Sequence[str]) -> None:
    """The features must be columns of a table of items."""
    columns = read_frame(table, "items").columns
    for name in features:
        if name not in columns:
            raise InputError("feature", f"is {name!r}", "be a column of items", f"columns are {columns}.")


def _weighted(dataset: Dataset, feature: str) -> pd.DataFrame:
    """A row for each item and category, with how often it has it; items without have a row with none."""
    rows, labels, weights = _pairs(dataset, feature)
    ids = dataset.item_id_map.external_ids
    without = np.setdiff1d(np.arange(len(ids)), rows)
    categories = [*labels, *([None] * len(without))]
    known = {Columns.Item: ids[np.concatenate([rows, without])], feature: pd.Series(categories, dtype=object)}
    return pd.DataFrame({**known, "weight": np.append(weights, np.ones(len(without)))})


def _listed(dataset: Dataset, features: list[str]) -> pd.DataFrame:
    """One row per item with the list of its categories in each feature."""
    ids = dataset.item_id_map.external_ids
    columns: dict[str, Any] = {Columns.Item: ids}
    for feature in features:
        lists: list[list[str]] = [[] for _ in ids]
        for row, label, _ in zip(*_pairs(dataset, feature), strict=True):
            lists[row].append(label)
        columns[feature] = lists
    return pd.DataFrame(columns)


def _pairs(dataset: Dataset, feature: str) -> tuple[Any, list[str], Any]:
    """Item number, label and weight of each category that an item has in a feature."""
    features = dataset.item_features
    named = dict(enumerate(features.names)) if isinstance(features, SparseFeatures) else {}
    named = {number: named[number] for number in named if features.cat_col_mask[number]}
    columns = [number for number, (name, _) in named.items() if name == feature]
    if not columns:
        known = sorted({str(name) for name, _ in named.values()})
        hint = f"the dataset has {known}." if known else "pass a table with categories: items=table."
        raise InputError("feature", f"is {feature!r}", "be a categorical item feature of the dataset", hint)
    matrix = features.values[:, columns].tocoo()
    labels = [str(named[number][1]) for number in columns]
    there = matrix.data > 0
    return matrix.row[there], [labels[column] for column in matrix.col[there]], matrix.data[there].astype(np.float64)
