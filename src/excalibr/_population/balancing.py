r"""The search for prices of the groups, with a proven gap.

.. math:: D(v) = V(\mu(v)) + \sum_j \sigma_j\, \text{edge}_j\, v_j

bounds what any lotteries of all users reach, for any prices v of the terms. A first guess comes from a sample of the
users; then every pass adds what each block of users would be shown at new prices, the master program says how passes
are mixed best and where the bound may still fall, and the two meet. Prices move within a box around the best so far:
wide enough that passes differ, for it is passes on either side of the targets that mix well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from excalibr._population.crowd import Crowd
from excalibr._population.master import Master, Mixed
from excalibr._population.start import foreseen_prices
from excalibr._population.sums import Pass
from excalibr._population.terms import Terms
from excalibr._types import Floats
from excalibr.errors import InputError

SAMPLED = 0.15
"""The share of the users that the first prices come from, unless they are few or very many."""
FEWEST, MOST = 600, 20_000

SAMPLE_PASSES = 4
BOX = 0.05
"""The first box around the prices, in units of the mean spread of the gains."""
TEMPERATURES = (0.03, 0.003, 0.0003)
"""Of the soft maxima, in the same unit; the last also no more than a third of the tolerance."""
WORTH = 1e-5
"""Which part of the gap that is left a step of the master must bring to be gone on with."""
NEAR = 3.0
"""At how many times the tolerance a last look for mixtures begins."""
LEAST_PROBABILITIES = (0.05, 0.01, 0.002)
STEEPEST = (1e1, 1e3, 1e5)
"""What a unit that a limit is missed by costs, in units of all else, until the optimum keeps it."""
LIMIT_SLACK = 1e-6
"""How far a share may be from a limit and still keep it, besides a tenth of the tolerance."""


@dataclass(frozen=True, eq=False)
class Progress:
    """After a pass: its number, what was proven so far, and whether it was over a sample."""

    number: int
    objective: float
    bound: float
    relative_gap: float
    sampled: bool


@dataclass(frozen=True, eq=False)
class Balanced:
    """What a search found.

    Attributes
    ----------
    objective, bound
        What the mixture is worth at least, and what nothing exceeds; both averages over users.
    scale
        What gaps are relative to: the larger of the bound (its size) and the mean spread of the scores.
    prices
        (passes, J) the prices of the terms in each pass.
    mixed
        The mixture of the passes.
    passes
        The passes themselves; the first is without prices unless the search had a start.
    best
        The number of the best single pass.
    history
        What was proven after each pass over all users.
    work
        How many passes all took, those over samples counted by their size.
    """

    objective: float
    bound: float
    scale: float
    prices: Floats
    mixed: Mixed
    passes: list[Pass]
    best: int
    history: list[Progress]
    work: float
    terms: Terms

    @property
    def gap(self) -> float:
        """Bound − objective, at least 0."""
        return max(self.bound - self.objective, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap in units of ``scale``."""
        return self.gap / self.scale


def balance_crowd(
    crowd: Crowd,
    terms: Terms,
    *,
    tolerance: float = 1e-3,
    max_passes: int = 30,
    start: Floats | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Balanced:
    """Prices for a crowd, with hard limits made steeper until they are kept.

    ``start`` are prices of the terms to begin with, yesterday's for instance; without them a sample finds some.
    """
    if not crowd.users:
        raise InputError("candidates", "have no users", "have at least one for a balance")
    unit = _unit(crowd, terms)
    slack = limit_slack(tolerance)
    work = 0.0
    for steepness in STEEPEST if terms.hard.any() else STEEPEST[:1]:
        steep = terms.with_steepness(steepness * (unit + float(np.abs(terms.highest[~terms.hard]).max(initial=0.0))))
        if start is None:
            start, spent = _start(crowd, steep, unit, tolerance)
            work += spent
        search = _Search(crowd, steep, unit, tolerance, tell)
        search.run(np.clip(start, steep.lowest, steep.highest), max_passes)
        found = search.balanced(work)
        if found.terms.missed(found.mixed.shares) <= slack:
            return found
        start, work = search.centre, found.work
    return found


def limit_slack(tolerance: float) -> float:
    """How far a share may be from a limit and still keep it."""
    return max(LIMIT_SLACK, 0.1 * tolerance)


def sample_share(users: int) -> float:
    """Which part of so many users the first prices come from; all of a few."""
    return min(float(np.clip(SAMPLED * users, FEWEST, MOST)) / max(users, 1), 1.0)


def _unit(crowd: Crowd, terms: Terms) -> float:
    """The mean spread of the gains; where nobody gains more than others, the largest weight of a term."""
    largest = float(np.abs(terms.lowest[~terms.hard]).max(initial=0.0))
    return crowd.gain_spread or max(largest, float(terms.highest[~terms.hard].max(initial=0.0))) or 1.0


def _start(crowd: Crowd, terms: Terms, unit: float, tolerance: float) -> tuple[Floats, float]:
    """First prices from a sample of the users, and how many passes over all of them that was worth."""
    users = round(sample_share(crowd.users) * crowd.users)
    sample = crowd.sample(users)
    share = sample.users / crowd.users
    prices = np.clip(np.zeros(len(terms)), terms.lowest, terms.highest)
    for _ in range(2):
        found = sample.run(terms.group_prices(prices), foresee=True)
        if found.is_empty:
            return prices, share
        prices = foreseen_prices(found.responses, terms, prices, crowd.threads)
    if sample.users == crowd.users:
        return prices, 2.0
    search = _Search(sample, terms, unit, 3 * tolerance, lambda progress: None, exact=False)
    search.run(prices, SAMPLE_PASSES)
    return search.centre, share * (2 + len(search.history))


class _Search:
    """One search over one crowd."""

    def __init__(
        self,
        crowd: Crowd,
        terms: Terms,
        unit: float,
        tolerance: float,
        tell: Callable[[Progress], None],
        *,
        exact: bool = True,
    ) -> None:
        self.crowd, self.terms, self.unit, self.tolerance, self.tell = crowd, terms, unit, tolerance, tell
        self.master = Master(terms, crowd.threads, exact)
        self.tried: list[Floats] = []
        self.history: list[Progress] = []
        self.centre = np.zeros(len(terms))
        self.bound = np.inf
        self.mixed: Mixed | None = None
        self.best = 0
        self.single = -np.inf
        self.box = np.full(len(terms), BOX * unit)
        last = min(TEMPERATURES[-1], tolerance / 3)
        self.temperatures = tuple(unit * each for each in (*TEMPERATURES[:-1], last))

    @property
    def scale(self) -> float:
        return max(abs(self.bound), self.crowd.spread) or 1.0

    @property
    def objective(self) -> float:
        return -np.inf if self.mixed is None else self.mixed.value

    def run(self, prices: Floats, max_passes: int) -> None:
        """Passes until the gap is small enough, or there have been so many."""
        for number in range(1, max_passes + 1):
            bound = self._pass(prices)
            prices, expected = self._next(bound, last=number == max_passes)
            self._record()
            if self.bound - self.objective <= self.tolerance * self.scale:
                return
            self._expected = expected

    def balanced(self, work: float) -> Balanced:
        """What was found, the mixture thinned as far as the gap that was asked allows."""
        assert self.mixed is not None
        allowed = max(self.bound - self.objective, self.tolerance * self.scale)
        for least in LEAST_PROBABILITIES:
            thin = self.master.thinned(self.mixed, least)
            if self.bound - thin.value <= allowed:
                self.mixed = thin
                break
        return Balanced(
            *(self.mixed.value, self.bound, self.scale, np.array(self.tried), self.mixed, self.master.passes),
            *(self.best, self.history, work + len(self.history), self.terms),
        )

    def _pass(self, prices: Floats) -> float:
        """Run a pass, take it into the master, and return the bound that it proves."""
        found = self.crowd.run(self.terms.group_prices(prices))
        if found.is_empty:
            found_nobody = "have nobody who can be ranked and counts"
            raise InputError("candidates", found_nobody, "have a user with finite scores and a weight above 0")
        self.master.add(found)
        self.tried.append(prices)
        bound = found.value + self.terms.edge_value(prices)
        count, blocks = len(self.tried), len(found.own)
        weights = np.zeros((count, blocks))
        weights[-1] = 1.0
        alone = self.master.mixed(weights)
        if alone.value > self.single:
            self.single, self.best = alone.value, count - 1
        self._keep(alone)
        return bound

    def _next(self, bound: float, *, last: bool) -> tuple[Floats, float]:
        """Move the centre and the box by what the pass showed, and find the next prices."""
        self._adapt(bound)
        if self.master.small:
            prices, mixed = self.master.solve()
            self._keep(mixed)
            # Pure steps of the program find the last mixtures, smoothed ones lower the bound.
            smooth = len(self.tried) % 2 == 1
            return (0.5 * (prices + self.centre) if smooth else prices), self.master.model(prices)
        lowest = np.maximum(self.terms.lowest, self.centre - self.box)
        highest = np.minimum(self.terms.highest, self.centre + self.box)
        worth = WORTH * (self.bound - self.objective)
        prices, mixed = self.master.descend(self.centre, lowest, highest, self.temperatures, worth)
        self._keep(mixed)
        expected = self.master.model(prices)
        held = (prices <= lowest) & (lowest > self.terms.lowest) | (prices >= highest) & (highest < self.terms.highest)
        near = self.bound - self.objective <= NEAR * self.tolerance * self.scale
        if held.any() and (near or last) and self.bound - expected <= 2 * self.tolerance * self.scale:
            # Mixtures end a search and do not steer it: those beyond the box are looked at where they may be enough.
            whole = (self.terms.lowest, self.terms.highest, self.temperatures[-1:], worth)
            self._keep(self.master.descend(prices, *whole)[1])
        return prices, expected

    def _adapt(self, bound: float) -> None:
        """A lower bound moves the centre; prices that went to the edge of the box may go farther next time."""
        prices = self.tried[-1]
        if len(self.tried) > 1 and not self.master.small:
            fell = (self.bound - bound) / max(self.bound - self._expected, 1e-300)
            at_edge = np.abs(prices - self.centre) >= 0.99 * self.box
            if fell > 0.25:
                self.box = np.where(at_edge, 2.0 * self.box, self.box)
            elif fell < 0.0:
                self.box = 0.8 * self.box
        if bound < self.bound:
            self.bound, self.centre = bound, prices

    def _keep(self, mixed: Mixed) -> None:
        """The best mixture so far; one of fewer passes has probability 0 for later ones."""
        count = len(self.tried)
        if self.mixed is not None and self.mixed.value >= mixed.value:
            mixed = self.mixed
        missing = count - len(mixed.weights)
        if missing:
            weights = np.vstack([mixed.weights, np.zeros((missing, mixed.weights.shape[1]))])
            mixed = replace(mixed, weights=weights)
        self.mixed = mixed

    def _record(self) -> None:
        gap = max(self.bound - self.objective, 0.0) / self.scale
        progress = Progress(len(self.tried), self.objective, self.bound, gap, False)
        self.history.append(progress)
        self.tell(progress)
