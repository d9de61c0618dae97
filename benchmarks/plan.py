"""What a run measures: the promised rows, every peer on the same problems, films, corners, at two scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.films import film_sets
from benchmarks.measuring import Order
from benchmarks.problems import CORNERS, LARGE, ProblemSet, adversarial, generated_films, uniform

__all__ = ["FULL", "LARGER", "QUICK", "ROWS", "SMALLER", "Row", "Scale", "headline", "others"]


@dataclass(frozen=True)
class Row:
    """A size, the peer that it is measured against, and the ratio that is promised."""

    n: int
    k: int
    r: int
    per_item: int
    peer: str
    promised: float
    more: float = 1.0  # problems for each one of the scale: times that scatter more need more of them

    @property
    def name(self) -> str:
        """The size as the tables write it."""
        return f"{self.n}, {self.k}, {self.r}"


PAPER = "glop"

ROWS = (
    Row(150, 100, 20, 2, PAPER, 400),
    Row(150, 100, 10, 1, PAPER, 800),
    Row(150, 100, 2, 1, PAPER, 2000),
    Row(150, 10, 20, 2, PAPER, 50),
    Row(1000, 100, 20, 2, "highs-ds", 1000),
    Row(500, 100, 100, 2, "highs-ds", 60, more=1.8),
)

SMALLER, LARGER, AT_MOST = "1000, 100, 20", "5000, 100, 20", 8.0
"""The second may take so many times as long as the first."""

SLOW = ("glop", "glop-full", "highs-ds", "highs-ipm", "greedy-by-candidate", "mip-highs", "mip-scip")

PEER_SIZES = ((150, 100, 20, 2), (150, 100, 10, 1), (150, 100, 2, 1))
"""n, k, r and categories an item, for every peer."""

PEERS_OF_A_SET = (
    *("glop", "excalibr", "glop-full", "highs-ds", "highs-ipm", "mip-highs", "mip-scip", "greedy-by-candidate"),
    *("greedy-at-once", "kernel", "path", "frontier", "kl", "single", "greedy", "greedy-simple", "top-k", "sorting"),
)
PEERS_OF_FILMS = (
    *("glop", "excalibr", "highs-ds", "kernel", "path", "frontier", "kl", "single", "greedy", "greedy-simple"),
    *("greedy-at-once", "top-k", "sorting"),
)


@dataclass(frozen=True)
class Scale:
    """How much of everything: problems a set, rounds, sizes.

    ``headline``, ``highs``, ``peers``, ``films``, ``kernel``, ``corners`` and ``growth`` count problems, those of films
    one a user; ``slow_rounds`` are the rounds of methods that take long, ``headline_rounds`` those of the promised rows
    against the paper's stack.
    """

    mode: str
    rounds: int
    slow_rounds: int
    headline_rounds: int
    headline: int
    highs: int
    peers: int
    peer_sets: int
    films: int
    film_peer_sets: int
    kernel: int
    corners: int
    growth: int
    largest_r: int
    processes: int
    batch_users: int
    memory_users: tuple[int, ...]


QUICK = Scale(
    mode="quick",
    rounds=2,
    slow_rounds=1,
    headline_rounds=3,
    headline=10,
    highs=0,
    peers=5,
    peer_sets=1,
    films=5,
    film_peer_sets=1,
    kernel=75,
    corners=1,
    growth=5,
    largest_r=100,
    processes=2,
    batch_users=1000,
    memory_users=(500, 2000),
)

FULL = Scale(
    mode="full",
    rounds=3,
    slow_rounds=1,
    headline_rounds=6,
    headline=150,
    highs=30,
    peers=15,
    peer_sets=3,
    films=25,
    film_peer_sets=3,
    kernel=600,
    corners=10,
    growth=10,
    largest_r=400,
    processes=5,
    batch_users=5000,
    memory_users=(1000, 10_000, 50_000),
)


def headline(scale: Scale) -> list[Order]:
    """The promised rows against the paper's stack, the peer right before ours."""
    return [_row_order(row, scale.headline) for row in ROWS if row.peer == PAPER and scale.headline]


def others(scale: Scale, data: Path | None) -> list[Order]:
    """All that a run measures beside them, each set with its methods; first what HiGHS needs long for, in one round."""
    films = film_sets(data, scale.kernel) if data else generated_films(scale.kernel)
    long = [replace(_row_order(row, scale.highs), rounds=1) for row in ROWS if row.peer != PAPER and scale.highs]
    return [*long, *_size_orders(scale), *_peer_orders(scale), *_film_orders(scale, films), *_corners(scale)]


def _row_order(row: Row, count: int) -> Order:
    return Order("target", uniform(row.n, row.k, row.r, row.per_item, int(row.more * count)), (row.peer, "excalibr"))


def _size_orders(scale: Scale) -> list[Order]:
    sizes = ((1000, 100, 20), (5000, 100, 20))
    return [Order("size", uniform(*size, 2, max(scale.headline // 2, 3)), ("excalibr",)) for size in sizes]


def _peer_orders(scale: Scale) -> list[Order]:
    slow = dict.fromkeys(SLOW, scale.slow_rounds)
    return [
        Order("peers", uniform(*size, scale.peers), PEERS_OF_A_SET, slow_rounds=slow)
        for size in PEER_SIZES[: scale.peer_sets]
    ]


def _film_orders(scale: Scale, films: Sequence[ProblemSet]) -> list[Order]:
    """Few users with the peers, where these are quick enough; many with the kernel alone."""
    slow = dict.fromkeys(SLOW, scale.slow_rounds)
    small = [each for each in films if each.name.endswith("n=150")][: scale.film_peer_sets]
    with_peers = [
        Order(
            "films", ProblemSet(each.name, each.origin, each.instances[: scale.films]), PEERS_OF_FILMS, slow_rounds=slow
        )
        for each in small
    ]
    return [*with_peers, *(Order("kernel", each, ("excalibr", "kernel")) for each in films)]


def _corners(scale: Scale) -> list[Order]:
    ours = ("excalibr", "kernel")
    return [
        Order("corners", each, ours if each.name in LARGE else ("highs-ds", *ours), slow_rounds={"highs-ds": 1})
        for each in adversarial(
            scale.corners, [name for name in CORNERS if scale.largest_r >= 400 or name not in LARGE]
        )
    ]
