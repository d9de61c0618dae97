"""The streams that one commit is measured on against another: families of distinct problems, by name.

``uniform`` and ``gamma`` are generated, ``kl`` is ``gamma`` with the other divergence, films are MovieLens's where
there is a folder of it, corners are the adversarial ones. Trade-offs come in turn, as in :mod:`benchmarks.problems`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.films import film_sets
from benchmarks.problems import (
    CORNERS,
    LARGE,
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
    "gamma": ((150, 100, 20), (150, 10, 20), (500, 10, 20), (1000, 10, 20)),
    "kl": ((150, 100, 20),),
}
"""n, k and r of the generated families."""

CORNER_SHARE, LARGE_SHARE = 0.6, 0.1
"""Of the number of a family, for a corner, which is no promised row; and for one that takes long."""


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
    """Families of about ``count`` problems; those whose names hold one of ``chosen``, or all."""
    wanted = re.compile("|".join(re.escape(word) for word in chosen))
    return [made for name, make in _makers(data) if wanted.search(name) for made in make(name, count, spare, seed)]


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
