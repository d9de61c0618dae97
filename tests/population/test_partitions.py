"""A population in partitions gives the passes that it gives as one batch, to the bit."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from excalibr._options import Options
from excalibr._population import BatchPopulation, PartitionedPopulation, balance_population
from excalibr._population.score_scale import ScoreScale
from excalibr._problem import Batch
from tests.population.whole_program import random_case

CASE = random_case(0, users=24)
BLOCKS = 5


def part(case: Any, first: int, last: int) -> BatchPopulation:
    """Some users of a case, several of whom share a block."""
    n, rows = case.scores.shape[1], slice(first * case.scores.shape[1], last * case.scores.shape[1])
    scores, starts = case.scores[first:last].ravel(), np.arange(last - first + 1) * n
    options = Options(k=case.k, trade_off=case.trade_off)
    batch = Batch.of(scores, starts, case.categories[rows], case.targets[first:last], options=options)
    keys, groups = [f"user {number}" for number in range(first, last)], sparse.csr_array(case.groups[rows])
    return BatchPopulation(batch, keys, groups, case.user_weights[first:last], BLOCKS)


def partitioned(case: Any, cuts: list[int]) -> PartitionedPopulation:
    """With the users in memory as the sample, as a small population has them."""
    spans = list(pairwise([0, *cuts, len(case.scores)]))
    scale = ScoreScale.join(part(case, *span).scale for span in spans)

    def partitions() -> Iterator[BatchPopulation]:
        return (replace(part(case, *span), rounding=scale.rounding()) for span in spans)

    whole = replace(part(case, 0, len(case.scores)), rounding=scale.rounding())
    return PartitionedPopulation(partitions, len(case.scores), case.groups.shape[1], scale, sampled=whole)


@pytest.mark.parametrize("cuts", [[12], [1, 2, 23], list(range(1, 24))])
def test_passes_and_balances_are_those_of_one_partition_to_the_bit(cuts: list[int]) -> None:
    one, several = partitioned(CASE, []), partitioned(CASE, cuts)
    prices = np.linspace(-0.2, 0.1, CASE.groups.shape[1])
    assert several.run(prices).bound == one.run(prices).bound
    assert several.run(prices).objectives.tobytes() == one.run(prices).objectives.tobytes()
    expected, found = (balance_population(each, CASE.terms, max_passes=6) for each in (one, several))
    assert found.prices.tobytes() == expected.prices.tobytes()
    assert found.primal.weights.tobytes() == expected.primal.weights.tobytes()


def test_passes_that_were_stored_are_not_made_again() -> None:
    stored: dict[bytes, Any] = {}
    made: list[int] = []
    population = partitioned(CASE, [7])

    def partitions() -> Any:
        made.append(len(stored))
        return population.partitions()

    kept = replace(
        population,
        partitions=partitions,
        load=lambda prices: stored.get(prices.tobytes()),
        store=lambda prices, sums: stored.update({prices.tobytes(): sums}),
    )
    first = balance_population(kept, CASE.terms, max_passes=3)
    passes = len(made)
    again = balance_population(kept, CASE.terms, max_passes=3)
    assert len(stored) == passes > 0
    assert len(made) == passes
    assert again.prices.tobytes() == first.prices.tobytes()


def test_without_scores_no_partition_has_any() -> None:
    prices = np.linspace(-0.2, 0.1, CASE.groups.shape[1])
    found = partitioned(CASE, [9]).without_scores().run(prices)
    whole = part(CASE, 0, 24).without_scores().run(prices)
    assert found.bound == pytest.approx(whole.bound, abs=1e-8)
