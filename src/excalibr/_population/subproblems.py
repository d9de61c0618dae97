r"""The users' own programs at given dual prices of the groups: the subproblems of the decomposition.

.. math:: V(\mu) = \sum_u \omega_u \max_x \; f_u(x) - \mu^\top B_u^\top x

Solving them for all users is a pass. It has V's proven bound, and for each block of users their objectives without
prices, Σ ω·f, and their exposure of each group, Σ ω·Bᵀx. All that is known of a population comes from passes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from excalibr._arrays import frozen, starts_of, sums_by
from excalibr._many_users import Solver
from excalibr._parallel import Advance, over_ranges
from excalibr._policy import Lotteries
from excalibr._population.mixture import BLOCK_PER_USER, block_of
from excalibr._population.passes import Pass, PassSums, empty_sums, sum_by_block
from excalibr._population.score_scale import NO_ROUNDING, RoundingStep, ScoreScale, WithScoreScale
from excalibr._problem import Batch
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Booleans, Floats, Integers


class Population(Protocol):
    """What column generation asks for: passes over all users and over a sample, and the scale of the scores."""

    @property
    def users(self) -> int:
        """How many there are."""
        ...

    @property
    def n_groups(self) -> int:
        """G."""
        ...

    @property
    def threads(self) -> int:
        """On how many threads to work."""
        ...

    @property
    def spread(self) -> float:
        """The mean spread of the scores."""
        ...

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores."""
        ...

    def run(self, prices: Floats, *, surrogate: bool = False) -> Pass:
        """A pass at these prices of the groups, with a surrogate model for a warm start if asked."""
        ...

    def sample(self, users: int) -> Population:
        """About so many of the users, as a population of their own."""
        ...


@dataclass(frozen=True, eq=False)
class BatchPopulation(WithScoreScale):
    """The users of a batch.

    Attributes
    ----------
    batch
        The users' problems.
    keys
        The users, by which blocks are chosen.
    groups
        (rows, G) sparse, the share of each group in each row of the batch's memberships.
    user_weights
        (users,) ω, of any sum.
    n_blocks
        How many blocks there can be; a user's is chosen by the key.
    fall_back, threads
        Whether users who cannot be calibrated are ranked by their scores; and on how many threads.
    advance
        Called with the number of users that are done.
    included
        (users,) who belongs to the population; None is all.
    price_factor
        Where it is not 0, prices are made so much larger that nothing else counts.
    rounding
        To what numbers are rounded before they are summed.
    known_scale
        Of a sample the scale of all, and without scores that of nothing.
    """

    batch: Batch
    keys: Sequence[Hashable]
    groups: SparseRows
    user_weights: Floats
    n_blocks: int
    fall_back: bool = True
    threads: int = 1
    advance: Advance | None = None
    included: Booleans | None = None
    price_factor: float = 0.0
    rounding: RoundingStep = NO_ROUNDING
    known_scale: ScoreScale | None = None

    @property
    def users(self) -> int:
        """How many there are."""
        return self.batch.users if self.included is None else int(self.included.sum())

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.groups.shape[1])

    def run(self, prices: Floats, *, surrogate: bool = False) -> Pass:
        """A pass over all users."""
        return self.sums(prices, surrogate=surrogate).as_pass(prices)

    def sums(self, prices: Floats, *, surrogate: bool = False) -> PassSums:
        """What a pass over these users adds up to, with weights of any sum."""
        from excalibr._population.warm_start import SurrogateModel

        if not self.batch.users:
            return empty_sums(self.n_groups)
        batch = self.batch.with_item_prices(np.asarray(self.groups @ ((self.price_factor or 1.0) * prices)))
        solver = Solver.of(batch, fall_back=self.fall_back, wanted=self.included)
        edges = self._range_bounds

        def work(first: int, last: int) -> _Range:
            return self._range(solver.solve(edges[first], edges[last]))

        ranges = over_ranges(work, len(edges) - 1, self.threads, self.advance, solver.cancel)
        found = _Range(*(np.concatenate(each) for each in zip(*ranges, strict=True)))
        weights = self.user_weights * found.ranked
        prices_of_users = (found.price_counts, found.price_categories, found.category_prices)
        surrogates = [SurrogateModel.of(batch, self.groups, prices_of_users, weights)] if surrogate else []
        shares = build_rows(found.exposure, found.items, starts_of(found.sizes), self.groups.shape[0]) @ self.groups
        objectives, bounds = self._values(found, np.asarray(shares @ prices))
        if self.included is not None:
            kept = self.included
            weights, bounds, objectives, shares = weights[kept], bounds[kept], objectives[kept], shares[kept]
        return sum_by_block(self._blocks, weights, bounds, objectives, shares, self.rounding, surrogates)

    def sample(self, users: int) -> BatchPopulation:
        """About so many users: those whose hashes are low, whoever is beside them."""
        kept = self.user_hashes() < users / max(self.users, 1) * BLOCK_PER_USER
        kept = kept if self.included is None else kept & self.included
        return replace(self, included=kept, advance=None) if kept.any() else self

    def user_hashes(self) -> Integers:
        """(users,) a hash of each user's key, below ``BLOCK_PER_USER``, by which samples are chosen."""
        return np.array([block_of(key, BLOCK_PER_USER) for key in self.keys], dtype=np.int64)

    def without_scores(self) -> BatchPopulation:
        """The same users with nothing to gain: what they are shown depends on prices alone.

        The kernel has the scores still; prices are made so large that they count a billionth.
        """
        batch = replace(self.batch, trade_offs=frozen(np.zeros(self.batch.users)))
        lowest, highest = self._score_range
        factor = 1e9 * max(highest - lowest, 1.0)
        return replace(self, batch=batch, price_factor=factor, known_scale=ScoreScale())

    def _range(self, lotteries: Lotteries) -> _Range:
        """What is kept of a range of users: the rest is done for all in one go, and not while threads wait."""
        first, last = lotteries.first, lotteries.first + len(lotteries.counts)
        starts, exposure = self.batch.starts[first : last + 1], exposure_of(self.batch, lotteries)
        shown = np.flatnonzero(exposure)
        sizes = np.diff(np.searchsorted(shown, starts - starts[0]))
        items = self._items[starts[0] : starts[-1]][shown]
        ranked = lotteries.counts > 0
        prices = (lotteries.price_counts, lotteries.price_categories, lotteries.prices)
        return _Range(lotteries.objectives, lotteries.gaps, ranked, *prices, exposure[shown], items, sizes)

    def _values(self, found: _Range, paid: Floats) -> tuple[Floats, Floats]:
        """By user the objective without prices, 0 where there is none, and the bound with them."""
        objectives, gaps = found.objectives, np.nan_to_num(found.gaps)
        solved = np.isfinite(objectives) & found.ranked
        if self.price_factor:  # every score is at least the lowest
            bounds = (objectives + gaps - self._score_range[0]) / self.price_factor
            return np.zeros(len(paid)), np.where(solved, bounds, -paid)
        return np.where(solved, objectives + paid, 0.0), np.where(solved, objectives + gaps, -paid)

    @cached_property
    def _score_range(self) -> tuple[float, float]:
        """The lowest and the highest score that is finite."""
        finite = self.batch.scores[np.isfinite(self.batch.scores)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

    @cached_property
    def _range_bounds(self) -> list[int]:
        """Bounds of ranges of the batch's users with one included user each, whom those who are not included follow."""
        included = np.arange(self.batch.users) if self.included is None else np.flatnonzero(self.included)
        return [0, *included[1:].tolist(), self.batch.users]

    @cached_property
    def _blocks(self) -> Integers:
        """The block of each user of the population."""
        blocks = np.array([block_of(key, self.n_blocks) for key in self.keys], dtype=np.int64)
        return blocks if self.included is None else blocks[self.included]

    @cached_property
    def _items(self) -> Integers:
        """(N,) the row of each candidate."""
        return np.arange(len(self.batch.scores)) if self.batch.items is None else self.batch.items

    @cached_property
    def scale(self) -> ScoreScale:  # type: ignore[override]  # nothing sets it
        """The scale that is known, or that of the users' scores."""
        if self.known_scale is not None:
            return self.known_scale
        batch = self.batch
        filled = np.diff(batch.starts) > 0
        calibrated = np.where(filled & batch.good, self.user_weights, 0.0)
        spreads, begins = np.zeros(batch.users), batch.starts[:-1][filled]
        if len(begins):
            spreads[filled] = np.maximum.reduceat(batch.scores, begins) - np.minimum.reduceat(batch.scores, begins)
        weighted = calibrated * np.nan_to_num(spreads)
        largest = float(np.abs(np.nan_to_num(batch.scores)).max(initial=0.0))
        gains = weighted @ (1.0 - batch.trade_offs)
        return ScoreScale(
            weights=float(self.user_weights.sum()),
            calibrated=float(calibrated.sum()),
            spreads=float(weighted.sum()),
            gain_spreads=float(gains),
            largest=largest,
        )


class _Range(NamedTuple):
    """By user: objective and gap at the prices, whether there is a slate, category prices as in :class:`Lotteries`.

    Of a user's ``sizes`` items that are shown, ``exposure`` says how much.
    """

    objectives: Floats
    gaps: Floats
    ranked: Booleans
    price_counts: Integers
    price_categories: Integers
    category_prices: Floats
    exposure: Floats
    items: Integers
    sizes: Integers


def exposure_of(batch: Batch, lotteries: Lotteries) -> Floats:
    """The expected exposure of every candidate of a range of users, one user after another."""
    first, last = lotteries.first, lotteries.first + len(lotteries.counts)
    slots, begin = batch.slots[first:last], batch.starts[first]
    per_ranking = np.repeat(slots, lotteries.counts)
    cells = np.cumsum(per_ranking) - per_ranking
    offsets = np.repeat(batch.starts[first:last] - begin, lotteries.counts * slots)
    weight_starts = np.repeat(batch.weight_starts[first:last], lotteries.counts)
    places = np.repeat(weight_starts - cells, per_ranking) + np.arange(per_ranking.sum())
    weights = batch.position_weights[places] * np.repeat(lotteries.weights, per_ranking)
    size = int(batch.starts[last] - begin)
    return sums_by(lotteries.places + offsets, weights, size)[:size]
