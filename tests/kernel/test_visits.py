"""The deal of rankings to visits, and the assignment under it, against scipy and by whole sums over what is random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from excalibr import _kernel as kernel
from excalibr import _kernel_parts as parts

COPIES = 16


def draw(places: np.ndarray, weights: np.ndarray, offset: float, copy: float, visit: int) -> int:
    counts, slots = np.array([len(weights)]), np.array([places.shape[1]])
    items = int(places.max()) + 1
    pair = np.array([[offset, copy]])
    return int(kernel.visit_rankings(places.ravel(), weights, counts, slots, items, pair, np.array([visit]))[0])


def lottery(rng: np.random.Generator, rankings: int, slots: int, items: int) -> tuple[np.ndarray, np.ndarray]:
    places = np.array([rng.permutation(items)[:slots] for _ in range(rankings)])
    return places, rng.dirichlet(np.ones(rankings))


@given(st.integers(0, 2**32 - 1), st.integers(1, 24), st.sampled_from(["reals", "few values", "zeros", "huge"]))
def test_the_assignment_costs_what_scipys_costs(seed: int, size: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    costs = {
        "reals": rng.normal(size=(size, size)),
        "few values": rng.integers(0, 3, (size, size)).astype(float),
        "zeros": np.zeros((size, size)),
        "huge": rng.normal(size=(size, size)) * 1e12,
    }[kind]
    columns = parts.assign(costs)
    assert sorted(columns.tolist()) == list(range(size))
    rows, best = linear_sum_assignment(costs)
    assert costs[np.arange(size), columns].sum() == pytest.approx(costs[rows, best].sum(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_every_single_visit_has_exactly_the_lotterys_probabilities(seed: int) -> None:
    """Summed over all sixteen copies and a fine grid of offsets: each weight to within one step of the grid."""
    rng = np.random.default_rng(seed)
    places, weights = lottery(rng, 5, 3, 8)
    steps = 200
    for visit in (0, 1, 2, 7, 30):
        counts = np.zeros(len(weights))
        for offset in (np.arange(steps) + 0.5) / steps:
            for copy in (np.arange(COPIES) + 0.5) / COPIES:
                counts[draw(places, weights, float(offset), float(copy), visit)] += 1
        np.testing.assert_allclose(counts / (steps * COPIES), weights, atol=1.5 / (steps * COPIES))


def test_rankings_that_share_nothing_come_in_turn() -> None:
    places, weights = np.arange(8).reshape(4, 2), np.full(4, 0.25)
    for offset, copy in [(0.1, 0.0), (0.9, 0.5), (0.5, 0.99)]:
        seen = [draw(places, weights, offset, copy, visit) for visit in range(8)]
        assert sorted(seen[:4]) == sorted(seen[4:]) == [0, 1, 2, 3]


def test_likeness_decides_and_not_the_names_of_items() -> None:
    rng = np.random.default_rng(5)
    places, weights = lottery(rng, 9, 4, 12)
    renamed = rng.permutation(500)[places]
    for visit in range(20):
        assert draw(places, weights, 0.3, 0.7, visit) == draw(renamed, weights, 0.3, 0.7, visit)


@pytest.mark.parametrize("seed", range(3))
def test_a_sequence_is_its_visits_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places, weights = lottery(rng, 7, 4, 10)
    together = kernel.visit_sequence(places, weights, 10, np.array([0.3, 0.7]), 40)
    assert together.tolist() == [draw(places, weights, 0.3, 0.7, visit) for visit in range(40)]
    assert kernel.visit_sequence(places[:1], np.ones(1), 10, np.array([0.3, 0.7]), 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"visits": 65}, "so many visits in a deal"),
        ({"visits": 0}, "so many visits in a deal"),
        ({"items": 1}, "out of range"),
        ({"weights": np.ones(3)}, "a weight for each ranking"),
        ({"draw": np.zeros(3)}, "two numbers"),
    ],
)
def test_a_sequence_that_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    given: dict[str, Any] = {
        "rankings": np.array([[0], [1]]),
        "weights": np.array([0.5, 0.5]),
        "items": 2,
        "draw": np.zeros(2),
        "visits": 2,
    }
    with pytest.raises(ValueError, match=message):
        kernel.visit_sequence(*(given | change).values())


def test_an_only_ranking_is_always_seen() -> None:
    assert draw(np.array([[3, 1]]), np.ones(1), 0.2, 0.8, 63) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"visits": np.array([64])}, "out of range"),
        ({"visits": np.array([-1])}, "out of range"),
        ({"items": 1}, "out of range"),
        ({"counts": np.array([3])}, "counted"),
        ({"draws": np.zeros((1, 3))}, "two numbers"),
        ({"slots": np.array([1, 1])}, "slots and a visit"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    given: dict[str, Any] = {
        "places": np.array([0, 1]),
        "weights": np.array([0.5, 0.5]),
        "counts": np.array([2]),
        "slots": np.array([1]),
        "items": 2,
        "draws": np.zeros((1, 2)),
        "visits": np.array([0]),
    }
    with pytest.raises(ValueError, match=message):
        kernel.visit_rankings(*(given | change).values())
