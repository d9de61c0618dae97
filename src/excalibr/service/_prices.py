"""Prices of groups of items in a profile: a request's lottery as ``Reranker.rerank(prices=…)`` mixes it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from excalibr._arrays import frozen
from excalibr._many_users import Solver
from excalibr._policy import Policy, SolveInfo
from excalibr._population import Mixture, mixed_solver
from excalibr._problem import Batch, Problem
from excalibr._solver import ENGINES, STATUSES
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

    def solver(self, batch: Batch, places: Integers, users: Sequence[Hashable]) -> Solver:
        """What solves ranges of a batch, each user's lottery mixed from the passes that the user draws.

        ``places`` has the row in the items table of each row of the batch, −1 for items that only the request knows,
        which cost nothing.
        """
        return mixed_solver(batch, self._of_rows(places), self.mixture.probabilities_of(users))

    def solve(self, batch: Batch, places: Integers, user: Hashable) -> Policy:
        """The lottery of a batch of one, as of :meth:`solver`; an error where there is none.

        Somebody who is not named draws the passes as all users together do.
        """
        of_rows = self._of_rows(places)
        chances = self.mixture.probabilities[:, None] if user is None else self.mixture.probabilities_of([user])
        found = mixed_solver(batch, of_rows, chances).solve(0, 1)
        if found.errors:
            raise found.errors[0]
        priced = batch.with_item_prices(of_rows[int(chances[:, 0].argmax())])
        problem = Problem(priced, 0, float(found.trade_offs[0]))
        rankings = found.places.reshape(len(found.weights), -1)
        prices = (found.price_categories, found.prices)
        engine, sorts, steps, status = (int(column[0]) for column in found.effort)
        info = SolveInfo(ENGINES[engine], sorts, steps, STATUSES[status], nan, inf)
        return Policy._solved(problem, frozen(rankings), frozen(found.weights), float(found.gaps[0]), prices, info)

    def _of_rows(self, places: Integers) -> Floats:
        return np.asarray(np.where(places >= 0, self.by_pass[:, np.maximum(places, 0)], 0.0))
