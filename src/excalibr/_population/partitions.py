"""A population in partitions, as from files larger than memory: a pass goes through them, and keeps sums by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from excalibr._population.passes import Pass, PassSums, empty_sums, merge_sums
from excalibr._population.score_scale import RoundingStep, ScoreScale, WithScoreScale
from excalibr._population.subproblems import BatchPopulation
from excalibr._types import Floats


@dataclass(frozen=True, eq=False)
class PartitionedPopulation(WithScoreScale):
    """Users in partitions, each a batch, in the same order every time.

    Attributes
    ----------
    partitions
        Gives the partitions anew for each pass.
    users, n_groups, scale, threads
        Of all partitions together.
    sampled
        The users of a sample, in memory and in one batch: what a partition knows of the items is not there many times.
    load, store
        What a pass at these prices gave, where it was stored before; and a pass to be stored.
    """

    partitions: Callable[[], Iterable[BatchPopulation]]
    users: int
    n_groups: int
    scale: ScoreScale
    threads: int = 1
    sampled: BatchPopulation | None = None
    load: Callable[[Floats], PassSums | None] = lambda prices: None
    store: Callable[[Floats, PassSums], None] = lambda prices, sums: None

    def with_rounding(
        self, rounding: RoundingStep, partitions: Callable[[], Iterable[BatchPopulation]]
    ) -> PartitionedPopulation:
        """The same with numbers rounded before they are summed; ``partitions`` must do so too."""
        return replace(self, partitions=partitions, sampled=self.sampled and replace(self.sampled, rounding=rounding))

    def run(self, prices: Floats, *, surrogate: bool = False) -> Pass:
        """A pass over all partitions, or the one that was stored."""
        found = None if surrogate else self.load(prices)
        if found is None:
            sums = merge_sums(partition.sums(prices, surrogate=surrogate) for partition in self.partitions())
            found = empty_sums(self.n_groups) if sums is None else sums
            if not surrogate:
                self.store(prices, found)
        return found.as_pass(prices)

    def sample(self, users: int) -> BatchPopulation | PartitionedPopulation:
        """The users that were kept as a sample."""
        if self.sampled is None or not self.sampled.users:
            return self
        return replace(self.sampled, known_scale=self.scale)

    def without_scores(self) -> PartitionedPopulation:
        """The same users with nothing to gain."""

        def partitions() -> Iterable[BatchPopulation]:
            return (partition.without_scores() for partition in self.partitions())

        sampled = self.sampled and self.sampled.without_scores()
        return PartitionedPopulation(partitions, self.users, self.n_groups, ScoreScale(), self.threads, sampled)
