"""``Reranker.balance``: groups of items get their share of what all users see, and at what cost."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from excalibr._grid import MOST_ROWS, Grid, grid_of, html_of, number, numbers, short
from excalibr._options import read_options
from excalibr._parallel import checked_threads, progress_bar
from excalibr._population import Balanced, BatchCrowd, Mixture, Progress, balance_crowd
from excalibr._population.limits import conflict_of
from excalibr._population.mixture import EVERY_BLOCK
from excalibr._types import Floats
from excalibr.errors import GapWarning, InputError, explain
from excalibr.tables._everyone import GroupTargets, attributes_of, read_start, read_terms
from excalibr.tables._frames import read_frame
from excalibr.tables._items import ItemArrays, read_items
from excalibr.tables._options import Everyone, Tables
from excalibr.tables._prices import group_rows, price_columns, read_groups
from excalibr.tables._reranker import Reranker, stop_at_bad
from excalibr.tables._results import Results
from excalibr.tables._summary import warn_all

__all__ = ["Balance", "balance", "mixture_of", "most_blocks", "summary_columns"]

OWN = tuple(each.name for each in dataclasses.fields(Everyone))

OWN_BLOCKS = 20_000
"""Users up to which each is a block."""
MOST_NUMBERS = 1_000_000
"""Blocks × groups that a pass keeps of more users."""


@dataclass(frozen=True, eq=False, repr=False)
class Balance:
    """Prices of groups for everybody, what they do, and a proof of how far from the best it can be.

    What users have of it is :attr:`relevance` and :attr:`deviation`, beside the same before; that of groups is
    :attr:`shares` and :attr:`prices`.

    Attributes
    ----------
    objective
        Mean over users of their own objectives, less what the groups' deviations cost; at least this is reached.
    bound
        What no lotteries of all users can exceed.
    relative_gap
        (bound − objective) / max(|bound|, mean spread of the scores), what ``everyone_tolerance`` is about.
    passes
        How many passes the search took over all users; ``work`` counts those over samples by their size as well.
    """

    objective: float
    bound: float
    relative_gap: float
    passes: int
    work: float
    found: Balanced
    groups: list[tuple[str, str]]
    mixture: Mixture
    targets: GroupTargets
    asked: _Asked

    @property
    def gap(self) -> float:
        """bound − objective, at least 0."""
        return max(self.bound - self.objective, 0.0)

    @property
    def shares(self) -> Floats:
        """(G,) each group's share of everybody's exposure, in expectation."""
        return self.found.mixed.shares

    @cached_property
    def shares_before(self) -> Floats:
        """(G,) the same without prices: every user calibrated, nobody looking at the whole."""
        return self.asked.crowd.run(np.zeros(len(self.groups))).group_shares

    @property
    def relevance(self) -> float:
        """Mean over users, by their weights, of what they are shown; of the scores as they are, without prices."""
        return self._mean(self._results, "relevance")

    @property
    def relevance_before(self) -> float:
        """The same without prices, as of :attr:`shares_before`."""
        return self._mean(self._results_before, "relevance")

    @property
    def deviation(self) -> float:
        """Mean over users, by their weights, of the deviation from their own targets; of those who have one."""
        return self._mean(self._results, "deviation")

    @property
    def deviation_before(self) -> float:
        """The same without prices, as of :attr:`shares_before`."""
        return self._mean(self._results_before, "deviation")

    @property
    def prices(self) -> Any:
        """A row a group: attribute, category, price (mean over the passes), shares before and after, low, high.

        A table of the candidates' kind. ``low`` and ``high`` are the wanted share or band, nan where none is.
        """
        return self._like(summary_columns(self.groups, self.mixture, self.shares_before, self.shares, self.targets))

    @property
    def table(self) -> Any:
        """All that the proof is about, for ``rerank(prices=…)``: see :mod:`excalibr.tables._prices`."""
        return self._like(price_columns(self.groups, self.mixture))

    @property
    def simple(self) -> Any:
        """One price a group, of the best single pass: easier to keep and slightly worse; see :attr:`simple_shares`."""
        best = self.found.passes[self.found.best]
        return self._like(price_columns(self.groups, Mixture.single(best.prices)))

    @property
    def simple_shares(self) -> Floats:
        """(G,) the shares that :attr:`simple` prices give."""
        return self.found.passes[self.found.best].group_shares

    @property
    def history(self) -> Any:
        """A row a pass over all users: pass, objective, bound and relative gap proven by then."""
        told = self.found.history
        return self._like(
            {
                "pass": np.array([each.number for each in told]),
                "objective": np.array([each.objective for each in told]),
                "bound": np.array([each.bound for each in told]),
                "relative_gap": np.array([each.relative_gap for each in told]),
            }
        )

    def slates(self, *, day: Hashable = None) -> Any:
        """One ranking a user, as :meth:`excalibr.Reranker.rerank` with these prices."""
        return self._results.slates() if day is None else self._solve(day=day).slates()

    def lotteries(self) -> Any:
        """Every ranking of every user with its probability."""
        return self._results.lotteries()

    def report(self) -> Any:
        """A row a user, as :meth:`excalibr.Reranker.report`."""
        return self._results.report()

    def __repr__(self) -> str:
        return (
            f"Balance({len(self.groups)} groups, {self.asked.crowd.users:,} users: objective {self.objective:.6g}, "
            f"bound {self.bound:.6g}, gap {100 * self.relative_gap:.3g} % after {self.passes} passes)"
        )

    def _repr_html_(self) -> str:
        proven = f"proven within {100 * self.relative_gap:.3g} % of the best after {self.passes} passes"
        headline = f"{len(self.groups)} groups, {self.asked.crowd.users:,} users: {proven}"
        return html_of(headline, _groups_grid(self))

    @cached_property
    def _results(self) -> Results:
        return self._solve(keep=True, measured=True)

    @cached_property
    def _results_before(self) -> Results:
        return self._solve(prices=None, measured=True)

    def _solve(self, **how: Any) -> Results:
        asked = self.asked
        return asked.reranker.solve(asked.candidates, asked.items, **({"prices": self.table} | how), **asked.tables)

    def _mean(self, results: Results, measure: str) -> float:
        values = read_frame(results.report(), "report").numbers(measure, measure)
        weights = np.where(np.isfinite(values), self.asked.crowd.visits, 0.0)
        return float(weights @ np.nan_to_num(values) / weights.sum()) if weights.any() else float("nan")

    def _like(self, columns: dict[str, Any]) -> Any:
        return read_frame(self.asked.candidates, "candidates").like(columns)


def _groups_grid(balance: Balance) -> Grid:
    """The groups with the largest shares, in their own order; what they had before where it takes no long pass."""
    after, targets = balance.shares, balance.targets
    kept = np.sort(np.argsort(-after, kind="stable")[:MOST_ROWS])
    low, high = np.fmax(targets.low, targets.floors)[kept], np.fmin(targets.high, targets.caps)[kept]
    columns = {
        "attribute": [short(balance.groups[group][0]) for group in kept],
        "group": [short(balance.groups[group][1]) for group in kept],
        "wanted": [_wanted(*edges) for edges in zip(low, high, strict=True)],
        "price": numbers((balance.mixture.probabilities @ balance.mixture.prices)[kept]),
        "after": [number(share) for share in after[kept]],
    }
    bars = {"after": after[kept]}
    if "shares_before" in vars(balance) or balance.asked.crowd.users <= OWN_BLOCKS:
        columns["before"], bars["before"] = list(map(number, balance.shares_before[kept])), balance.shares_before[kept]
    order = ("attribute", "group", "wanted", "price", "before", "after")
    ordered = {name: columns[name] for name in order if name in columns}
    return grid_of(ordered, ("attribute", "group"), len(after) - len(kept), bars=bars)


def _wanted(low: float, high: float) -> str:
    if np.isnan(low) and np.isnan(high):
        return "–"
    if np.isnan(low):
        return f"at most {number(high)}"
    if np.isnan(high):
        return f"at least {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a balance was asked with."""

    reranker: Reranker
    candidates: Any
    items: Any
    tables: dict[str, Any]
    crowd: BatchCrowd


def balance(reranker: Reranker, candidates: Any, items: Any, asked: dict[str, Any]) -> Balance:
    """See :meth:`excalibr.Reranker.balance`."""
    wanted = read_options(Everyone, {name: value for name, value in asked.items() if name in OWN})
    tables = {name: value for name, value in asked.items() if name not in OWN}
    options = read_options(Tables, tables)
    check_asked(reranker, options)
    groups = read_groups(items, attributes_of(wanted, options), options)
    terms, targets = read_terms(wanted, groups, options)
    given, _, batch = reranker.read(candidates, read_items(items, options), options)
    stop_at_bad(reranker, batch, given)
    visits = user_weights(given.users, options)
    n_blocks = most_blocks(batch.users, terms.n_groups)
    fall_back, threads = reranker.fallback == "relevance", checked_threads(reranker.threads)
    crowd = rounded(BatchCrowd(batch, given.keys(), group_rows(groups), visits, n_blocks, fall_back, threads))
    labels = labels_of(groups)
    start, notes = read_start(wanted, labels, terms)
    warn_all(notes, stacklevel=3)
    with progress_bar("Balancing", wanted.max_passes, "passes") as done:

        def tell(progress: Progress) -> None:
            done(1)

        found = balance_crowd(
            crowd,
            terms,
            tolerance=wanted.everyone_tolerance,
            max_passes=wanted.max_passes,
            start=start,
            tell=tell,
        )
    check_limits(crowd, found, labels, wanted.everyone_tolerance)
    if found.relative_gap > wanted.everyone_tolerance:
        text = f"stopped after {len(found.history)} passes at a gap of {found.relative_gap:.2g}"
        warnings.warn(
            f"{text}, not {wanted.everyone_tolerance:g}. Raise max_passes for more.", GapWarning, stacklevel=3
        )
    parts = (found.objective, found.bound, found.relative_gap, len(found.history), found.work, found, labels)
    return Balance(*parts, mixture_of(found, n_blocks), targets, _Asked(reranker, candidates, items, tables, crowd))


def summary_columns(
    groups: list[tuple[str, str]], mixture: Mixture, before: Floats | None, after: Floats, targets: GroupTargets
) -> dict[str, Any]:
    """A row a group: its price, what it has without and with prices, and what it should have."""
    return {
        "attribute": [attribute for attribute, _ in groups],
        "category": [category for _, category in groups],
        "price": mixture.probabilities @ mixture.prices,
        "share_before": before,
        "share_after": after,
        "low": np.fmax(targets.low, targets.floors),
        "high": np.fmin(targets.high, targets.caps),
    }


def mixture_of(found: Balanced, n_blocks: int) -> Mixture:
    """The passes that are drawn, with the probabilities of every block that draws otherwise than all together."""
    weights = found.mixed.weights
    total = found.passes[0].weights
    used = np.flatnonzero((weights > 0).any(axis=1))
    prices = np.array([found.passes[number].prices for number in used])
    mean = weights[used] @ (total / total.sum())
    return Mixture(prices, mean / mean.sum(), n_blocks, found.passes[0].blocks, weights[used])


def most_blocks(users: int, groups: int) -> int:
    """How many blocks of users there can be: one a user, or as many as a pass can be kept for."""
    return EVERY_BLOCK if users <= OWN_BLOCKS else int(np.clip(MOST_NUMBERS // max(groups, 1), 64, 16_384))


def rounded(crowd: BatchCrowd) -> BatchCrowd:
    """The crowd, with numbers rounded before they are summed where users share blocks."""
    return crowd if crowd.n_blocks == EVERY_BLOCK else dataclasses.replace(crowd, step=crowd.scale.step(crowd.users))


def labels_of(groups: ItemArrays) -> list[tuple[str, str]]:
    """The groups, by attribute and category."""
    categories = groups.categories.to_pylist()
    return [(part.name, label) for part in groups.parts for label in categories[part.columns]]


def user_weights(users: Any, options: Tables) -> Floats:
    """(users,) how much each counts: a column ``weight`` of the users table, 1 without."""
    weights = np.ones(len(users))
    if options.users is None:
        return weights
    frame = read_frame(options.users, "users")
    name = options.find("weight", "users", frame.columns)
    if name is None:
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


def check_asked(reranker: Reranker, options: Tables) -> None:
    """Refuse what has no bound, and what prices would change the meaning of."""
    if reranker.method != "excalibr":
        raise InputError(explain("method", f"is {reranker.method!r}", "be 'excalibr': the others prove no bound"))
    for name in ("relevance_loss", "max_deviation"):
        if getattr(reranker, name) is not None:
            raise InputError(explain(name, "is given", "be left out of a balance", "give a trade_off instead."))
    if options.prices is not None:
        raise InputError(explain("prices", "are given", "be left out of a balance", "start= takes earlier prices."))


def check_limits(crowd: Any, found: Balanced, labels: list[tuple[str, str]], tolerance: float) -> None:
    """Raise an error that names the limits that conflict, where the best mixture does not keep them."""
    conflict = conflict_of(crowd, found, tolerance)
    if conflict is not None:
        raise conflict.error(labels)
