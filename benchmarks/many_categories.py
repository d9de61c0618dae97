"""Problems with many categories: what a target looks like decides how hard they are.

*thin* targets are the mean of a history of some tens of items; *prior* ones have a tenth spread evenly beside that;
*full* ones are nine tenths of a Dirichlet draw, broad or narrow, and a tenth spread evenly; *falling* ones have shares
that fall to nothing, as those of a half-life, of a softmax over intents and of narrow tastes do. Some categories are
common. *Tags* are many an item, *sellers* one, of many that a user's candidates do not have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.problems import SCALE, SHAPE, Instance, zipf
from excalibr._types import Floats

__all__ = ["TARGETS", "instance", "sellers", "tags"]

Generator = np.random.Generator

HISTORY = 30
OWN, SPREAD = 0.9, 0.1
"""Of a target: the part that is a user's own, and the part that is spread over all categories."""

TASTES = (1.0, 0.2, 0.05)
"""Of full targets: Dirichlet distributions from broad tastes to narrow ones, where most shares are a tenth's part."""

FALL, HALVES, NARROW = 30.0, 45.0, 0.1
"""Of falling targets: the logarithm of the largest share over the smallest of a softmax, how often the shares of a
half-life halve from one end to the other, and the Dirichlet distribution of narrow tastes. Each ends below 1e-12."""

FEWEST_TAGS, MOST_TAGS = 27, 44
OWN_SELLERS = 80
"""Of which about 70 occur among 150 candidates."""


def instance(random: Generator, n: int, k: int, r: int, per_item: int, target: str, trade_off: float) -> Instance:
    """A problem whose items have ``per_item`` categories in equal shares, and whose target is one of ``TARGETS``."""
    common = zipf(r)
    rows = _rows(random, n, common, per_item)
    wanted = TARGETS[target](random, common, per_item)
    return Instance(random.gamma(SHAPE, SCALE, n), rows, wanted, k, trade_off)


def tags(random: Generator, n: int, k: int, r: int, trade_off: float) -> Instance:
    """A problem whose items have 27 to 44 of r tags, some of them much oftener than others; the target is thin."""
    common = zipf(r)
    taste = random.dirichlet(150.0 * common) + common
    races = np.log(np.repeat([common, taste], [n, HISTORY], axis=0)) + random.gumbel(size=(n + HISTORY, r))
    places = np.argsort(np.argsort(-races, axis=1), axis=1)
    sizes = random.integers(FEWEST_TAGS, MOST_TAGS + 1, n + HISTORY)
    counts = (places < sizes[:, None]) * (random.gamma(0.5, size=places.shape) + 1e-3)
    rows = counts / counts.sum(axis=1, keepdims=True)
    return Instance(random.gamma(SHAPE, SCALE, n), rows[:n], rows[n:].mean(axis=0), k, trade_off)


def sellers(random: Generator, n: int, k: int, r: int, trade_off: float) -> Instance:
    """A problem whose candidates are of some 70 of r sellers; two thirds of a user's history were of the same ones."""
    common = zipf(r)
    own = random.choice(r, OWN_SELLERS, replace=False, p=common)
    known, others = random.choice(own, HISTORY * 2 // 3), random.choice(r, HISTORY - HISTORY * 2 // 3, p=common)
    target = np.bincount(np.concatenate([known, others]), minlength=r) / HISTORY
    rows = sp.csr_array((np.ones(n), random.choice(own, n), np.arange(n + 1)), shape=(n, r))
    return Instance(random.gamma(SHAPE, SCALE, n), rows, target, k, trade_off)


def _rows(random: Generator, count: int, common: Floats, per_item: int) -> Floats:
    """Rows of so many categories, drawn without replacement by how common they are (Gumbel's race)."""
    races = np.log(common) + random.gumbel(size=(count, len(common)))
    winners = np.argpartition(-races, per_item - 1, axis=1)[:, :per_item]
    rows = np.zeros(races.shape)
    np.put_along_axis(rows, winners, 1.0 / per_item, axis=1)
    return rows


def _thin(random: Generator, common: Floats, per_item: int) -> Floats:
    return np.asarray(_rows(random, HISTORY, _taste(random, common), per_item).mean(axis=0))


def _taste(random: Generator, common: Floats) -> Floats:
    return np.asarray(random.dirichlet(20.0 * common) + 0.1 * common)


def _prior(random: Generator, common: Floats, per_item: int) -> Floats:
    return np.asarray(OWN * _thin(random, common, per_item) + SPREAD / len(common))


def _full(random: Generator, common: Floats, per_item: int) -> Floats:
    r, concentration = len(common), TASTES[random.integers(len(TASTES))]
    return np.asarray(OWN * random.dirichlet(np.full(r, concentration)) + SPREAD / r)


def _falling(random: Generator, common: Floats, per_item: int) -> Floats:
    """A softmax over intents by how common they are, a half-life over them in any order, or a narrow taste."""
    r = len(common)
    drawn = random.dirichlet(np.ones(r))
    kinds = (
        drawn * np.exp(-FALL * np.arange(r) / r),
        random.permutation(np.exp2(-HALVES * np.arange(r) / r)),
        random.dirichlet(np.full(r, NARROW)),
    )
    chosen = kinds[random.integers(len(kinds))]
    return np.asarray(chosen / chosen.sum())


TARGETS: dict[str, Callable[[Generator, Floats, int], Floats]] = {
    "thin": _thin,
    "prior": _prior,
    "full": _full,
    "falling": _falling,
}
