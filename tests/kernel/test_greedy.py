"""The kernel's greedy selections, called with arrays, against a few lines of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr._native import kernel
from excalibr._types import Floats, Integers
from tests.baselines.naive import ALPHA, first_best, kl

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.booleans())
def test_calibrated_selection_from_some_of_the_candidates(seed: int, projected: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = rows_of(generator)
    n, r = rows.shape
    gains, target = generator.integers(0, 4, n) / 4.0, generator.dirichlet(np.ones(r))
    candidates = np.sort(generator.permutation(n)[: generator.integers(1, n + 1)]).astype(np.int64)
    weights = np.sort(generator.random(generator.integers(1, len(candidates) + 1)))[::-1].copy()
    weights /= weights.sum()
    taken: list[int] = sorted(set(range(n)) - set(candidates.tolist()))
    outside, filled, total = len(taken), np.zeros(r), 0.0
    for weight in weights:
        total += weight
        shares = filled + weight * rows
        shares = shares + (1 - total) * target if projected else shares / total
        taken.append(first_best(weight * gains - 0.5 * kl(shares, target), taken, weight * gains.max() + 0.5))
        filled += weight * rows[taken[-1]]
    indptr, indices, values = packed(rows)
    order = kernel.calibrated_order(
        candidates, np.asarray(gains), indptr, indices, values, target, weights, 0.5, ALPHA, projected
    )
    assert order.tolist() == taken[outside:]


@given(SEEDS)
def test_marginal_selection(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = rows_of(generator)
    gains, order = generator.integers(0, 4, len(rows)) / 4.0, list[int]()
    for _ in gains:
        overlaps = np.minimum(rows[:, None, :], rows[order]).sum(axis=2).max(axis=1, initial=0.0)
        order.append(first_best(gains - 0.3 * overlaps, order, gains.max() + 0.3))
    selected = kernel.marginal_order(gains, *packed(rows), rows.shape[1], len(gains), 0.3)
    assert selected.tolist() == order


def test_more_slots_than_candidates_are_refused() -> None:
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="as many candidates as slots"):
        kernel.calibrated_order(one, np.ones(3), *packed(np.eye(3)), np.full(3, 1 / 3), np.ones(2), 0.5, ALPHA, False)
    with pytest.raises(ValueError, match="as many candidates as slots"):
        kernel.marginal_order(np.ones(3), *packed(np.eye(3)), 3, 4, 0.5)


def test_a_candidate_that_is_not_there_is_refused() -> None:
    three = np.array([3], dtype=np.int64)
    with pytest.raises(ValueError, match="out of range"):
        kernel.calibrated_order(three, np.ones(3), *packed(np.eye(3)), np.full(3, 1 / 3), np.ones(1), 0.5, ALPHA, False)


def rows_of(generator: np.random.Generator) -> Floats:
    """Rows with equal shares in one or two of a few categories: many of them are the same."""
    n, r = int(generator.integers(1, 12)), int(generator.integers(1, 5))
    rows = np.eye(r)[generator.integers(r, size=n)] + np.eye(r)[generator.integers(r, size=n)]
    return np.asarray(rows / 2.0)


def packed(rows: Floats) -> tuple[Integers, Integers, Floats]:
    return kernel.pack_rows(rows)
