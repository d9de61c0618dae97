"""Projecting on the permutohedron, walking through a face, and leaving out superfluous rankings."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr._types import PLACE
from excalibr.solver.ordering import key_at_rank, new_spare, rank_best
from excalibr.solver.permutohedron import decompose, pool_blocks
from excalibr.solver.reduction import reduce_lottery

seeds = st.integers(0, 2**32)


@numba.njit
def _pool(point, slots, order, starts, exposure):  # type: ignore[no-untyped-def]
    n = point.size
    return pool_blocks(point, slots, order, n, starts, np.empty(n), np.empty(n), exposure)


@numba.njit
def _decompose(exposure, order, starts, blocks, slots):  # type: ignore[no-untyped-def]
    rankings = np.empty((exposure.size + 1, slots.size), dtype=np.int64)
    weights = np.zeros(exposure.size + 1)
    count = decompose(exposure, order, starts, blocks, slots, rankings, weights)
    return rankings[:count], weights[:count]


@numba.njit
def _reduce(effects, weights):  # type: ignore[no-untyped-def]
    reduce_lottery(effects, weights, weights.size)


@numba.njit
def _rank_best(keys, count):  # type: ignore[no-untyped-def]
    order = np.arange(keys.size, dtype=PLACE)
    rank_best(keys, count, order, new_spare(keys.size))
    return order


@numba.njit
def _key_at_rank(keys, rank):  # type: ignore[no-untyped-def]
    return key_at_rank(keys, rank, new_spare(keys.size).places)


def _point_and_slots(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    k = int(rng.integers(1, n + 1))
    slots = np.sort(rng.choice([rng.random(k), np.ones(k), 0.5 ** np.arange(k)]))[::-1]
    point = rng.choice([rng.normal(size=n), rng.integers(0, 3, n).astype(float)]) * 10.0 ** rng.integers(-3, 2)
    return point, slots / slots.sum()


def _project(point: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    order = np.argsort(-point, kind="stable").astype(PLACE)
    starts, exposure = np.empty(len(point) + 1, dtype=PLACE), np.zeros(len(point))
    return exposure, order, starts, _pool(point, slots, order, starts, exposure)


@given(seeds)
@settings(max_examples=200)
def test_a_projection_is_an_exposure_and_no_vertex_lies_beyond_it(seed: int) -> None:
    point, slots = _point_and_slots(seed)
    exposure, _, _, _ = _project(point, slots)
    padded = np.concatenate([slots, np.zeros(len(point) - len(slots))])
    # in the permutohedron: no set of candidates has more than the heaviest slots, all have all of them
    assert (np.cumsum(np.sort(exposure)[::-1]) <= np.cumsum(padded) + 1e-9).all()
    assert abs(exposure.sum() - 1.0) <= 1e-9
    # nearest: the best vertex in the direction of the point is no further in it than the projection
    away = point - exposure
    best = np.sort(away)[::-1] @ padded
    assert best <= away @ exposure + 1e-9 * max(1.0, np.abs(point).max())


@given(seeds)
@settings(max_examples=200)
def test_a_walk_through_the_face_gives_a_lottery_with_that_exposure(seed: int) -> None:
    point, slots = _point_and_slots(seed)
    exposure, order, starts, blocks = _project(point, slots)
    rankings, weights = _decompose(exposure, order, starts, blocks, slots)
    mixed = np.zeros(len(point))
    for ranking, weight in zip(rankings, weights, strict=True):
        assert len(set(ranking.tolist())) == len(slots)
        mixed[ranking] += weight * slots
    np.testing.assert_allclose(mixed, exposure, atol=1e-10)
    dimensions = sum(starts[block + 1] - starts[block] - 1 for block in range(blocks) if starts[block] < len(slots))
    assert len(weights) <= dimensions + 1


@given(seeds)
@settings(max_examples=100)
def test_leaving_out_rankings_keeps_their_joint_effect(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, numbers = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    effects = rng.choice([rng.random((count, numbers)), rng.integers(0, 3, (count, numbers)).astype(float)])
    weights = rng.dirichlet(np.ones(count))
    before = weights @ effects
    _reduce(effects, weights)
    assert (weights >= 0).all()
    assert abs(weights.sum() - 1.0) <= 1e-9
    np.testing.assert_allclose(weights @ effects, before, atol=1e-8)
    assert (weights > 0).sum() <= numbers + 1


@given(seeds)
@settings(max_examples=100)
def test_the_best_are_found_and_sorted_as_by_a_stable_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    keys = rng.choice([rng.random(n), rng.integers(0, 4, n).astype(float)])
    count = int(rng.integers(1, n + 1))
    order = _rank_best(keys, count)
    assert order[:count].tolist() == np.argsort(-keys, kind="stable")[:count].tolist()
    assert sorted(order.tolist()) == list(range(n))
    assert _key_at_rank(keys, count) == np.sort(keys)[::-1][count - 1]
