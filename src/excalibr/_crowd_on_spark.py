"""A crowd on Spark: the users of a prepared, cached frame. A pass is one job, whose tasks return sums by block.

Prices are broadcast. Sums are exact, and so the same bits whatever the partitioning; a lost executor costs its part of
a pass, which Spark runs again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from excalibr._options import read_options
from excalibr._population import BatchCrowd, Pass, Sums
from excalibr._population.mixture import EVERY_BLOCK
from excalibr._population.scale import NO_STEP, Scale, Scaled, Step
from excalibr._population.sums import add_up, no_sums
from excalibr._types import Floats
from excalibr.tables import Tables
from excalibr.tables._reranker import Reranker
from excalibr.tables._search import crowd_of, join_rows, sampled_rows


@dataclass(frozen=True, eq=False)
class PartOfCrowd:
    """What a task does with the users of a partition.

    ``chunks`` makes candidates and other rows of whole users from the batches of a partition; ``shared`` is broadcast:
    items, (items, G) groups, and the options with the tables that every worker has.
    """

    reranker: Reranker
    chunks: Callable[[Iterator[Any]], Iterator[tuple[Any, dict[str, Any]]]]
    shared: Any
    n_blocks: int
    names: dict[str, str]
    step: Step = NO_STEP
    scored: bool = True

    def crowd(self, candidates: Any, own: dict[str, Any]) -> BatchCrowd:
        """Some users, with their rows of the other tables."""
        items, groups, tables = self.shared.value
        options, how = read_options(Tables, tables | own), {"n_blocks": self.n_blocks, "step": self.step}
        crowd = crowd_of(self.reranker, candidates, items, options, groups, **how)
        return crowd if self.scored else crowd.without_scores()

    def sums(self, batches: Iterator[Any], prices: Floats) -> Sums:
        """A pass over the partition."""
        found = add_up(self.crowd(candidates, own).sums(prices) for candidates, own in self.chunks(batches))
        return no_sums(self.shared.value[1].shape[1]) if found is None else found

    def scale_and_sample(self, batches: Iterator[Any], share: float) -> tuple[Scale, list[dict[str, Any]]]:
        """The scale of the partition's scores, and the rows of a share of its users."""
        scales, sampled = [], []
        for candidates, own in self.chunks(batches):
            crowd = self.crowd(candidates, own)
            scales.append(crowd.scale)
            sampled.append(sampled_rows(crowd, share, {"candidates": candidates, **own}, self.names))
        return Scale.join(scales), sampled


@dataclass(frozen=True, eq=False)
class SparkCrowd(Scaled):
    """All users of a frame that is cached and partitioned by user."""

    frame: Any
    part: PartOfCrowd
    users: int
    n_groups: int
    scale: Scale
    sampled: BatchCrowd | None = None
    threads: int = 1

    @classmethod
    def of(cls, frame: Any, part: PartOfCrowd, users: int, n_groups: int, share: float) -> SparkCrowd:
        """Look at the users once, and bring a share of them here as a sample."""
        found = _on_partitions(frame, lambda batches: part.scale_and_sample(batches, share))
        scale = Scale.join([scale for scale, _ in found])
        if part.n_blocks != EVERY_BLOCK:
            part = replace(part, step=scale.step(users))
        rows = [each for _, sampled in found for each in sampled]
        sampled = None
        if rows:
            joined = join_rows(rows)
            here = part.crowd(joined.pop("candidates"), joined)
            sampled = replace(here, known_scale=scale) if here.users else None
        return cls(frame, part, users, n_groups, scale, sampled)

    def run(self, prices: Floats, *, foresee: bool = False) -> Pass:
        """One job over all users; what others would be shown is foreseen on the sample."""
        part, sent = self.part, self.frame.sparkSession.sparkContext.broadcast(prices)
        found = add_up(_on_partitions(self.frame, lambda batches: part.sums(batches, sent.value)))
        sent.unpersist()
        return (no_sums(self.n_groups) if found is None else found).as_pass(prices)

    def sample(self, users: int) -> BatchCrowd | SparkCrowd:
        """The users that were brought here."""
        return self if self.sampled is None else self.sampled

    def without_scores(self) -> SparkCrowd:
        """The same users with nothing to gain."""
        sampled = None if self.sampled is None else self.sampled.without_scores()
        return replace(self, part=replace(self.part, scored=False), scale=Scale(), sampled=sampled)


def _on_partitions(frame: Any, work: Callable[[Iterator[Any]], Any]) -> list[Any]:
    """The results of ``work`` on every partition, in any order."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.record_batch({"answer": pa.array([pickle.dumps(work(batches))], pa.large_binary())})

    answers = frame.mapInArrow(task, "answer binary").toArrow()
    return [pickle.loads(answer) for answer in answers.column("answer").to_pylist()]
