"""What is asked of everybody together, and the search for prices of groups that gives it.

The search is the same wherever the users are: in one batch, in files or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from excalibr._arrays import is_real
from excalibr._messages import Message, Option
from excalibr._parallel import checked_threads
from excalibr._population import (
    BalanceSolution,
    BatchPopulation,
    CouplingTerms,
    Mixture,
    Progress,
    balance_population,
    join_terms,
    limit_terms,
    target_terms,
)
from excalibr._population.infeasibility import find_conflict
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._problem import AttributeSpan
from excalibr._sparse import SparseRows
from excalibr._types import Floats
from excalibr.errors import GapWarning, InputError, TableWarning, explain, unknown_name
from excalibr.tables._arrow import pa, pc
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._ids import by_label, read_ids
from excalibr.tables._items import ItemArrays, weights_in
from excalibr.tables._options import Everyone, Tables
from excalibr.tables._prices import SUM_TOLERANCE, price_columns, read_groups, read_prices
from excalibr.tables._reranker import Reranker, stop_at_bad
from excalibr.tables._shares import labels_in, shares_by_attribute
from excalibr.tables._summary import Note
from excalibr.tables._user_targets import owners_of, smallest_by_user

OWN_BLOCKS = 20_000
"""Users up to which each is a block."""
LARGEST_COST = 1e12
"""Of a unit of deviation, in units of the mean spread of the scores or of 1: beyond it doubles have too few digits."""
MOST_NUMBERS = 1_000_000
"""Blocks × groups that a pass keeps of more users."""


@dataclass(frozen=True, eq=False)
class PriceSearch:
    """What is asked of everybody: the groups, terms and targets of their shares, first prices and what to warn of."""

    asked: Everyone
    groups: ItemArrays
    terms: CouplingTerms
    least: Floats  # (G,) asked of each group's share, by target or limit; nan where nothing is, as in ``most``
    most: Floats
    start: Floats | None
    notes: list[Note]

    @classmethod
    def of(cls, asked: Everyone, items: Any, options: Tables) -> PriceSearch:
        """The search for what is asked of the groups of a table of items."""
        shares = {} if asked.everyone is None else shares_by_attribute(asked.everyone, "everyone", options)
        limited = (str(name) for given in (asked.everyone_floors, asked.everyone_caps) for name in given or ())
        groups = read_groups(items, list(dict.fromkeys([*shares, *limited])), options)
        terms, least, most = _read_terms(asked, shares, groups, options)
        return cls(asked, groups, terms, least, most, *_read_start(asked, groups.labels, terms))

    @cached_property
    def rows(self) -> SparseRows:
        """(items, G) each item's share of each group."""
        return self.groups.rows.sparse()

    def n_blocks(self, users: int) -> int:
        """How many blocks of users there can be: one per user, or as many as a pass can be kept for."""
        most = MOST_NUMBERS // max(self.terms.n_groups, 1)
        return BLOCK_PER_USER if users <= OWN_BLOCKS else int(np.clip(most, 64, 16_384))

    def run(self, population: Any, n_blocks: int, on_pass: Callable[[Progress], None] = lambda _: None) -> FoundPrices:
        """Search; where the best mixture does not keep the limits, an error names those that conflict."""
        if population.users and not population.scale.weights:  # of all users: in a part of them nobody may count
            raise InputError("users", "have the weight 0, all of them", "have a weight above 0 for somebody")
        self._check_weights(population.spread)
        tolerance, most = self.asked.everyone_tolerance, self.asked.max_passes
        found = balance_population(
            population, self.terms, tolerance=tolerance, max_passes=most, start=self.start, on_pass=on_pass
        )
        conflict = find_conflict(population, found, tolerance)
        if conflict is not None:
            raise conflict.error(self.groups.labels)
        mixture = _mixture(found, n_blocks)
        return FoundPrices(self.groups.labels, self.least, self.most, found, mixture, self._early_stop(found))

    def _check_weights(self, spread: float) -> None:
        """Refuse weights beside which the users' own objectives are no more than rounding."""
        largest, most = float(self.terms.highest[~self.terms.hard].max(initial=0.0)), LARGEST_COST * max(spread, 1.0)
        if largest > most:
            relative = ", relative to its target," * self.asked.everyone_relative
            found = f"make a unit of deviation{relative} cost {largest:.3g}"
            hint = Message(Option("everyone_floors"), " and ", Option("everyone_caps"), " are kept at any cost.")
            raise InputError("everyone_weights", found, f"make it cost at most {most:.3g} with these scores", hint)

    def _early_stop(self, found: BalanceSolution) -> list[Note]:
        """What to warn of where the search ended before its tolerance."""
        gap, wanted, after = found.relative_gap, self.asked.everyone_tolerance, found.passes_text
        if gap <= wanted:
            return []
        text = f"stopped after {after} at a gap of {gap:.2g}, not {wanted:g}. Hint: raise "
        return [Note(GapWarning, Message(text, Option("max_passes"), "."))]


@dataclass(frozen=True, eq=False)
class FoundPrices:
    """The groups, what was wanted of them, what was found, who draws which pass, and what to warn of."""

    labels: list[tuple[str, str]]
    least: Floats
    most: Floats
    found: BalanceSolution
    mixture: Mixture
    notes: list[Note]

    @property
    def table(self) -> dict[str, Any]:
        """The columns of a table of prices."""
        return price_columns(self.labels, self.mixture)

    def summary(self, before: Floats) -> dict[str, Any]:
        """One row per group: its price, what it has without (``before``) and with prices, and what it should have."""
        return {
            "attribute": [attribute for attribute, _ in self.labels],
            "category": [category for _, category in self.labels],
            "price": self.mixture.probabilities @ self.mixture.prices,
            "share_before": before,
            "share_after": self.found.primal.shares,
            "low": self.least,
            "high": self.most,
        }


def _mixture(found: BalanceSolution, n_blocks: int) -> Mixture:
    """The passes that are drawn, with the probabilities of every block that draws otherwise than all together."""
    weights = found.primal.weights
    total = found.passes[0].weights
    used = np.flatnonzero((weights > 0).any(axis=1))
    prices = np.array([found.passes[number].prices for number in used])
    mean = weights[used] @ (total / total.sum())
    return Mixture(prices, mean / mean.sum(), n_blocks, found.passes[0].blocks, weights[used])


def check_asked(reranker: Reranker, options: Tables) -> None:
    """Refuse what has no bound, and what prices would change the meaning of."""
    if reranker.method != "excalibr":
        raise InputError("method", f"is {reranker.method!r}", "be 'excalibr': the others prove no bound")
    for name in ("relevance_loss", "max_deviation"):
        if getattr(reranker, name) is not None:
            hint = Message("give ", Option("trade_off"), " instead.")
            raise InputError(name, "is given", "be left out of a balance", hint)
    if options.prices is not None:
        hint = Message(Option("start", ...), " takes earlier prices.")
        raise InputError("prices", "are given", "be left out of a balance", hint)


def population_of(
    reranker: Reranker, candidates: Any, items: ItemArrays, options: Tables, groups: SparseRows, **how: Any
) -> BatchPopulation:
    """The users of some candidates, to be asked what they would be shown; ``how`` as for :class:`BatchPopulation`."""
    given, _, batch = reranker.read(candidates, items, options)
    stop_at_bad(reranker, given, items, batch.statuses, batch.reasons)
    how |= {"fall_back": reranker.fallback == "relevance", "threads": checked_threads(reranker.threads)}
    return BatchPopulation(batch, given.keys(), groups, _weights(given.users, options), **how)


def _weights(users: Any, options: Tables) -> Floats:
    """(users,) how much each counts: a column ``weight`` of the users table, 1 without."""
    if options.users is None:
        return np.ones(len(users))
    frame = read_frame(options.users, "users")
    own = smallest_by_user(owners_of(users, frame, options), weights_in(frame, options), len(users))
    return np.where(np.isnan(own), 1.0, own)


def sampled_rows(
    population: BatchPopulation, share: float, tables: Mapping[str, Any], user_ids: Mapping[str, str]
) -> dict[str, Any]:
    """The rows of a share of the users, of every table by user; ``user_ids`` names their columns of users."""
    drawn = np.flatnonzero(population.user_hashes() < share * BLOCK_PER_USER).tolist()
    keys = [population.keys[user] for user in drawn]
    ids = {name: read_ids(table.column(user_ids[name])) for name, table in tables.items()}
    return {name: table.filter(pc.is_in(ids[name], pa.array(keys, ids[name].type))) for name, table in tables.items()}


def join_rows(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of all parts, of every table, in their order."""
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


def _read_terms(
    asked: Everyone, shares: Mapping[str, Frame], groups: ItemArrays, options: Tables
) -> tuple[CouplingTerms, Floats, Floats]:
    """The terms of all groups, and (G,) the least and the most that is asked of each, nan where nothing is."""
    count, weights = len(groups.categories), asked.everyone_weights
    if weights is not None and not shares:
        raise InputError("everyone_weights", "is given without everyone", "go with wanted shares")
    for name in weights if isinstance(weights, Mapping) else ():
        if str(name) not in shares:
            raise unknown_name("everyone_weights", str(name), shares)
    lows, highs = np.full(count, np.nan), np.full(count, np.nan)
    terms = []
    for part in groups.parts:
        if part.name in shares:
            labels = groups.categories[part.columns].to_pylist()
            low, high = _edges(shares[part.name], part.name, labels, options)
            lows[part.columns], highs[part.columns] = low, high
            terms.append(_target_terms(asked, part, low, high, count))
    floors = _limits("everyone_floors", asked.everyone_floors, groups)
    caps = _limits("everyone_caps", asked.everyone_caps, groups)
    for limits, sign in ((floors, -1.0), (caps, 1.0)):
        there = np.flatnonzero(np.isfinite(limits))
        if len(there):
            terms.append(limit_terms(there, limits[there], sign, count))
    if (floors > caps).any():
        at = int(np.argmax(floors > caps))
        found = f"of {groups.categories[at].as_py()!r} is {floors[at]:g}, above its cap {caps[at]:g}"
        raise InputError("everyone_floors", found, "be no more than the cap")
    return join_terms(terms), np.fmax(lows, floors), np.fmin(highs, caps)


def _read_start(
    asked: Everyone, labels: list[tuple[str, str]], terms: CouplingTerms
) -> tuple[Floats | None, list[Note]]:
    """Prices of the terms to begin with, from an earlier table of prices, and what to warn of; None without a table.

    Each group's price goes to its first term that takes it; groups that the table does not have begin at 0.
    """
    if asked.start is None:
        return None, []
    prices = read_prices(asked.start, "start")
    by_group = dict(zip(prices.groups, prices.mixture.probabilities @ prices.mixture.prices, strict=True))
    notes = _other_groups(prices.groups, labels)
    left = np.array([by_group.get(label, 0.0) for label in labels])
    start = np.zeros(len(terms))
    for term, group in enumerate(terms.groups.tolist()):
        own = float(np.clip(terms.signs[term] * left[group], terms.lowest[term], terms.highest[term]))
        start[term] = own
        left[group] -= terms.signs[term] * own
    return start, notes


def _other_groups(given: list[tuple[str, str]], labels: list[tuple[str, str]]) -> list[Note]:
    """An error where no price is of a group of this balance, a note where some are not."""
    others = sorted(set(given) - set(labels))
    if not others:
        return []
    attribute, category = others[0]
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    must = f"be of groups of this balance, such as {labels[0][1]!r} of {labels[0][0]!r}"
    if len(others) == len(set(given)):
        found = f"has prices of {category!r} of {attribute!r}{more}, all of them unknown here"
        raise InputError("start", found, must, "leave it out to begin without prices.")
    unused = f"has prices of {category!r} of {attribute!r}{more}, which are not used"
    return [Note(TableWarning, explain("start", unused, must))]


def _target_terms(asked: Everyone, part: AttributeSpan, low: Floats, high: Floats, count: int) -> CouplingTerms:
    """The targets or bands of one attribute; a group that a band does not name is free."""
    there = np.flatnonzero(np.isfinite(low))
    given = asked.everyone_weights
    weight = given.get(part.name, 1.0) if isinstance(given, Mapping) else 1.0 if given is None else given
    if not (is_real(weight) and 0.0 <= weight < np.inf):
        raise InputError("everyone_weights", f"has {weight!r} for {part.name!r}", "be numbers of at least 0")
    weights = np.full(len(there), float(weight))
    if asked.everyone_relative:
        middle = 0.5 * (low + high)[there]
        weights = weights / np.where(middle > 0, middle, middle[middle > 0].min(initial=1.0))
    return target_terms(there + part.start, low[there], high[there], weights, count)


def _edges(frame: Frame, attribute: str, labels: list[str], options: Tables) -> tuple[Floats, Floats]:
    """(groups,) the least and the most wanted, nan where nothing is said; of targets that are no bands all is said."""
    what, columns = frame.name, frame.columns
    band = [options.find(edge, what, columns) for edge in ("low", "high")]
    named = band if None not in band else [options.column("weight", what, columns)] * 2
    lows, highs = (frame.numbers(str(name), "weight").tolist() for name in named)
    numbers = {label: number for number, label in enumerate(labels)}
    low, high = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    for label, least, most in zip(labels_in(frame, attribute, options).to_pylist(), lows, highs, strict=True):
        if label not in numbers:
            raise unknown_name(what, label, labels)
        if not np.isnan(low[numbers[label]]):
            raise InputError(what, f"has {label!r} twice", "have each group once")
        if not (0.0 <= least <= 1.0 and 0.0 <= most <= 1.0):
            shares = f"{least:g} to {most:g}" if None not in band else f"{least:g}"
            raise InputError(what, f"has {shares} for {label!r}", "have shares from 0 to 1")
        if least > most:
            raise InputError(what, f"has low {least:g} and high {most:g} of {label!r}", "have low ≤ high")
        low[numbers[label]], high[numbers[label]] = least, most
    if np.array_equal(np.nan_to_num(low), np.nan_to_num(high)):
        low = high = np.nan_to_num(low)
        if abs(low.sum() - 1.0) > SUM_TOLERANCE:
            raise InputError(what, f"sums to {low.sum():g}", "sum to 1", "divide the weights by their sum.")
    return low, high


def _limits(option_name: str, given: Any, groups: ItemArrays) -> Floats:
    """(G,) floors or caps, which are given by attribute and group; nan where there is none."""
    found = np.full(len(groups.labels), np.nan)
    for attribute, own in (given or {}).items():
        numbers = {label: number for number, (name, label) in enumerate(groups.labels) if name == str(attribute)}
        for label, value in by_label(own, option_name).items():
            if label not in numbers:
                raise unknown_name(option_name, label, numbers)
            if not (is_real(value) and 0.0 <= value <= 1.0):
                raise InputError(option_name, f"has {value!r} for {label!r}", "have shares from 0 to 1")
            found[numbers[label]] = float(value)
    return found
