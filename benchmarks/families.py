"""The streams that one commit is measured on against another: families of distinct problems, by name.

``uniform`` and ``gamma`` are generated, ``kl`` is ``gamma`` with the other divergence, films are MovieLens's where
there is a folder of it, corners are the adversarial ones; those with many categories are of
:mod:`benchmarks.many_categories`, two an item. Trade-offs come in turn, as in :mod:`benchmarks.problems`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.films import film_sets
from benchmarks.many_categories import TARGETS, instance, sellers, tags
from benchmarks.problems import (
    CORNERS,
    LARGE,
    TRADE_OFFS,
    UNSEEN,
    Instance,
    ProblemSet,
    adversarial,
    generated_films,
    skewed,
    uniform,
)

__all__ = ["Family", "families", "slug"]

SPARE = 10
"""Problems more of each family, which a process solves before anything is timed."""

SIZES = {
    "uniform": (
        *((150, 100, 20), (150, 100, 10), (150, 100, 2), (150, 10, 20)),
        *((1000, 100, 20), (5000, 100, 20), (500, 100, 100)),
    ),
    "gamma": ((150, 100, 20), (150, 10, 10), (150, 10, 20), (500, 10, 20), (1000, 10, 20)),
    "kl": ((150, 100, 20),),
}
"""n, k and r of the generated families."""

MANY = (
    *((150, 10, 100), (500, 100, 71), (500, 100, 100), (500, 100, 120), (500, 100, 150)),
    *((1000, 50, 200), (1000, 50, 300), (150, 10, 1000)),
)
TAGS, SELLERS = ((150, 20, 500), (150, 20, 1000)), ((150, 20, 3000), (150, 20, 100_000))
"""The same of those with many categories: with each kind of target, with tags and with sellers."""

CORNER_SHARE, LARGE_SHARE, LARGEST_SHARE = 0.6, 0.1, 0.02
"""Of the number of a family, for a corner, which is no promised row; for one that takes long; for one that took 27 s a
problem at commit 4939d75."""

LARGEST = "falling 150/10/1000"
WHEN_CHOSEN = (LARGEST, "falling 1000/50/200", "falling 1000/50/300", "sellers 150/20/100000")
"""Families that are measured only where they are asked for: at that commit a problem takes seconds, or all memory."""


@dataclass(frozen=True, eq=False)
class Family:
    """Distinct problems that belong together, those of the stream first and the spare ones after them."""

    name: str
    origin: str
    instances: tuple[Instance, ...]
    spare: int = 0
    divergence: str = "l1"

    @property
    def count(self) -> int:
        """Problems that are timed."""
        return len(self.instances) - self.spare

    @property
    def slots(self) -> int:
        """k, the same for all."""
        return self.instances[0].k


def families(
    count: int, data: Path | None, chosen: Sequence[str] = (), spare: int = SPARE, seed: int = UNSEEN
) -> list[Family]:
    """Families of about ``count`` problems; those whose names hold one of ``chosen``, or all but some."""
    wanted = re.compile("|".join(rf"(?<!\d){re.escape(word)}(?!\d)" for word in chosen))
    names = [
        (name, make) for name, make in _makers(data) if wanted.search(name) and (chosen or name not in WHEN_CHOSEN)
    ]
    return [made for name, make in names for made in make(name, count, spare, seed)]


def slug(name: str) -> str:
    """A family's name as the name of a file.

    >>> slug("gamma 150/10/20"), slug("corner: huge r")
    ('gamma_150_10_20', 'corner_huge_r')
    """
    return re.sub(r"\W+", "_", name)


Make = Callable[[str, int, int, int], Iterator[Family]]


def _makers(data: Path | None) -> Iterator[tuple[str, Make]]:
    """Each family's name, and how it is made when it is wanted."""
    for kind, sizes in SIZES.items():
        for n, k, r in sizes:
            yield f"{kind} {n}/{k}/{r}", _generated
    for n, k, r in MANY:
        for target in TARGETS:
            yield f"{target} {n}/{k}/{r}", _many_categories
    for n, k, r in TAGS:
        yield f"tags {n}/{k}/{r}", _many_categories
        yield f"kl-tags {n}/{k}/{r}", _many_categories
    for n, k, r in SELLERS:
        yield f"sellers {n}/{k}/{r}", _many_categories
    films = _Films(data)
    for attribute in ("genre", "decade", "popularity"):
        for n in (150, 1000):
            yield f"{attribute} {n}/100", films
    for corner in CORNERS:
        yield f"corner: {corner}", _corner


def _generated(name: str, count: int, spare: int, seed: int) -> Iterator[Family]:
    kind, size = name.split()
    n, k, r = (int(number) for number in size.split("/"))
    asked = count + spare
    made = uniform(n, k, r, 2 if r > 10 else 1, asked, seed) if kind == "uniform" else skewed(n, k, r, asked, seed)
    yield Family(name, made.origin, made.instances, spare, "kl" if kind == "kl" else "l1")


def _many_categories(name: str, count: int, spare: int, seed: int) -> Iterator[Family]:
    kind, size = name.removeprefix("kl-").split()
    n, k, r = (int(number) for number in size.split("/"))
    share = LARGEST_SHARE if name == LARGEST else LARGE_SHARE if r >= 200 else 1.0
    asked, spare = max(int(share * count), 1), 1 if share < 1.0 else spare
    made = []
    for number in range(asked + spare):
        random, trade_off = (
            np.random.default_rng((seed, *kind.encode(), n, k, r, number)),
            TRADE_OFFS[number % len(TRADE_OFFS)],
        )
        match kind:
            case "tags":
                made.append(tags(random, n, k, r, trade_off))
            case "sellers":
                made.append(sellers(random, n, k, r, trade_off))
            case target:
                made.append(instance(random, n, k, r, 2, target, trade_off))
    divergence = "kl" if name.startswith("kl-") else "l1"
    yield Family(name, "many categories, gamma scores", tuple(made), spare, divergence)


class _Films:
    """MovieLens's films, or generated ones; all of them are made at once, when the first is wanted."""

    def __init__(self, data: Path | None) -> None:
        self.data = data
        self.made: list[ProblemSet] = []

    def __call__(self, name: str, count: int, spare: int, seed: int) -> Iterator[Family]:
        if not self.made:
            asked = count + spare
            self.made = film_sets(self.data, asked, seed) if self.data else generated_films(asked, seed)
        wanted = name.removesuffix("/100").replace(" ", ", n=")
        for each in self.made:
            if each.name == wanted:
                yield Family(name, each.origin, each.instances, spare)


def _corner(name: str, count: int, spare: int, seed: int) -> Iterator[Family]:
    corner = name.removeprefix("corner: ")
    asked = max(int((LARGE_SHARE if corner in LARGE else CORNER_SHARE) * count), 1)
    spare = 1 if corner in LARGE else spare
    for each in adversarial(asked + spare, names=(corner,), seed=seed):
        yield Family(name, each.origin, each.instances, spare)
