"""The search for prices of groups, the same wherever the users are: in one batch, in files or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from excalibr._parallel import checked_threads
from excalibr._population import Balanced, BatchCrowd, Mixture, Progress, Terms, balance_crowd
from excalibr._population.limits import conflict_of
from excalibr._population.mixture import EVERY_BLOCK
from excalibr._sparse import SparseRows
from excalibr._types import Floats
from excalibr.errors import InputError, explain
from excalibr.tables._arrow import pa
from excalibr.tables._everyone import GroupTargets, attributes_of, read_start, read_terms, wanted_shares
from excalibr.tables._frames import read_frame
from excalibr.tables._ids import rows_of_users
from excalibr.tables._items import ItemArrays
from excalibr.tables._options import Everyone, Tables
from excalibr.tables._prices import group_rows, price_columns, read_groups
from excalibr.tables._reranker import Reranker, stop_at_bad
from excalibr.tables._summary import Note

__all__ = ["OWN_BLOCKS", "FoundPrices", "PriceSearch", "check_asked", "crowd_of", "join_rows", "sampled_rows"]

OWN_BLOCKS = 20_000
"""Users up to which each is a block."""
MOST_NUMBERS = 1_000_000
"""Blocks × groups that a pass keeps of more users."""


@dataclass(frozen=True, eq=False)
class PriceSearch:
    """What is asked of everybody: the groups, terms and targets of their shares, first prices and what to warn of."""

    asked: Everyone
    groups: ItemArrays
    labels: list[tuple[str, str]]
    terms: Terms
    targets: GroupTargets
    start: Floats | None
    notes: list[Note]

    @classmethod
    def of(cls, asked: Everyone, items: Any, options: Tables) -> PriceSearch:
        """The search for what is asked of the groups of a table of items."""
        shares = wanted_shares(asked, options)
        groups = read_groups(items, attributes_of(asked, shares), options)
        terms, targets = read_terms(asked, shares, groups, options)
        return cls(asked, groups, groups.labels, terms, targets, *read_start(asked, groups.labels, terms))

    @cached_property
    def rows(self) -> SparseRows:
        """(items, G) each item's share of each group."""
        return group_rows(self.groups)

    def n_blocks(self, users: int) -> int:
        """How many blocks of users there can be: one a user, or as many as a pass can be kept for."""
        most = MOST_NUMBERS // max(self.terms.n_groups, 1)
        return EVERY_BLOCK if users <= OWN_BLOCKS else int(np.clip(most, 64, 16_384))

    def run(self, crowd: Any, n_blocks: int, tell: Callable[[Progress], None] = lambda _: None) -> FoundPrices:
        """Search; where the best mixture does not keep the limits, an error names those that conflict."""
        tolerance, most = self.asked.everyone_tolerance, self.asked.max_passes
        found = balance_crowd(crowd, self.terms, tolerance=tolerance, max_passes=most, start=self.start, tell=tell)
        conflict = conflict_of(crowd, found, tolerance)
        if conflict is not None:
            raise conflict.error(self.labels)
        return FoundPrices(self.labels, self.targets, found, _mixture(found, n_blocks))


@dataclass(frozen=True, eq=False)
class FoundPrices:
    """The groups, what was wanted of them, what was found, and who draws which pass."""

    labels: list[tuple[str, str]]
    targets: GroupTargets
    found: Balanced
    mixture: Mixture

    @property
    def table(self) -> dict[str, Any]:
        """The columns of a table of prices."""
        return price_columns(self.labels, self.mixture)

    def summary(self, before: Floats) -> dict[str, Any]:
        """A row a group: its price, what it has without (``before``) and with prices, and what it should have."""
        return {
            "attribute": [attribute for attribute, _ in self.labels],
            "category": [category for _, category in self.labels],
            "price": self.mixture.probabilities @ self.mixture.prices,
            "share_before": before,
            "share_after": self.found.mixed.shares,
            "low": self.targets.least,
            "high": self.targets.most,
        }


def _mixture(found: Balanced, n_blocks: int) -> Mixture:
    """The passes that are drawn, with the probabilities of every block that draws otherwise than all together."""
    weights = found.mixed.weights
    total = found.passes[0].weights
    used = np.flatnonzero((weights > 0).any(axis=1))
    prices = np.array([found.passes[number].prices for number in used])
    mean = weights[used] @ (total / total.sum())
    return Mixture(prices, mean / mean.sum(), n_blocks, found.passes[0].blocks, weights[used])


def check_asked(reranker: Reranker, options: Tables) -> None:
    """Refuse what has no bound, and what prices would change the meaning of."""
    if reranker.method != "excalibr":
        raise InputError(explain("method", f"is {reranker.method!r}", "be 'excalibr': the others prove no bound"))
    for name in ("relevance_loss", "max_deviation"):
        if getattr(reranker, name) is not None:
            raise InputError(explain(name, "is given", "be left out of a balance", "give a trade_off instead."))
    if options.prices is not None:
        raise InputError(explain("prices", "are given", "be left out of a balance", "start= takes earlier prices."))


def crowd_of(
    reranker: Reranker, candidates: Any, items: ItemArrays, options: Tables, groups: SparseRows, **how: Any
) -> BatchCrowd:
    """The users of some candidates, to be asked what they would be shown; ``how`` is as :class:`BatchCrowd` has it."""
    given, _, batch = reranker.read(candidates, items, options)
    stop_at_bad(reranker, batch, given)
    how |= {"fall_back": reranker.fallback == "relevance", "threads": checked_threads(reranker.threads)}
    return BatchCrowd(batch, given.keys(), groups, _weights(given.users, options), **how)


def _weights(users: Any, options: Tables) -> Floats:
    """(users,) how much each counts: a column ``weight`` of the users table, 1 without."""
    weights = np.ones(len(users))
    frame = None if options.users is None else read_frame(options.users, "users")
    name = None if frame is None else options.find("weight", "users", frame.columns)
    if frame is None or name is None:
        return weights
    given = frame.numbers(name, "weight")
    if not ((given >= 0) & np.isfinite(given) | np.isnan(given)).all():
        raise InputError(explain(f"column {name!r} of users", "has a negative or infinite number", "be at least 0"))
    places = options.read_places(frame, "user_id", users, "candidates")
    known = (places >= 0) & ~np.isnan(given)
    weights[places[known]] = given[known]
    if not weights.any():
        raise InputError(explain(f"column {name!r} of users", "is 0 for everybody", "be above 0 for somebody"))
    return weights


def sampled_rows(
    crowd: BatchCrowd, share: float, tables: Mapping[str, Any], user_ids: Mapping[str, str]
) -> dict[str, Any]:
    """The rows of a share of a crowd's users, of every table by user; ``user_ids`` names their columns of users."""
    drawn = np.flatnonzero(crowd.draws() < share * EVERY_BLOCK).tolist()
    keys = [crowd.keys[user] for user in drawn]
    return {name: rows_of_users(table, user_ids[name], keys) for name, table in tables.items()}


def join_rows(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of all parts, of every table, in their order."""
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
