"""A crowd that comes in parts, as from files larger than memory: a pass goes through them, and keeps sums by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from excalibr._population.crowd import BatchCrowd, Pass, Sums, join_sums
from excalibr._population.scale import Scale, Scaled, Step
from excalibr._types import Floats

__all__ = ["JoinedCrowd"]

NOTHING = Scale(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class JoinedCrowd(Scaled):
    """Users in parts, each a batch, in the same order every time.

    Attributes
    ----------
    parts
        Gives the parts anew for each pass.
    users, n_groups, scale, threads
        Of all parts together, as :meth:`of` found them.
    sampled
        The users of a sample, in memory.
    recall, keep
        What a pass found, by the number of the pass and its prices, where it was made before; and a pass to be kept.
    """

    parts: Callable[[], Iterable[BatchCrowd]]
    users: int
    n_groups: int
    scale: Scale
    threads: int = 1
    sampled: tuple[BatchCrowd, ...] = ()
    recall: Callable[[Floats], Sums | None] = lambda prices: None
    keep: Callable[[Floats, Sums], None] = lambda prices, sums: None

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[BatchCrowd, BatchCrowd]], parts: Callable[[], Iterable[BatchCrowd]]
    ) -> JoinedCrowd:
        """Go through the parts once, each with its users of a sample: count, measure the scores, keep the sample."""
        users, n_groups, threads, scales, sampled = 0, 0, 1, [], []
        for part, own in pairs:
            users, n_groups, threads = users + part.users, part.n_groups, part.threads
            scales.append(part.scale)
            sampled.append(own)
        scale = Scale.join(scales)
        return cls(parts, users, n_groups, scale, threads, tuple(sampled))

    def rounded(self, step: Step, parts: Callable[[], Iterable[BatchCrowd]]) -> JoinedCrowd:
        """The same with numbers rounded before they are summed; ``parts`` must do so too."""
        return replace(self, parts=parts, sampled=tuple(replace(part, step=step) for part in self.sampled))

    def run(self, prices: Floats, *, foresee: bool = False) -> Pass:
        """A pass over all parts, or the one that was kept."""
        found = None if foresee else self.recall(prices)
        if found is None:
            found = join_sums([part.sums(prices, foresee=foresee) for part in self.parts()])
            if not foresee:
                self.keep(prices, found)
        return found.as_pass(prices)

    def sample(self, users: int) -> JoinedCrowd:
        """The users that were kept as a sample."""
        sampled = tuple(part for part in self.sampled if part.users)
        count = sum(part.users for part in sampled)
        if not count:
            return self
        return JoinedCrowd(lambda: sampled, count, self.n_groups, self.scale, self.threads)

    def without_scores(self) -> JoinedCrowd:
        """The same users with nothing to gain."""

        def parts() -> Iterable[BatchCrowd]:
            return (part.without_scores() for part in self.parts())

        sampled = tuple(part.without_scores() for part in self.sampled)
        return JoinedCrowd(parts, self.users, self.n_groups, NOTHING, self.threads, sampled)
