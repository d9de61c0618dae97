"""``Reranker.balance``: groups of items get their share of what all users see, and at what cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from excalibr._grid import MOST_ROWS, Grid, grid_of, html_of, number, numbers, short
from excalibr._messages import counted
from excalibr._options import read_options, split_keywords
from excalibr._parallel import progress_bar
from excalibr._population import BatchPopulation, Mixture
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._types import Floats
from excalibr.tables._frames import Frame, read_frame
from excalibr.tables._items import read_items
from excalibr.tables._options import Everyone, read_tables
from excalibr.tables._prices import price_columns
from excalibr.tables._reranker import Reranker
from excalibr.tables._results import Results
from excalibr.tables._search import OWN_BLOCKS, FoundPrices, PriceSearch, check_asked, population_of
from excalibr.tables._summary import warn_all


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
    outcome: FoundPrices
    population: BatchPopulation
    frame: Frame
    solve: Callable[..., Results]

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The groups, by attribute and category."""
        return self.outcome.labels

    @property
    def gap(self) -> float:
        """bound − objective, at least 0."""
        return max(self.bound - self.objective, 0.0)

    @property
    def shares(self) -> Floats:
        """(G,) each group's share of everybody's exposure, in expectation."""
        return self.outcome.found.primal.shares

    @cached_property
    def shares_before(self) -> Floats:
        """(G,) the same without prices: every user calibrated, nobody looking at the whole."""
        return self.population.run(np.zeros(len(self.groups))).group_shares

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
        """One row per group: attribute, category, price (mean over the passes), shares before and after, low, high.

        A table of the candidates' kind. ``low`` and ``high`` are the wanted share or band, nan where none is.
        """
        return self.frame.like(self.outcome.summary(self.shares_before))

    @property
    def table(self) -> Any:
        """What the proof is about, for ``rerank(prices=…)``: pass, probability, attribute, category, price, block."""
        return self.frame.like(self.outcome.table)

    @property
    def simple(self) -> Any:
        """One price per group, of the best single pass: easier to keep, slightly worse; see :attr:`simple_shares`."""
        found = self.outcome.found
        return self.frame.like(price_columns(self.groups, Mixture.single(found.passes[found.best].prices)))

    @property
    def simple_shares(self) -> Floats:
        """(G,) the shares that :attr:`simple` prices give."""
        found = self.outcome.found
        return found.passes[found.best].group_shares

    @property
    def history(self) -> Any:
        """One row per pass over all users: pass, objective, bound and relative gap proven by then.

        Where limits were missed, another search with a larger penalty followed, and with it another objective.
        """
        passes = self.outcome.found.history
        proven = ("objective", "bound", "relative_gap")
        columns = {name: np.array([getattr(each, name) for each in passes]) for name in proven}
        return self.frame.like({"pass": np.array([each.number for each in passes]), **columns})

    def slates(self, *, day: Hashable = None) -> Any:
        """One ranking per user, as :meth:`excalibr.Reranker.rerank` with these prices."""
        return self._results.slates() if day is None else self.solve(prices=self.table, day=day).slates()

    def lotteries(self) -> Any:
        """Every ranking of every user with its probability."""
        return self._results.lotteries()

    def report(self) -> Any:
        """One row per user, as :meth:`excalibr.Reranker.report`."""
        return self._results.report()

    def __repr__(self) -> str:
        return (
            f"Balance({self._size}: objective {self.objective:.6g}, bound {self.bound:.6g}, "
            f"gap {100 * self.relative_gap:.3g} % after {self.outcome.found.passes_text})"
        )

    def _repr_html_(self) -> str:
        proven = f"proven within {100 * self.relative_gap:.3g} % of the best after {self.outcome.found.passes_text}"
        return html_of(f"{self._size}: {proven}", _groups_grid(self))

    @property
    def _size(self) -> str:
        return f"{counted(len(self.groups), 'group')}, {counted(self.population.users, 'user')}"

    @cached_property
    def _results(self) -> Results:
        return self.solve(prices=self.table, keep=True, measured=True)

    @cached_property
    def _results_before(self) -> Results:
        return self.solve(prices=None, measured=True)

    def _mean(self, results: Results, measure: str) -> float:
        values = read_frame(results.report(), "report").numbers(measure, measure)
        weights = np.where(np.isfinite(values), self.population.user_weights, 0.0)
        return float(weights @ np.nan_to_num(values) / weights.sum()) if weights.any() else float("nan")


def _groups_grid(balance: Balance) -> Grid:
    """The groups with the largest shares, in their own order; what they had before where it takes no long pass."""
    shares, outcome = balance.shares, balance.outcome
    kept = np.sort(np.argsort(-shares, kind="stable")[:MOST_ROWS])
    bars = {"after": shares[kept]}
    if "shares_before" in vars(balance) or balance.population.users <= OWN_BLOCKS:
        bars = {"before": balance.shares_before[kept], **bars}
    columns = {
        "attribute": [short(balance.groups[group][0]) for group in kept],
        "group": [short(balance.groups[group][1]) for group in kept],
        "wanted": [_wanted(outcome.least[group], outcome.most[group]) for group in kept],
        "price": numbers((outcome.mixture.probabilities @ outcome.mixture.prices)[kept]),
        **{name: list(map(number, own)) for name, own in bars.items()},
    }
    return grid_of(columns, ("attribute", "group"), len(shares) - len(kept), bars=bars)


def _wanted(low: float, high: float) -> str:
    if np.isnan(low) and np.isnan(high):
        return "–"
    if np.isnan(low):
        return f"at most {number(high)}"
    if np.isnan(high):
        return f"at least {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def balance(reranker: Reranker, candidates: Any, items: Any, asked: dict[str, Any]) -> Balance:
    """See :meth:`excalibr.Reranker.balance`."""
    own, tables = split_keywords(asked, Everyone)
    options, wanted = read_tables(tables, Everyone), read_options(Everyone, own)
    check_asked(reranker, options)
    search = PriceSearch.of(wanted, items, options)
    population = population_of(
        reranker, candidates, read_items(items, options), options, search.rows, n_blocks=BLOCK_PER_USER
    )
    n_blocks = search.n_blocks(population.users)
    if n_blocks != BLOCK_PER_USER:  # users share blocks: numbers are rounded before they are summed
        population = dataclasses.replace(population, n_blocks=n_blocks, rounding=population.scale.rounding())
    warn_all(search.notes, stacklevel=3)
    with progress_bar("Balancing", wanted.max_passes, "passes") as done:
        outcome = search.run(population, n_blocks, lambda _: done(1))
    found, passes = outcome.found, len(outcome.found.history)
    warn_all(outcome.notes, stacklevel=3)
    proven = (found.objective, found.bound, found.relative_gap, passes, found.work)
    solve = partial(reranker.solve, candidates, items, **tables)
    return Balance(*proven, outcome, population, read_frame(candidates, "candidates"), solve)
