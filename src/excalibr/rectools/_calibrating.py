"""Tables of recommendations calibrated with what a dataset says: what the second stage and models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rectools import Columns
from rectools.dataset import Dataset

from excalibr._options import read_options
from excalibr.errors import InputError
from excalibr.rectools._reading import history_of, items_of
from excalibr.tables import ItemArrays, Reranker, Tables

FOR_TARGETS = ("targets", "prior", "strength", "half_life")
"""Options that say where targets come from; without ``targets`` the history is the dataset's interactions."""


class Calibrating:
    """Re-ranks tables of RecTools, with categories and histories from its datasets.

    Parameters
    ----------
    feature
        The categorical item feature of the dataset that has the categories, or several; or columns of ``items``.
    items
        A table of items and categories, as for :meth:`excalibr.Reranker.rerank`, in place of the dataset's features.
    weighted
        Whether interactions count by their weight, or all alike.
    options
        Those of :class:`excalibr.Reranker` but ``k``, and ``targets``, ``prior``, ``strength``, ``half_life``.
    """

    def __init__(self, feature: str | Sequence[str], items: Any, weighted: bool, options: dict[str, Any]) -> None:
        self.feature, self.items, self.weighted = feature, items, weighted
        self._tables = {name: options[name] for name in FOR_TARGETS if name in options}
        self._ranking = {name: value for name, value in options.items() if name not in FOR_TARGETS}
        if "k" in options:
            raise InputError("k", f"is {options['k']!r} here", "be given to recommend")
        if "history" in options:
            raise InputError("history", "is given", "be left out", "it is the interactions of the dataset.")
        if not feature:
            raise InputError("feature", "is empty", "name at least one item feature")
        read_options(Reranker, self._ranking, FOR_TARGETS)
        read_options(Tables, {"history": () if "targets" not in options else None, **self._tables})
        self._known: tuple[Any, ItemArrays] | None = None

    def rerank(self, reco: pd.DataFrame, dataset: Dataset, k: int, *, add_rank_col: bool = True) -> pd.DataFrame:
        """The calibrated slates of all users of a table, in its order of users."""
        slates = Reranker(k=k, **self._ranking).rerank(
            reco[[Columns.User, Columns.Item, Columns.Score]],
            self._items_of(dataset),
            category=self.feature,
            timestamp=Columns.Datetime,
            **self._history(reco, dataset),
            **self._tables,
        )
        first = pd.Series(np.arange(len(reco)), index=reco[Columns.User].to_numpy())
        first = first[~first.index.duplicated()]
        order = np.argsort(first[slates[Columns.User]].to_numpy(), kind="stable")
        columns = [Columns.User, Columns.Item, Columns.Score, *([Columns.Rank] if add_rank_col else [])]
        return slates.iloc[order].reset_index(drop=True)[columns]

    def __getstate__(self) -> dict[str, Any]:
        """All but what was read from the last dataset, which is large and read again at need."""
        return {**vars(self), "_known": None}

    def _history(self, reco: pd.DataFrame, dataset: Dataset) -> dict[str, Any]:
        if "targets" in self._tables:
            return {}
        dated = self._tables.get("half_life") is not None
        return {"history": history_of(dataset, reco[Columns.User].unique(), weighted=self.weighted, dated=dated)}

    def _items_of(self, dataset: Dataset) -> ItemArrays:
        """The items, read once for each dataset."""
        source = dataset if self.items is None else self.items
        if self._known is None or self._known[0] is not source:
            self._known = (source, items_of(source, self.feature))
        return self._known[1]
