r"""Column generation over all users: dual prices of the groups, a mixture of passes, and a proven gap between the two.

.. math:: D(v) = V(\mu(v)) + \sum_j \sigma_j\, \tau_j\, v_j

bounds what any lotteries of all users reach, for any dual prices v of the coupling terms. A warm start comes from a
sample of the users; then every pass solves all users' subproblems at new prices and adds a column for each block of
users, the restricted master says how passes are mixed best and where the bound may still fall, and the two meet. Prices
move within a box around the best so far (the boxstep method): wide enough that passes differ, for it is passes on
either side of the targets that mix well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from excalibr._messages import counted
from excalibr._population.coupling import CouplingTerms
from excalibr._population.passes import Pass
from excalibr._population.rescaling import RescaledPopulation, unit_of
from excalibr._population.restricted_master import PrimalSolution, RestrictedMaster
from excalibr._population.subproblems import Population
from excalibr._population.warm_start import warm_start_prices
from excalibr._types import Floats
from excalibr.errors import InputError

SAMPLE_SHARE = 0.15
"""The share of the users that the warm start comes from, unless they are few or very many."""
SMALLEST_SAMPLE, LARGEST_SAMPLE = 600, 20_000

SURROGATE_PASSES = 2
SAMPLE_PASSES = 4
BOX = 0.05
"""The first box around the prices, in units of the mean spread of the gains."""
TEMPERATURES = (0.03, 0.003, 0.0003)
"""Of the soft maxima, in the same unit; the last also no more than a third of the tolerance."""
LEAST_DECREASE = 1e-5
"""Which part of the gap that is left two steps in the smoothed master must bring to be followed by another."""
NEAR = 3.0
"""At how many times the tolerance a last look for mixtures begins."""
PRUNED_BELOW = (0.05, 0.01, 0.002)
"""Probabilities below which passes are left out of the mixture, the first that the gap allows."""
LIMIT_PENALTIES = (1e1, 1e3, 1e5)
"""What a unit that a limit is missed by costs, in units of all else, until the optimum keeps it."""
PATIENCE = 15
"""Passes after which a search that still misses limits gives way to one with a larger penalty."""
LAST_PENALTY = 10.0
"""The same at least in the end, where scores are so alike that only calibration counts: its weight is at most 1."""
LIMIT_TOLERANCE = 1e-6
"""How far a share may be from a limit and still keep it, or a tenth of the tolerance if that is more."""


@dataclass(frozen=True, eq=False)
class Progress:
    """After a pass: its number, and what was proven so far."""

    number: int
    objective: float
    bound: float
    relative_gap: float

    def scaled(self, factor: float) -> Progress:
        """The same with scores in another unit."""
        return replace(self, objective=factor * self.objective, bound=factor * self.bound)


@dataclass(frozen=True, eq=False)
class BalanceSolution:
    """What a search found.

    Attributes
    ----------
    objective, bound
        What the mixture is worth at least, and what nothing exceeds; both averages over users.
    scale
        What gaps are relative to: the larger of the bound (its size) and the mean spread of the scores.
    prices
        (passes, J) the prices of the terms in each pass.
    primal
        The mixture of the passes.
    passes
        The passes themselves.
    best
        The number of the best single pass.
    history
        What was proven after each pass over all users. Where the penalty of limits was raised, another search began,
        and with it the objective and the bound.
    work
        How many passes there were, those over samples counted by their size.
    terms
        The coupling terms, with the penalty of limits that the search ended with.
    """

    objective: float
    bound: float
    scale: float
    prices: Floats
    primal: PrimalSolution
    passes: list[Pass]
    best: int
    history: list[Progress]
    work: float
    terms: CouplingTerms

    @property
    def gap(self) -> float:
        """Bound − objective, at least 0."""
        return max(self.bound - self.objective, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap in units of ``scale``."""
        return self.gap / self.scale

    @property
    def passes_text(self) -> str:
        """How many passes over all users there were, in words."""
        return counted(len(self.history), "pass", "passes")

    def scaled(self, factor: float) -> BalanceSolution:
        """The same with scores and prices in another unit."""
        return replace(
            self,
            objective=factor * self.objective,
            bound=factor * self.bound,
            scale=factor * self.scale,
            prices=factor * self.prices,
            primal=replace(self.primal, value=factor * self.primal.value),
            passes=[each.scaled(factor) for each in self.passes],
            history=[each.scaled(factor) for each in self.history],
            terms=self.terms.scaled(factor),
        )


def balance_population(
    population: Population,
    terms: CouplingTerms,
    *,
    tolerance: float = 1e-3,
    max_passes: int = 30,
    start: Floats | None = None,
    on_pass: Callable[[Progress], None] = lambda progress: None,
) -> BalanceSolution:
    """Prices for a population; the penalty of hard limits is raised until they are kept.

    Parameters
    ----------
    population, terms
        The users' subproblems, and what couples them.
    tolerance
        The relative gap to stop at.
    max_passes
        After so many passes over all users the search ends, whether or not limits are kept by then.
    start
        Prices of the terms to begin with, yesterday's for instance; without them a sample of the users gives some.
    on_pass
        Called after every pass over all users.
    """
    if not population.users:
        raise InputError("candidates", "have no users", "have at least one for a balance")
    unit = unit_of(population)
    if unit == 1.0:
        return _balance(population, terms, tolerance, max_passes, start, on_pass)
    return _balance(
        RescaledPopulation(population, unit),
        terms.scaled(1.0 / unit),
        tolerance,
        max_passes,
        None if start is None else start / unit,
        lambda progress: on_pass(progress.scaled(unit)),
    ).scaled(unit)


def limit_tolerance(tolerance: float) -> float:
    """How far a share may be from a limit and still keep it."""
    return max(LIMIT_TOLERANCE, 0.1 * tolerance)


def sample_share(users: int) -> float:
    """Which part of so many users the warm start comes from; all of a few."""
    return min(float(np.clip(SAMPLE_SHARE * users, SMALLEST_SAMPLE, LARGEST_SAMPLE)) / max(users, 1), 1.0)


def _balance(
    population: Population,
    terms: CouplingTerms,
    tolerance: float,
    max_passes: int,
    start: Floats | None,
    on_pass: Callable[[Progress], None],
) -> BalanceSolution:
    """Searches with rising penalties of limits, in one unit."""
    unit, history, sample_work = _price_unit(population, terms), list[Progress](), 0.0
    penalties = _limit_penalties(terms, unit)
    for penalty in penalties:
        penalised = terms.with_limit_penalty(penalty)
        if start is None:
            start, sample_work = _warm_start(population, penalised, unit, tolerance)
        search = _ColumnGeneration(population, penalised, unit, tolerance, history, on_pass)
        patience = max_passes if penalty == penalties[-1] else PATIENCE
        search.run(np.clip(start, penalised.lowest, penalised.highest), max_passes - len(history), patience)
        found = search.solution(sample_work)
        if search.keeps_limits or len(history) >= max_passes:
            break
        start = search.centre
    return found


def _limit_penalties(terms: CouplingTerms, unit: float) -> list[float]:
    """What a unit of violation costs in one search after another; any number where there are no limits."""
    unit += float(np.abs(terms.highest[~terms.hard]).max(initial=0.0))
    penalties = [penalty * unit for penalty in LIMIT_PENALTIES]
    if penalties[-1] < LAST_PENALTY:
        penalties.append(LAST_PENALTY)
    return penalties if terms.hard.any() else penalties[:1]


def _price_unit(population: Population, terms: CouplingTerms) -> float:
    """The mean spread of the gains; where nobody gains more than others, the largest weight of a term."""
    largest = float(np.abs(terms.lowest[~terms.hard]).max(initial=0.0))
    return population.gain_spread or max(largest, float(terms.highest[~terms.hard].max(initial=0.0))) or 1.0


def _warm_start(population: Population, terms: CouplingTerms, unit: float, tolerance: float) -> tuple[Floats, float]:
    """First prices from a sample of the users, and how many passes over all of them that was worth."""
    sample = population.sample(round(sample_share(population.users) * population.users))
    share = sample.users / population.users
    prices = np.clip(np.zeros(len(terms)), terms.lowest, terms.highest)
    for _ in range(SURROGATE_PASSES):
        found = sample.run(terms.group_prices(prices), surrogate=True)
        if found.is_empty:
            return prices, share
        prices = warm_start_prices(found.surrogates, terms, prices, population.threads)
    if sample.users == population.users:
        return prices, float(SURROGATE_PASSES)
    search = _ColumnGeneration(sample, terms, unit, 3 * tolerance, history := list[Progress](), exact=False)
    search.run(prices, SAMPLE_PASSES, SAMPLE_PASSES)
    return search.centre, share * (SURROGATE_PASSES + len(history))


class _ColumnGeneration:
    """One search over one population: its restricted master, and the best prices, bound and mixture so far.

    ``history`` goes on from that of earlier searches over the same population.
    """

    def __init__(
        self,
        population: Population,
        terms: CouplingTerms,
        unit: float,
        tolerance: float,
        history: list[Progress],
        on_pass: Callable[[Progress], None] = lambda progress: None,
        *,
        exact: bool = True,
    ) -> None:
        self.population, self.terms, self.tolerance = population, terms, tolerance
        self.history, self.on_pass = history, on_pass
        self.master = RestrictedMaster(terms, population.threads, exact)
        self.tried: list[Floats] = []
        self.centre = np.zeros(len(terms))
        self.bound = np.inf
        self.primal: PrimalSolution | None = None
        self.best_pass, self.best_pass_value = 0, -np.inf
        self.box = np.full(len(terms), BOX * unit)
        last = min(TEMPERATURES[-1], tolerance / 3)
        self.temperatures = tuple(unit * each for each in (*TEMPERATURES[:-1], last))

    @property
    def scale(self) -> float:
        return max(abs(self.bound), self.population.spread) or 1.0

    @property
    def objective(self) -> float:
        return -np.inf if self.primal is None else self.primal.value

    @property
    def keeps_limits(self) -> bool:
        return self.primal is not None and self.terms.violation(self.primal.shares) <= limit_tolerance(self.tolerance)

    def run(self, prices: Floats, max_passes: int, patience: int) -> None:
        """Passes until the gap is small enough, or there have been so many; of ``patience`` where limits are missed."""
        for number in range(1, max_passes + 1):
            bound = self._pass(prices)
            prices, expected = self._next(bound, last=number == max_passes)
            self._record()
            if self.bound - self.objective <= self.tolerance * self.scale:
                return
            if number >= patience and not self.keeps_limits:
                return
            self._expected_bound = expected

    def solution(self, sample_work: float) -> BalanceSolution:
        """What was found, the mixture pruned as far as the tolerance allows."""
        assert self.primal is not None
        allowed = max(self.bound - self.objective, self.tolerance * self.scale)
        for least in PRUNED_BELOW:
            pruned = self.master.pruned(self.primal, least)
            if self.bound - pruned.value <= allowed:
                self.primal = pruned
                break
        return BalanceSolution(
            objective=self.primal.value,
            bound=self.bound,
            scale=self.scale,
            prices=np.array(self.tried),
            primal=self.primal,
            passes=self.master.passes,
            best=self.best_pass,
            history=self.history,
            work=sample_work + len(self.history),
            terms=self.terms,
        )

    def _pass(self, prices: Floats) -> float:
        """Solve the subproblems, take them into the master, and return the bound that they prove."""
        found = self.population.run(self.terms.group_prices(prices))
        if found.is_empty:
            raise InputError("candidates", "have no user with finite scores and a weight above 0", "have at least one")
        self.master.add(found)
        self.tried.append(prices)
        weights = np.zeros((len(self.tried), len(found.objectives)))
        weights[-1] = 1.0
        alone = self.master.primal(weights)
        if alone.value > self.best_pass_value:
            self.best_pass, self.best_pass_value = len(self.tried) - 1, alone.value
        self._keep(alone)
        return found.bound + self.terms.threshold_value(prices)

    def _next(self, bound: float, *, last: bool) -> tuple[Floats, float]:
        """Move the centre and the box by what the pass showed; the next prices, and the bound expected there."""
        self._move_box(bound)
        if self.master.is_small:
            prices, primal = self.master.solve_exactly()
            self._keep(primal)
            # The master's own prices find the last mixtures, those halfway to the centre lower the bound (Wentges).
            smooth = len(self.tried) % 2 == 1
            return (0.5 * (prices + self.centre) if smooth else prices), self.master.dual_model(prices)
        lowest = np.maximum(self.terms.lowest, self.centre - self.box)
        highest = np.minimum(self.terms.highest, self.centre + self.box)
        min_decrease = LEAST_DECREASE * (self.bound - self.objective)
        prices, primal = self.master.solve_smoothed(self.centre, lowest, highest, self.temperatures, min_decrease)
        self._keep(primal)
        expected = self.master.dual_model(prices)
        in_box = (prices <= lowest) & (lowest > self.terms.lowest) | (prices >= highest) & (
            highest < self.terms.highest
        )
        near = self.bound - self.objective <= NEAR * self.tolerance * self.scale
        if in_box.any() and (near or last) and self.bound - expected <= 2 * self.tolerance * self.scale:
            # Mixtures end a search and do not steer it: those beyond the box are looked at where they may be enough.
            whole = (self.terms.lowest, self.terms.highest, self.temperatures[-1:], min_decrease)
            self._keep(self.master.solve_smoothed(prices, *whole)[1])
        return prices, expected

    def _move_box(self, bound: float) -> None:
        """A lower bound moves the centre; prices that went to the edge of the box may go farther next time."""
        prices = self.tried[-1]
        if len(self.tried) > 1 and not self.master.is_small:
            fell = (self.bound - bound) / max(self.bound - self._expected_bound, 1e-300)
            at_edge = np.abs(prices - self.centre) >= 0.99 * self.box
            if fell > 0.25:
                self.box = np.where(at_edge, 2.0 * self.box, self.box)
            elif fell < 0.0:
                self.box = 0.8 * self.box
        if bound < self.bound:
            self.bound, self.centre = bound, prices

    def _keep(self, primal: PrimalSolution) -> None:
        """The best mixture so far; one of fewer passes has probability 0 for later ones."""
        if self.primal is not None and self.primal.value >= primal.value:
            primal = self.primal
        missing = len(self.tried) - len(primal.weights)
        if missing:
            weights = np.vstack([primal.weights, np.zeros((missing, primal.weights.shape[1]))])
            primal = replace(primal, weights=weights)
        self.primal = primal

    def _record(self) -> None:
        gap = max(self.bound - self.objective, 0.0) / self.scale
        progress = Progress(len(self.history) + 1, self.objective, self.bound, gap)
        self.history.append(progress)
        self.on_pass(progress)
