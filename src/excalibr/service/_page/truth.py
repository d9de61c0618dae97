"""What users went on to like: held-out items among their candidates, and NDCG and recall of many lotteries at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr._arrays import sums_by
from excalibr._types import Booleans, Floats, Integers
from excalibr.tables import CandidateArrays, ItemArrays, Tables
from excalibr.tables._frames import read_frame
from excalibr.tables._ids import codes_in, matched


@dataclass(frozen=True, eq=False)
class Truth:
    """Held-out items.

    Attributes
    ----------
    relevant
        (N,) which candidates were held out.
    totals
        (users,) how many items were held out for each user, whether or not they are candidates.
    """

    relevant: Booleans
    totals: Integers

    def ndcg_and_recall(
        self, users: Integers, owners: Integers, slots: Integers, ranks: Integers, hits: Booleans, weights: Floats
    ) -> tuple[Floats, Floats]:
        """(users,) each: :func:`excalibr.metrics.ndcg` and :func:`excalibr.metrics.recall`, nan for nothing held out.

        ``users`` are numbers in the tables with ``slots`` each. The other arrays have an entry for each place of each
        ranking: whose it is (a number within ``users``), its rank from 0, whether it was held out, and the probability
        of its ranking.
        """
        most = int(slots.max(initial=1))
        discounts = 1.0 / np.log2(np.arange(2.0, most + 2.0))
        found = np.minimum(slots, self.totals[users])
        gains = sums_by(owners, np.where(hits, weights * discounts[ranks], 0.0), len(users))
        counts = sums_by(owners, np.where(hits, weights, 0.0), len(users))
        with np.errstate(invalid="ignore", divide="ignore"):
            ideal = np.concatenate(([0.0], np.cumsum(discounts)))[found]
            return np.where(found > 0, gains / ideal, np.nan), np.where(found > 0, counts / found, np.nan)


def read_truth(table: Any, given: CandidateArrays, items: ItemArrays, options: Tables) -> Truth:
    """From a table with a row for each user and held-out item; one that is not in the items table still counts."""
    frame = read_frame(table, "truth")
    users = codes_in(*matched(options.read_ids(frame, "user_id"), given.users, "user_id", ("truth", "candidates")))
    item_ids, known_ids = matched(options.read_ids(frame, "item_id"), items.ids, "item_id", ("truth", "items"))
    places = codes_in(item_ids, known_ids)
    known = users >= 0
    different = item_ids.unique()
    codes = codes_in(item_ids, different)
    pairs = np.unique(users[known] * len(different) + codes[known])
    totals = np.bincount(pairs // max(len(different), 1), minlength=len(given.users))
    both, width = known & (places >= 0), len(items.ids)
    owners = np.repeat(np.arange(len(given.users)), np.diff(given.starts))
    relevant = np.isin(owners * width + given.items, users[both] * width + places[both])
    return Truth(relevant, totals)
