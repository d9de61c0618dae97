"""What a single ranking is judged by, as hypothesis draws it, and its value by definition.

Numbers are drawn as they are used, never from a seed, so that what fails shrinks to a small problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._native import kernel
from excalibr._types import Floats, Integers
from tests.kernel.programs import ABOVE, BELOW, NOBODY, WEIGHTS, Arrays, Draw, cost

TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)
SHARES = st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 1 / 3]) | st.floats(0.0, 1.0, allow_subnormal=False)
GAINS = st.sampled_from([0.0, 0.5, 1.0, -1.0]) | st.floats(-2.0, 2.0, allow_subnormal=False)
SLOPES = st.sampled_from([1.0, 1.0, 0.5, 0.0, 3.0])
CHARGES = st.sampled_from([(1.0, 0.0), (1.0, 0.0), (100.0, 0.3)])


@dataclass(frozen=True)
class SearchArrays(Arrays):
    """A program for single rankings, each charged for what its own shares cost beyond an allowance."""

    charge: float = 1.0
    allowance: float = 0.0

    @property
    def size(self) -> float:
        """What errors are relative to."""
        return float(np.abs(self.gains).max() + self.charge * self.penalties[:, BELOW : ABOVE + 1].max()) or 1.0

    def of(self, parts: Any) -> Any:
        """The same for the kernel."""
        slots = (self.penalties, self.position_weights, self.charge, self.allowance)
        return parts.SearchProgram(self.gains, *kernel.pack_rows(self.rows), *slots, self.group_of, self.group_limits)

    def allows(self, ranking: list[int]) -> bool:
        """Whether a ranking keeps the limits of the groups."""
        groups = [int(self.group_of[candidate]) for candidate in ranking] if len(self.group_limits) else []
        return all(groups.count(group) <= limit for group, limit in enumerate(self.group_limits))

    def shares(self, ranking: list[int]) -> Floats:
        return np.asarray(self.position_weights @ self.rows[ranking])

    def charged(self, ranking: list[int]) -> float:
        """What is charged for a ranking's own shares."""
        return self.charge * max(0.0, cost(self.penalties, self.shares(ranking)) - self.allowance)

    def value(self, ranking: list[int]) -> float:
        return float(self.position_weights @ self.gains[ranking]) - self.charged(ranking)

    def some_rankings(self, count: int) -> Integers:
        """Rankings (count, k) that the groups allow, each beginning its choice at another candidate."""
        chosen: list[list[int]] = []
        for first in range(count):
            chosen.append([])
            for step in range(self.n):
                candidate = (7 * first + step) % self.n
                if len(chosen[-1]) < self.k and self.allows([*chosen[-1], candidate]):
                    chosen[-1].append(candidate)
        return np.array(chosen, dtype=np.int64)


@st.composite
def programs(draw: Draw, candidates: int = 5, slots: int = 3, categories: int = 4) -> SearchArrays:
    """A program of at most so many candidates, slots and categories; some ranking always keeps its limits."""
    n, r = draw(st.integers(1, candidates)), draw(st.integers(1, categories))
    k = draw(st.integers(1, min(n, slots)))
    charge, allowance = draw(CHARGES)
    group_of, group_limits = draw(groups(n, k))
    weights = draw(arrays.arrays(np.float64, k, elements=WEIGHTS))
    return SearchArrays(
        gains=draw(arrays.arrays(np.float64, n, elements=GAINS)),
        rows=draw(arrays.arrays(np.float64, (n, r), elements=SHARES)),
        penalties=draw(penalty_tables(r)),
        position_weights=weights / (weights.sum() or 1.0),
        charge=charge,
        allowance=allowance,
        group_of=group_of,
        group_limits=group_limits,
    )


@st.composite
def penalty_tables(draw: Draw, r: int) -> Floats:
    table = np.zeros((r, 6))
    table[:, 0] = draw(arrays.arrays(np.float64, r, elements=TENTHS))
    table[:, 1] = table[:, 0] + draw(st.sampled_from([0.0, 0.0, 0.1]))
    table[:, 2] = draw(arrays.arrays(np.float64, r, elements=SLOPES))
    table[:, 3] = draw(arrays.arrays(np.float64, r, elements=SLOPES))
    table[:, 4] = draw(st.sampled_from([0.0, 0.0, 0.01]))
    table[:, 5] = draw(st.sampled_from([0.0, 0.2]))
    return table


@st.composite
def groups(draw: Draw, n: int, k: int) -> tuple[Integers, Integers]:
    """Sometimes none, otherwise two with limits that leave a ranking possible."""
    if draw(st.booleans()):
        return NOBODY, NOBODY
    group_of = draw(arrays.arrays(np.int64, n, elements=st.integers(-1, 1)))
    limits = draw(arrays.arrays(np.int64, 2, elements=st.integers(0, k)))
    sizes = np.bincount(group_of[group_of >= 0], minlength=2)
    while (group_of < 0).sum() + np.minimum(sizes, limits).sum() < k:
        limits += 1
    return group_of, limits


def film_like(seed: int, n: int, k: int, r: int) -> SearchArrays:
    """The everyday case: uniform scores, one to three equal categories an item, a Dirichlet target, log weights."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, r))
    for row in rows:
        chosen = rng.choice(r, size=int(rng.integers(1, 4)), replace=False)
        row[chosen] = 1.0 / len(chosen)
    target, weights = rng.dirichlet(np.ones(r)), 1.0 / np.log2(np.arange(2.0, k + 2.0))
    table = np.zeros((r, 6))
    table[:, 0] = table[:, 1] = target
    table[:, 2] = table[:, 3] = 0.5
    return SearchArrays(0.5 * rng.random(n), rows, table, weights / weights.sum(), NOBODY, NOBODY)
