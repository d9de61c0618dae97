"""A crowd that comes in parts, as from files larger than memory: a pass goes through them, and keeps sums by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from excalibr._population.crowd import BatchCrowd
from excalibr._population.scale import Scale, Scaled, Step
from excalibr._population.sums import Pass, Sums, add_up, no_sums
from excalibr._types import Floats


@dataclass(frozen=True, eq=False)
class JoinedCrowd(Scaled):
    """Users in parts, each a batch, in the same order every time.

    Attributes
    ----------
    parts
        Gives the parts anew for each pass.
    users, n_groups, scale, threads
        Of all parts together.
    sampled
        The users of a sample, in memory and in one part: what a part knows of the items is not there many times.
    recall, keep
        What a pass found, by the number of the pass and its prices, where it was made before; and a pass to be kept.
    """

    parts: Callable[[], Iterable[BatchCrowd]]
    users: int
    n_groups: int
    scale: Scale
    threads: int = 1
    sampled: BatchCrowd | None = None
    recall: Callable[[Floats], Sums | None] = lambda prices: None
    keep: Callable[[Floats, Sums], None] = lambda prices, sums: None

    def rounded(self, step: Step, parts: Callable[[], Iterable[BatchCrowd]]) -> JoinedCrowd:
        """The same with numbers rounded before they are summed; ``parts`` must do so too."""
        return replace(self, parts=parts, sampled=self.sampled and replace(self.sampled, step=step))

    def run(self, prices: Floats, *, foresee: bool = False) -> Pass:
        """A pass over all parts, or the one that was kept."""
        found = None if foresee else self.recall(prices)
        if found is None:
            sums = add_up(part.sums(prices, foresee=foresee) for part in self.parts())
            found = no_sums(self.n_groups) if sums is None else sums
            if not foresee:
                self.keep(prices, found)
        return found.as_pass(prices)

    def sample(self, users: int) -> BatchCrowd | JoinedCrowd:
        """The users that were kept as a sample."""
        if self.sampled is None or not self.sampled.users:
            return self
        return replace(self.sampled, known_scale=self.scale)

    def without_scores(self) -> JoinedCrowd:
        """The same users with nothing to gain."""

        def parts() -> Iterable[BatchCrowd]:
            return (part.without_scores() for part in self.parts())

        sampled = self.sampled and self.sampled.without_scores()
        return JoinedCrowd(parts, self.users, self.n_groups, Scale(), self.threads, sampled)
