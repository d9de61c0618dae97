"""Search programs from a seed: linear and KL penalties, bands, bases, budgets and groups, in every mixture."""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np
from hypothesis import strategies as st

from excalibr.search import SearchProgram
from tests.problems import ROWS, SCORES, WEIGHTS, _choose

Generator = np.random.Generator


def mixed_program(rng: Generator, n: int, k: int, r: int) -> SearchProgram:
    """A program whose every ingredient is chosen at random; some ranking always obeys its groups."""
    categories = _choose(rng, ROWS)(rng, n, r)
    if rng.random() < 0.2:
        categories = np.hstack([categories * rng.random(), rng.random((n, 1))])  # scaled rows, and a dense one more
    width = categories.shape[1]
    low = rng.dirichlet(np.ones(width)) * (rng.random(width) < 0.8)
    high = low + rng.choice([0.0, 0.05]) * rng.random(width)
    charge, allowance = ((1.0, 0.0), (1.0, 0.0), (1e4, 0.3))[int(rng.integers(3))]
    group_of, group_limits = mixed_groups(rng, n, k)
    rows, columns = np.nonzero(categories)
    return SearchProgram(
        gains=rng.random() * _choose(rng, SCORES[:5])(rng, n),
        indptr=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64),
        indices=columns.astype(np.int64),
        values=categories[rows, columns],
        base=rng.choice([0.0, 0.1]) * rng.random(width),
        low=low,
        high=high,
        below=rng.random(width),
        above=rng.random(width),
        smoothing=np.where(rng.random(width) < rng.choice([0.0, 0.5, 1.0]), 0.01, 0.0),
        position_weights=falling_or_not(rng, k),
        charge=charge,
        allowance=allowance,
        group_of=group_of,
        group_limits=group_limits,
    )


def falling_or_not(rng: Generator, k: int) -> np.ndarray:
    weights = _choose(rng, WEIGHTS)(rng, k)
    if isinstance(weights, str):
        weights = np.ones(k) if weights == "uniform" else 1.0 / np.log(np.arange(2.0, k + 2.0))
    return np.asarray(weights / weights.sum())


def mixed_groups(rng: Generator, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Sometimes no groups, otherwise three with limits that leave a ranking possible."""
    if rng.random() < 0.5:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    group_of = rng.integers(-1, 3, n)
    sizes = np.bincount(group_of[group_of >= 0], minlength=3)
    limits = rng.integers(0, k + 1, 3)
    while (group_of < 0).sum() + np.minimum(sizes, limits).sum() < k:
        limits += 1
    return group_of, limits


def small_program(seed: int) -> SearchProgram:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    return mixed_program(rng, n, int(rng.integers(1, min(n, 4) + 1)), int(rng.integers(1, 5)))


def larger_program(seed: int) -> SearchProgram:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    return mixed_program(rng, n, int(rng.integers(6, 13)), int(rng.integers(1, 9)))


def some_rankings(program: SearchProgram, count: int, seed: int = 0) -> np.ndarray:
    """Rankings at random that obey the groups."""
    rng = np.random.default_rng(seed)
    n, k = len(program.gains), len(program.position_weights)
    rankings = []
    for _ in range(count):
        chosen: list[int] = []
        for candidate in rng.permutation(n).tolist():
            if len(chosen) < k and obeys_groups(program, [*chosen, candidate]):
                chosen.append(candidate)
        rankings.append(chosen)
    return np.array(rankings, dtype=np.int64)


def obeys_groups(program: SearchProgram, ranking: list[int]) -> bool:
    groups = [int(program.group_of[candidate]) for candidate in ranking] if len(program.group_limits) else []
    return all(groups.count(group) <= limit for group, limit in enumerate(program.group_limits))


def all_rankings(program: SearchProgram) -> list[list[int]]:
    every = permutations(range(len(program.gains)), len(program.position_weights))
    return [list(ranking) for ranking in every if obeys_groups(program, list(ranking))]


def naive_value(program: SearchProgram, ranking: list[int]) -> float:
    """The value by its definition, one category after another."""
    exposure = dict(zip(ranking, program.position_weights.tolist(), strict=True))
    shares = program.base.tolist()
    for item, weight in exposure.items():
        for place in range(program.indptr[item], program.indptr[item + 1]):
            shares[program.indices[place]] += weight * program.values[place]
    cost = sum(naive_penalty(program, category, share) for category, share in enumerate(shares))
    gain = sum(weight * program.gains[item] for item, weight in exposure.items())
    return float(gain - program.charge * max(0.0, cost - program.allowance))


def naive_penalty(program: SearchProgram, category: int, share: float) -> float:
    low, high, smoothing = program.low[category], program.high[category], program.smoothing[category]
    edge, slope = (low, program.below[category]) if share < low else (high, program.above[category])
    if low <= share <= high:
        return 0.0
    if smoothing == 0.0:
        return float(slope * abs(share - edge))
    seen = (1.0 - smoothing) * share + smoothing * edge
    return float(slope * ((edge * log(edge / seen) if edge > 0.0 else 0.0) - edge + seen))


small_programs = st.integers(0, 2**32).map(small_program)
larger_programs = st.integers(0, 2**32).map(larger_program)
