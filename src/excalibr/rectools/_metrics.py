"""How far recommendations are from users' histories in their categories, as a metric for ``calc_metrics``."""

from __future__ import annotations

from typing import Any

import attr
import numpy as np
import pandas as pd
from rectools import Columns
from rectools.metrics import AvgRecPopularity

from excalibr._arrays import sums_by
from excalibr._options import one_of
from excalibr._problem import Memberships, Status
from excalibr._types import Floats, Integers
from excalibr.errors import InputError
from excalibr.metrics import DIVERGENCES
from excalibr.positions import position_weights as weigh_positions
from excalibr.rectools._reading import items_of
from excalibr.tables import Tables, read_wanted
from excalibr.tables._ids import codes_in, matched, read_ids, sorted_unique

_with_fields = attr.s(auto_attribs=True)  # by another name: mypy knows attr.s, but not the fields of RecTools' class


@_with_fields
class CalibrationError(AvgRecPopularity):  # type: ignore[misc]
    """The divergence of what is shown from what the user had before: ``calc_metrics(…, prev_interactions=…)``.

    ``calc_metrics`` only knows RecTools' own kinds of metrics; this one is of the kind that is given the earlier
    interactions, which has no other meaning here.

    Parameters
    ----------
    k
        How many recommendations count.
    items
        The dataset whose item features have the categories, or a table of items and categories.
    feature
        The feature, or the table's column.
    divergence
        "kl" (natural logarithm, smoothed by 0.01), "l1", "hellinger" or "jensen_shannon".
    position_weights
        The attention of each slot: "log", "sqrt", "reciprocal" or "uniform".
    weighted
        Whether earlier interactions count by their weight, or all alike.
    """

    normalize: bool = attr.ib(default=False, init=False)
    items: Any = attr.ib(default=None, repr=False, eq=False)
    feature: str = "genre"
    divergence: str = "kl"
    position_weights: str = "log"
    weighted: bool = False

    def __attrs_post_init__(self) -> None:
        one_of(DIVERGENCES)("divergence", self.divergence)
        weigh_positions(self.position_weights, self.k)
        self._known = items_of(self.items, self.feature)

    def calc(self, reco: pd.DataFrame, prev_interactions: pd.DataFrame) -> float:
        """The mean over users who have a history."""
        return float(self.calc_per_user(reco, prev_interactions).mean())

    def calc_per_user(self, reco: pd.DataFrame, prev_interactions: pd.DataFrame) -> pd.Series:
        """By user; nan for users without a history, or with no item that has a category."""
        self._check(reco, prev_interactions=prev_interactions)
        ranks = reco[Columns.Rank].to_numpy()
        if not ((ranks >= 1) & (ranks == np.floor(ranks))).all():
            raise InputError("column 'rank' of reco", "has a value that is no rank", "count slots from 1")
        shown = reco[ranks <= self.k]
        ids = read_ids(_column(shown, Columns.User))
        users = sorted_unique(ids)
        columns = [Columns.User, Columns.Item, *([Columns.Weight] if self.weighted else [])]
        if Columns.Weight in columns and Columns.Weight not in prev_interactions:
            raise InputError("prev_interactions", "have no column 'weight'", "have one", "or leave out weighted=True.")
        wanted = read_wanted(users, self._known, Tables(history=prev_interactions[columns], category=self.feature))
        shares, seen = self._shares(shown, codes_in(ids, users), len(users))
        known = (wanted.statuses == Status.OK) & (seen > 0)
        values = np.full(len(users), np.nan)
        for user in np.flatnonzero(known).tolist():
            shown_to_user = shares.row(user) / seen[user]
            values[user] = DIVERGENCES[self.divergence](shown_to_user, wanted.targets.edges(user)[0])
        return pd.Series(values, index=users.to_pandas().to_numpy())

    def _shares(self, shown: pd.DataFrame, owners: Integers, users: int) -> tuple[Memberships, Floats]:
        """Users × r what each user is shown, by attention; and (users,) the attention on items that are known."""
        ids = read_ids(_column(shown, Columns.Item))
        places = codes_in(*matched(ids, self._known.ids, "item_id", ("reco", "items")))
        weights = weigh_positions(self.position_weights, self.k)[shown[Columns.Rank].to_numpy().astype(np.int64) - 1]
        there = np.argsort(owners, kind="stable")
        there = there[places[there] >= 0]
        shares = self._known.rows.sums(places[there], owners[there], weights[there], users)
        return shares, sums_by(owners[there], weights[there], users)


def _column(table: pd.DataFrame, name: str) -> Any:
    import pyarrow as pa

    return pa.array(table[name])
