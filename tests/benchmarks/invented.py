"""Results of a run that never took place, with times that are known."""

from __future__ import annotations

import numpy as np

from benchmarks.plan import LARGER, SMALLER
from benchmarks.results import GrowthPoint, Memory, Repeats, Results, SetResult, Solve, Start, Throughput

PROBLEMS, ROUNDS = 30, 3


def a_set(name: str, kind: str, milliseconds: dict[str, float], *, noise: float = 0.02, seed: int = 1) -> SetResult:
    """Problems that differ by a factor of up to two, each method so many milliseconds on average."""
    random = np.random.default_rng(7)  # the same problems in every run
    hard = random.uniform(0.67, 1.33, (PROBLEMS, 1))
    noisy = np.random.default_rng(seed)
    n, k, r = (int(size) for size in name.split(", ")) if name[0].isdigit() else (150, 100, 18)
    return SetResult(
        name=name,
        kind=kind,
        origin="invented",
        solves=[
            Solve(n, k, r, (0.1, 0.5, 0.9)[place % 3], int(100 * hard[place, 0]), "simplex", 9, 1e-11, 1.0)
            for place in range(PROBLEMS)
        ],
        seconds={
            method: (1e-3 * mean * hard * (1.0 + noise * noisy.normal(size=(PROBLEMS, ROUNDS)))).tolist()
            for method, mean in milliseconds.items()
        },
        objectives={method: [0.5] * PROBLEMS for method in milliseconds},
    )


def results(ours: float = 1.0, peers: float = 1.0, seed: int = 1) -> Results:
    """A run in which ours takes ``ours`` times as long as usual and the others ``peers`` times."""
    every = {"glop": 300 * peers, "excalibr": 0.5 * ours, "path": 3.0 * ours, "frontier": 9.0 * ours}
    more = {"single": 4.0 * ours, "kl": 1.5 * ours, "greedy": 1.0 * ours, "greedy-at-once": 3.0 * peers}
    return Results(
        mode="quick",
        machine={"processor": "Invented", "cores": "2", "memory": "8 GiB", "system": "Linux"},
        versions={"Python": "3.13"},
        rounds=ROUNDS,
        minutes=1.5,
        sets=[
            a_set("150, 100, 20", "target", {"glop": 300 * peers, "excalibr": 0.5 * ours}, seed=seed),
            a_set(SMALLER, "size", {"excalibr": 3.0 * ours}, seed=seed),
            a_set(LARGER, "size", {"excalibr": 10.0 * ours}, seed=seed),
            a_set("150, 100, 20", "peers", every | more, seed=seed),
            a_set("genre, n=150", "kernel", {"excalibr": 0.6 * ours, "kernel": 0.4 * ours}, seed=seed),
            a_set("many ties", "corners", {"highs-ds": 900 * peers, "excalibr": 0.4 * ours}, seed=seed),
        ],
        growth=[GrowthPoint("n", size, [1e-5 * size] * 2, [50, 60]) for size in (100, 1000, 10_000)]
        + [GrowthPoint(axis, value, [0.001], [50]) for axis in ("k", "r", "λ") for value in (0.1, 0.9)],
        starts=[Start("import excalibr", [0.4, 0.5])],
        throughput=[Throughput(1, 100, [1000.0, 1100.0]), Throughput(2, 100, [1900.0, 2000.0])],
        memory=[Memory(1000, 250.0, 200.0)],
        repeats=[Repeats("150, 100, 20", [600.0, 601.0, 9000.0])],
    )
