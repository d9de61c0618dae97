"""Sums of passes by block, held against adding up user by user."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from excalibr._population import passes
from excalibr._population.passes import PassSums, empty_sums, merge_sums, sum_by_block
from excalibr._population.score_scale import NO_ROUNDING, RoundingStep

USERS, GROUPS, BLOCKS = 30, 4, 6
STEP = RoundingStep(2.0**-40, 2.0**-38)


def numbers(seed: int = 0) -> Any:
    """Users' blocks, weights, bounds, objectives and shares, of which some are 0."""
    random = np.random.default_rng(seed)
    shares = random.random((USERS, GROUPS)) * (random.random((USERS, GROUPS)) < 0.6)
    return random.integers(0, BLOCKS, USERS), *random.random((3, USERS)), sparse.csr_array(shares)


def summed(users: Any, rounding: RoundingStep) -> PassSums:
    blocks, weights, bounds, objectives, shares = (each[users] for each in numbers())
    return sum_by_block(blocks, weights, bounds, objectives, shares, rounding)


def test_sums_are_those_of_a_loop_over_the_users() -> None:
    blocks, weights, bounds, objectives, shares = numbers()
    found = summed(slice(None), NO_ROUNDING)
    for place, block in enumerate(found.blocks.tolist()):
        own = [user for user in range(USERS) if blocks[user] == block]
        assert found.weights[place] == pytest.approx(sum(weights[user] for user in own))
        assert found.bounds[place] == pytest.approx(sum(weights[user] * bounds[user] for user in own))
        assert found.objectives[place] == pytest.approx(sum(weights[user] * objectives[user] for user in own))
        exposure = sum(weights[user] * shares.toarray()[user] for user in own)
        np.testing.assert_allclose(found.shares.toarray()[place], exposure)


@pytest.mark.parametrize("pending", [1_000_000, 0])
@pytest.mark.parametrize("cuts", [[], [10], [1, 2, 3, 29], [0, 30]])
def test_rounded_sums_are_the_same_bits_in_any_partitions_and_order(
    cuts: list[int], pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "PENDING", pending)
    whole, edges = summed(slice(None), STEP), [0, *cuts, USERS]
    partitions = [summed(slice(first, last), STEP) for first, last in pairwise(edges)]
    for ordered in (partitions, partitions[::-1]):
        merged = merge_sums(ordered)
        assert merged is not None
        for name in ("blocks", "weights", "bounds", "objectives"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name))
        np.testing.assert_array_equal(merged.shares.toarray(), whole.shares.toarray())


def test_bounds_are_rounded_up_and_never_down() -> None:
    coarse = RoundingStep(0.25, 0.25)
    one = sum_by_block(np.zeros(1, int), np.ones(1), np.array([0.51]), np.array([0.51]), numbers()[-1][:1], coarse)
    assert one.bounds.tolist() == [0.75]
    assert one.objectives.tolist() == [0.5]


def test_a_pass_has_averages_by_weight() -> None:
    _, weights, bounds, *_ = numbers()
    found = summed(slice(None), NO_ROUNDING).as_pass(np.zeros(GROUPS))
    assert found.bound == pytest.approx(np.average(bounds, weights=weights))
    assert found.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.group_shares, np.average(numbers()[-1].toarray(), axis=0, weights=weights))


def test_nobody_gives_an_empty_pass() -> None:
    assert merge_sums([]) is None
    assert empty_sums(GROUPS).as_pass(np.zeros(GROUPS)).is_empty
    assert not summed(slice(None), NO_ROUNDING).as_pass(np.zeros(GROUPS)).is_empty


def test_bounds_are_rounded_up_and_what_is_reached_to_the_nearest_step() -> None:
    shares = sparse.csr_array(np.diag([0.3, 0.7]))
    numbers = np.array([0.26, 0.26])
    found = sum_by_block(np.array([4, 4]), np.ones(2), numbers, numbers, shares, RoundingStep(values=0.25, shares=0.25))
    assert found.blocks.tolist() == [4]
    assert (found.bounds.tolist(), found.objectives.tolist()) == ([1.0], [0.5])
    assert found.shares.toarray().tolist() == [[0.25, 0.75]]
