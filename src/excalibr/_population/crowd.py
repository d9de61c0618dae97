r"""A crowd: all users, asked what they would be shown at given prices of the groups. One answer is a pass.

.. math:: V(\mu) = \sum_u \omega_u \max_x \; f_u(x) - \mu^\top B_u^\top x

A pass has V's proven bound, and for each block of users what they are worth by themselves, Σ ω·f, and what they show of
each group, Σ ω·Bᵀx. Everything that is found out about a crowd comes from passes.
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
from excalibr._population.mixture import EVERY_BLOCK, block_of
from excalibr._population.scale import NO_STEP, Scale, Step
from excalibr._population.sums import Pass, Sums, no_sums, sum_by_block
from excalibr._problem import Batch
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Booleans, Floats, Integers


class Crowd(Protocol):
    """What balancing asks for: passes over all users and over a sample, and the scale of the scores."""

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

    def run(self, prices: Floats, *, foresee: bool = False) -> Pass:
        """A pass at these prices of the groups."""
        ...

    def sample(self, users: int) -> Crowd:
        """About so many of the users, as a crowd of their own."""
        ...


@dataclass(frozen=True, eq=False)
class BatchCrowd:
    """The users of a batch.

    Attributes
    ----------
    batch
        The users' problems.
    keys
        The users, by which blocks are chosen.
    groups
        (rows, G) sparse, the share of each group in each row of the batch's memberships.
    visits
        (users,) ω, of any sum.
    n_blocks
        How many blocks there can be; a user's is chosen by the key.
    fall_back, threads
        Whether users who cannot be calibrated are ranked by their scores; and on how many threads.
    advance
        Called with the number of users that are done.
    asked
        (users,) who belongs to the crowd; None is all.
    factor
        Where it is not 0, prices are made so much larger that nothing else counts.
    step
        To what numbers are rounded before they are summed.
    known_scale
        Of a sample, the scale of all.
    """

    batch: Batch
    keys: Sequence[Hashable]
    groups: SparseRows
    visits: Floats
    n_blocks: int
    fall_back: bool = True
    threads: int = 1
    advance: Advance | None = None
    asked: Booleans | None = None
    factor: float = 0.0
    step: Step = NO_STEP
    known_scale: Scale | None = None

    @property
    def users(self) -> int:
        """How many there are."""
        return self.batch.users if self.asked is None else int(self.asked.sum())

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.groups.shape[1])

    @property
    def spread(self) -> float:
        """The mean spread of the scores."""
        return 0.0 if self.factor else self.scale.spread

    @property
    def gain_spread(self) -> float:
        """The mean spread of (1 − λ)·scores."""
        return 0.0 if self.factor else self.scale.gain_spread

    def run(self, prices: Floats, *, foresee: bool = False) -> Pass:
        """A pass over all users."""
        return self.sums(prices, foresee=foresee).as_pass(prices)

    def sums(self, prices: Floats, *, foresee: bool = False) -> Sums:
        """What a pass over these users adds up to, with weights of any sum."""
        from excalibr._population.start import Responses

        if not self.batch.users:
            return no_sums(self.n_groups)
        batch = self.batch.with_item_prices(np.asarray(self.groups @ ((self.factor or 1.0) * prices)))
        solver = Solver.of(batch, fall_back=self.fall_back, wanted=self.asked)
        edges = self._edges

        def work(first: int, last: int) -> _Range:
            return self._range(solver.solve(edges[first], edges[last]))

        ranges = over_ranges(work, len(edges) - 1, self.threads, self.advance, solver.cancel)
        found = _Range(*(np.concatenate(each) for each in zip(*ranges, strict=True)))
        weights = self.visits * found.ranked
        category_prices = np.nan_to_num(found.category_prices)
        responses = [Responses.of(batch, self.groups, category_prices, weights)] if foresee else []
        shares = build_rows(found.exposure, found.items, starts_of(found.sizes), self.groups.shape[0]) @ self.groups
        own, bounds = self._values(found, np.asarray(shares @ prices))
        if self.asked is not None:
            asked = self.asked
            weights, bounds, own, shares = weights[asked], bounds[asked], own[asked], shares[asked]
        return sum_by_block(self._blocks, weights, bounds, own, shares, self.step, responses)

    def sample(self, users: int) -> BatchCrowd:
        """About so many users: those whose draws are low, whoever is beside them."""
        kept = self.draws() < users / max(self.users, 1) * EVERY_BLOCK
        kept = kept if self.asked is None else kept & self.asked
        return replace(self, asked=kept, advance=None) if kept.any() else self

    def draws(self) -> Integers:
        """(users,) a number that belongs to each user's key alone, by which samples are chosen."""
        return np.array([block_of(key, EVERY_BLOCK) for key in self.keys], dtype=np.int64)

    def without_scores(self) -> BatchCrowd:
        """The same users with nothing to gain: what they are shown depends on prices alone.

        The kernel has the scores still; prices are made so large that they count a billionth.
        """
        batch = replace(self.batch, trade_offs=frozen(np.zeros(self.batch.users)))
        lowest, highest = self._score_range
        return replace(self, batch=batch, factor=1e9 * max(highest - lowest, 1.0))

    def _range(self, lotteries: Lotteries) -> _Range:
        """What is kept of a range of users: the rest is done for all at once, and not while threads wait."""
        first, last = lotteries.first, lotteries.first + len(lotteries.counts)
        starts, exposure = self.batch.starts[first : last + 1], exposure_of(self.batch, lotteries)
        shown = np.flatnonzero(exposure)
        sizes = np.diff(np.searchsorted(shown, starts - starts[0]))
        items = self._items[starts[0] : starts[-1]][shown]
        objectives = np.full(last - first, np.nan) if lotteries.objectives is None else lotteries.objectives
        ranked = lotteries.counts > 0
        return _Range(objectives, lotteries.gaps, ranked, lotteries.prices, exposure[shown], items, sizes)

    def _values(self, found: _Range, paid: Floats) -> tuple[Floats, Floats]:
        """By user the objective without prices and the bound with them.

        Those who were not solved count with what they are shown.
        """
        objectives, gaps = found.objectives, np.nan_to_num(found.gaps)
        solved = np.isfinite(objectives) & found.ranked
        if self.factor:  # every score is at least the lowest
            bounds = (objectives + gaps - self._score_range[0]) / self.factor
            return np.zeros(len(paid)), np.where(solved, bounds, -paid)
        return np.where(solved, objectives + paid, 0.0), np.where(solved, objectives + gaps, -paid)

    @cached_property
    def _score_range(self) -> tuple[float, float]:
        """The lowest and the highest score that is finite."""
        finite = self.batch.scores[np.isfinite(self.batch.scores)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

    @cached_property
    def _edges(self) -> list[int]:
        """Where the users of the crowd begin, those who are not asked with the last before them, and where all end."""
        asked = np.arange(self.batch.users) if self.asked is None else np.flatnonzero(self.asked)
        return [0, *asked[1:].tolist(), self.batch.users]

    @cached_property
    def _blocks(self) -> Integers:
        """The block of each user of the crowd."""
        blocks = np.array([block_of(key, self.n_blocks) for key in self.keys], dtype=np.int64)
        return blocks if self.asked is None else blocks[self.asked]

    @cached_property
    def _items(self) -> Integers:
        """(N,) the row of each candidate."""
        return np.arange(len(self.batch.scores)) if self.batch.items is None else self.batch.items

    @cached_property
    def scale(self) -> Scale:
        """The spread of the users' scores, or of those that this is a sample of."""
        if self.known_scale is not None:
            return self.known_scale
        batch = self.batch
        filled = np.diff(batch.starts) > 0
        visits = np.where(filled & batch.good, self.visits, 0.0)
        spreads, begins = np.zeros(batch.users), batch.starts[:-1][filled]
        if len(begins):
            spreads[filled] = np.maximum.reduceat(batch.scores, begins) - np.minimum.reduceat(batch.scores, begins)
        weighted = visits * np.nan_to_num(spreads)
        largest = float(np.abs(np.nan_to_num(batch.scores)).max(initial=0.0))
        gains = weighted @ (1.0 - batch.trade_offs)
        everybody, calibrated = float(self.visits.sum()), float(visits.sum())
        return Scale(everybody, calibrated, float(weighted.sum()), float(gains), largest)


class _Range(NamedTuple):
    """By user: objective and gap at the prices, whether there is a slate, category prices; and what each is shown.

    Of a user's ``sizes`` items that are shown, ``exposure`` says how much.
    """

    objectives: Floats
    gaps: Floats
    ranked: Booleans
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
