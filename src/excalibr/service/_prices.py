"""Prices of groups of items in a profile: a request's lottery as ``Reranker.rerank(prices=…)`` mixes it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from excalibr._arrays import frozen
from excalibr._policy import Policy
from excalibr._population import Mixture, solve_mixed
from excalibr._problem import Batch, Problem
from excalibr._types import Floats, Integers
from excalibr.tables import ItemArrays
from excalibr.tables._prices import GroupPrices


@dataclass(frozen=True, eq=False)
class ItemPrices:
    """What a unit of exposure of each item costs in each pass, and who draws which pass.

    Attributes
    ----------
    by_pass
        (passes, items) prices in the order of the items table.
    mixture
        The probabilities of the passes by user.
    """

    by_pass: Floats
    mixture: Mixture

    @classmethod
    def of(cls, prices: GroupPrices, groups: ItemArrays) -> ItemPrices:
        """The prices of the groups that the items belong to."""
        return cls(prices.item_prices(groups), prices.mixture)

    def solve(self, batch: Batch, places: Integers, user: Hashable) -> Policy:
        """The lottery of a batch of one, mixed from the passes that the user draws; an error where there is none.

        ``places`` has the row in the items table of each row of the batch, −1 for items that only the request knows,
        which cost nothing. Somebody who is not named draws the passes as all users together do.
        """
        of_rows = np.where(places >= 0, self.by_pass[:, np.maximum(places, 0)], 0.0)
        chances = self.mixture.probabilities[:, None] if user is None else self.mixture.probabilities_of([user])
        (found,) = solve_mixed(batch, of_rows, chances, lambda lotteries: lotteries)
        if found.errors:
            raise found.errors[0]
        priced = batch.with_item_prices(of_rows[int(chances[:, 0].argmax())])
        problem = Problem(priced, 0, float(found.trade_offs[0]))
        rankings = found.places.reshape(len(found.weights), -1)
        weights, prices = frozen(found.weights), frozen(found.prices[0])
        return Policy._solved(problem, frozen(rankings), weights, float(found.gaps[0]), prices)
