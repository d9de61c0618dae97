"""A population on Spark: the users of a prepared, cached frame. A pass is one job, whose tasks return sums by block.

Prices are broadcast. Sums are exact, and so the same bits whatever the partitioning; a lost executor costs its part of
a pass, which Spark runs again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from excalibr._options import read_options
from excalibr._population import BatchPopulation, Pass, PassSums
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._population.passes import empty_sums, merge_sums
from excalibr._population.score_scale import NO_ROUNDING, RoundingStep, ScoreScale, WithScoreScale
from excalibr._types import Floats
from excalibr.tables import Tables
from excalibr.tables._reranker import Reranker
from excalibr.tables._search import join_rows, population_of, sampled_rows


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """What a task does with the users of a partition.

    ``chunks`` makes candidates and other rows of whole users from the batches of a partition; ``shared`` is broadcast:
    items, (items, G) groups, and the options with the tables that every worker has.
    """

    reranker: Reranker
    chunks: Callable[[Iterator[Any]], Iterator[tuple[Any, dict[str, Any]]]]
    shared: Any
    n_blocks: int
    names: dict[str, str]
    rounding: RoundingStep = NO_ROUNDING
    scored: bool = True

    def population(self, candidates: Any, own: dict[str, Any]) -> BatchPopulation:
        """Some users, with their rows of the other tables."""
        items, groups, tables = self.shared.value
        options, how = read_options(Tables, tables | own), {"n_blocks": self.n_blocks, "rounding": self.rounding}
        population = population_of(self.reranker, candidates, items, options, groups, **how)
        return population if self.scored else population.without_scores()

    def sums(self, batches: Iterator[Any], prices: Floats) -> PassSums:
        """A pass over the partition."""
        found = merge_sums(self.population(candidates, own).sums(prices) for candidates, own in self.chunks(batches))
        return empty_sums(self.shared.value[1].shape[1]) if found is None else found

    def scale_and_sample(self, batches: Iterator[Any], share: float) -> tuple[ScoreScale, list[dict[str, Any]]]:
        """The scale of the partition's scores, and the rows of a share of its users."""
        scales, sampled = [], []
        for candidates, own in self.chunks(batches):
            population = self.population(candidates, own)
            scales.append(population.scale)
            sampled.append(sampled_rows(population, share, {"candidates": candidates, **own}, self.names))
        return ScoreScale.join(scales), sampled


@dataclass(frozen=True, eq=False)
class SparkPopulation(WithScoreScale):
    """All users of a frame that is cached and partitioned by user."""

    frame: Any
    part: PartitionTask
    users: int
    n_groups: int
    scale: ScoreScale
    sampled: BatchPopulation | None = None
    threads: int = 1

    @classmethod
    def of(cls, frame: Any, part: PartitionTask, users: int, n_groups: int, share: float) -> SparkPopulation:
        """Look at the users once, and bring a share of them here as a sample."""
        found = _on_partitions(frame, lambda batches: part.scale_and_sample(batches, share))
        scale = ScoreScale.join([scale for scale, _ in found])
        if part.n_blocks != BLOCK_PER_USER:
            part = replace(part, rounding=scale.rounding())
        rows = [each for _, sampled in found for each in sampled]
        sampled = None
        if rows:
            joined = join_rows(rows)
            here = part.population(joined.pop("candidates"), joined)
            sampled = replace(here, known_scale=scale) if here.users else None
        return cls(frame, part, users, n_groups, scale, sampled)

    def run(self, prices: Floats, *, surrogate: bool = False) -> Pass:
        """One job over all users; surrogate models are made of the sample alone."""
        part, sent = self.part, self.frame.sparkSession.sparkContext.broadcast(prices)
        found = merge_sums(_on_partitions(self.frame, lambda batches: part.sums(batches, sent.value)))
        sent.unpersist()
        return (empty_sums(self.n_groups) if found is None else found).as_pass(prices)

    def sample(self, users: int) -> BatchPopulation | SparkPopulation:
        """The users that were brought here."""
        return self if self.sampled is None else self.sampled

    def without_scores(self) -> SparkPopulation:
        """The same users with nothing to gain."""
        sampled = None if self.sampled is None else self.sampled.without_scores()
        return replace(self, part=replace(self.part, scored=False), scale=ScoreScale(), sampled=sampled)


def _on_partitions(frame: Any, work: Callable[[Iterator[Any]], Any]) -> list[Any]:
    """The results of ``work`` on every partition, in any order."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.record_batch({"answer": pa.array([pickle.dumps(work(batches))], pa.large_binary())})

    answers = frame.mapInArrow(task, "answer binary").toArrow()
    return [pickle.loads(answer) for answer in answers.column("answer").to_pylist()]
