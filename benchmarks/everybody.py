"""Everybody together on MovieLens: shares, convergence, what relevance it costs, and what people would do otherwise.

``python -m benchmarks.everybody FOLDER docs`` writes ``everybody-*.png`` and prints the tables of docs/everybody.md.
Candidates are EASE's best 150 of each user, slates have 20 slots, users' own genres count with λ = 0.3.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from excalibr._options import Options
from excalibr._parallel import checked_threads
from excalibr._population import Balanced, BatchCrowd, balance_crowd, target_terms
from excalibr._population.mixture import EVERY_BLOCK
from excalibr._problem import AttributeSpan, Batch
from excalibr._types import Floats, Integers
from excalibr.datasets import genre, load_movielens
from excalibr.models import EASE

N, K, TRADE_OFF, WEIGHT = 150, 20, 0.3, 0.3


@dataclass(frozen=True, eq=False)
class World:
    """MovieLens' users with their candidates, and groups of the items."""

    batch: Batch
    rows: Any
    targets: Floats
    positives: Floats
    items: Any

    @classmethod
    def of(cls, folder: Path) -> World:
        """From a MovieLens folder."""
        data = load_movielens(folder)
        liked = data.positives()
        matrix = liked.matrix
        rows = sparse.csr_array(genre(data.items.of(liked.item_ids).genres).matrix)
        top = EASE.fit(matrix, regularisation=500.0).top(matrix, n=N)
        targets = np.asarray((matrix @ rows).todense())
        targets /= targets.sum(axis=1, keepdims=True)
        starts = np.arange(len(top.items) + 1) * N
        options = Options(k=K, trade_off=TRADE_OFF, tolerance=1e-6)
        scores = top.scores.astype(float).ravel()
        batch = Batch.of(scores, starts, rows, targets, items=top.items.ravel(), options=options)
        return cls(batch, rows, targets, np.asarray(matrix.sum(axis=0), dtype=float).ravel(), batch.items)

    def crowd(self, groups: Integers, batch: Batch | None = None) -> BatchCrowd:
        """All users, with a group for each item."""
        count = len(groups)
        shares = sparse.csr_array((np.ones(count), groups, np.arange(count + 1)), shape=(count, int(groups.max()) + 1))
        batch = batch or self.batch
        keys = list(range(batch.users))
        return BatchCrowd(batch, keys, shares, np.ones(batch.users), EVERY_BLOCK, threads=checked_threads(None))


def sellers(count: int, items: int, seed: int = 0) -> Integers:
    """Invented sellers of very different size."""
    random = np.random.default_rng(seed)
    sizes = random.lognormal(0.0, 1.2, count)
    return random.choice(count, size=items, p=sizes / sizes.sum())


@dataclass(frozen=True)
class Measured:
    """What a way of doing it gives: relevance, users' own deviation, the groups' deviation."""

    relevance: float
    deviation: float
    group_deviation: float

    @property
    def objective(self) -> float:
        """Of everybody's program."""
        return (1 - TRADE_OFF) * self.relevance - TRADE_OFF * self.deviation - WEIGHT * self.group_deviation


def measure(world: World, crowd: BatchCrowd, item_prices: Floats, wanted: Floats) -> Measured:
    """Of one pass over the users at prices of items."""
    from excalibr._many_users import measure as measure_lotteries
    from excalibr._many_users import solve_users
    from excalibr._population.crowd import exposure_of
    from excalibr._solver import questions_of

    questions = questions_of(world.batch)
    batch = crowd.batch.with_item_prices(item_prices)
    found, exposure = [], []

    def finish(lotteries: Any) -> None:
        found.append(measure_lotteries(questions, lotteries))
        exposure.append(exposure_of(batch, lotteries))

    for _ in solve_users(batch, finish, threads=1):
        pass
    table = np.concatenate(found)
    items = np.bincount(world.items, np.concatenate(exposure), minlength=len(item_prices)) / world.batch.users
    shares = crowd.groups.T @ items
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), float(np.abs(shares - wanted).sum()))


def mixed(world: World, crowd: BatchCrowd, found: Balanced, wanted: Floats) -> Measured:
    """Of a balance: its passes mixed."""
    from excalibr._many_users import measure as measure_lotteries
    from excalibr._population import solve_mixed
    from excalibr._solver import questions_of

    questions = questions_of(world.batch)
    used = np.flatnonzero((found.mixed.weights > 0).any(axis=1))
    prices = np.array([crowd.groups @ found.passes[number].prices for number in used])
    order = np.argsort(np.argsort(crowd._blocks))
    weights = found.mixed.weights[used][:, order]
    table = np.concatenate(
        list(solve_mixed(world.batch, prices, weights, lambda own: measure_lotteries(questions, own), threads=1))
    )
    deviation = float(np.abs(found.mixed.shares - wanted).sum())
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), deviation)


def boosts(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """A fixed bonus for every group that has less than it should, of several sizes."""
    before = crowd.run(np.zeros(len(wanted))).group_shares
    lacking = (before < wanted).astype(float)
    sizes = (0.01, 0.02, 0.03, 0.05, 0.08)
    return [(size, measure(world, crowd, crowd.groups @ (-size * lacking), wanted)) for size in sizes]


def quotas(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """Every slate by itself near the groups' shares: a second attribute of each user's own program."""
    r, count = world.rows.shape[1], len(wanted)
    rows = sparse.hstack([world.rows, crowd.groups], format="csr")
    targets = np.hstack([world.targets, np.tile(wanted, (len(world.targets), 1))])
    attributes = (AttributeSpan("genre", 0, r), AttributeSpan("seller", r, r + count))
    found = []
    for weight in (0.1, 0.3, 1.0):
        options = Options(k=K, trade_off=TRADE_OFF, tolerance=1e-6, attribute_weights={"genre": 1.0, "seller": weight})
        batch = Batch.of(
            *(world.batch.scores, world.batch.starts, rows, targets),
            items=world.batch.items,
            options=options,
            attributes=attributes,
        )
        found.append((weight, measure(world, world.crowd(_group_of(crowd), batch), np.zeros(rows.shape[0]), wanted)))
    return found


def online(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """Prices that move a little after every few users, as P-MMF's online mirror descent does, in one pass."""
    from excalibr._many_users import Solver
    from excalibr._many_users import measure as measure_lotteries
    from excalibr._population.crowd import exposure_of
    from excalibr._solver import questions_of

    questions, found = questions_of(world.batch), []
    users, step_users = world.batch.users, 64
    for step in (0.05, 0.2, 0.8):
        prices, shown, tables = np.zeros(len(wanted)), np.zeros(len(wanted)), []
        for first in range(0, users, step_users):
            last = min(first + step_users, users)
            batch = world.batch.with_item_prices(crowd.groups @ prices)
            lotteries = Solver.of(batch, wanted=(np.arange(users) >= first) & (np.arange(users) < last)).solve(
                first, last
            )
            tables.append(measure_lotteries(questions, lotteries))
            items = world.items[world.batch.starts[first] : world.batch.starts[last]]
            own = crowd.groups.T @ np.bincount(items, exposure_of(batch, lotteries), minlength=crowd.groups.shape[0])
            shown += own
            prices = np.clip(prices + step * (own / (last - first) - wanted), -WEIGHT, WEIGHT)
        table = np.concatenate(tables)
        deviation = float(np.abs(shown / users - wanted).sum())
        found.append((step, Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), deviation)))
    return found


def _group_of(crowd: BatchCrowd) -> Integers:
    return np.asarray(crowd.groups.indices)


def convergence(world: World, counts: tuple[int, ...]) -> dict[int, tuple[Balanced, float]]:
    """A balance for several numbers of groups, and the seconds of all in units of a pass."""
    results = {}
    for count in counts:
        groups = sellers(count, len(world.positives))
        wanted = np.bincount(groups, minlength=count) / len(groups)
        crowd = world.crowd(groups)
        terms = target_terms(np.arange(count), wanted, wanted, np.full(count, WEIGHT), count)
        passes = [_timed(lambda own=crowd, size=count: own.run(np.zeros(size))) for _ in range(3)]
        began = time.perf_counter()
        found = balance_crowd(crowd, terms)
        took = (time.perf_counter() - began) / float(np.median(passes))
        results[count] = (found, took)
        deviation = np.abs(found.mixed.shares - wanted).sum()
        print(
            f"| {count:,} | {len(found.history)} + {found.work - len(found.history):.1f} | {took:.1f} | "
            f"{100 * found.relative_gap:.3f} % | {100 * found.gap / abs(found.bound):.3f} % | {deviation:.4f} |",
            flush=True,
        )
    return results


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def plot_convergence(results: dict[int, tuple[Balanced, float]], path: Path) -> None:
    """Objective and bound by pass."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(4 * len(results), 3.2), layout="constrained")
    for axis, (count, (found, _)) in zip(np.atleast_1d(axes), results.items(), strict=True):
        numbers = [each.number for each in found.history]
        axis.plot(numbers, [each.bound for each in found.history], "o-", label="bound")
        axis.plot(numbers, [each.objective for each in found.history], "s-", label="objective")
        axis.set(title=f"{count:,} groups", xlabel="pass over all users", xticks=numbers)
    np.atleast_1d(axes)[0].set_ylabel("mean over users")
    np.atleast_1d(axes)[0].legend()
    figure.savefig(path, dpi=120)


def plot_shares(before: Floats, after: Floats, wanted: Floats, path: Path) -> None:
    """Shares of groups before, after and wanted."""
    import matplotlib.pyplot as plt

    order = np.argsort(-wanted)
    figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
    places = np.arange(len(order))
    axis.bar(places, before[order], width=0.8, color="0.8", label="each user by itself")
    axis.plot(places, after[order], "o", color="C0", label="balanced")
    axis.plot(places, wanted[order], "_", color="C3", markersize=12, label="wanted")
    axis.set(xlabel="seller, the largest first", ylabel="share of everybody's exposure", xticks=[])
    axis.legend()
    figure.savefig(path, dpi=120)


def plot_costs(ways: dict[str, list[tuple[float, Measured]]], plain: Measured, path: Path) -> None:
    """Relevance kept against the groups' deviation, for every way and several settings of it."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    axis.plot([plain.group_deviation], [100.0], "k*", markersize=11, label="each user by itself")
    for (name, points), mark in zip(ways.items(), "os^D", strict=False):
        x = [each.group_deviation for _, each in points]
        axis.plot(x, [100 * each.relevance / plain.relevance for _, each in points], f"{mark}-", label=name)
    axis.set(xlabel="groups' deviation from their shares (L1)", ylabel="relevance kept, %")
    axis.legend()
    figure.savefig(path, dpi=120)


def compare(world: World, out: Path) -> None:
    """Against what people would do otherwise, on 30 sellers."""
    groups = sellers(30, len(world.positives))
    wanted = np.bincount(groups, minlength=30) / len(groups)
    crowd = world.crowd(groups)
    plain = measure(world, crowd, np.zeros(len(groups)), wanted)
    balanced = []
    for weight in (0.02, 0.05, 0.1, 0.3):
        terms = target_terms(np.arange(30), wanted, wanted, np.full(30, weight), 30)
        found = balance_crowd(crowd, terms)
        balanced.append((weight, mixed(world, crowd, found, wanted)))
    ways = {
        "balanced, several Λ": balanced,
        "fixed boost": boosts(world, crowd, wanted),
        "quotas in every slate": quotas(world, crowd, wanted),
        "online prices": online(world, crowd, wanted),
    }
    print("\n| way | setting | relevance kept | groups' deviation | users' own deviation | objective |")
    print("|---|---|---|---|---|---|")
    print(_row("each user by itself", 0.0, plain, plain))
    for name, points in ways.items():
        for setting, each in points:
            print(_row(name, setting, each, plain))
    plot_costs(ways, plain, out / "everybody-cost.png")
    plot_shares(crowd.run(np.zeros(30)).group_shares, found.mixed.shares, wanted, out / "everybody-shares.png")


def _row(name: str, setting: float, each: Measured, plain: Measured) -> str:
    kept = 100 * each.relevance / plain.relevance
    return (
        f"| {name} | {setting:g} | {kept:.1f} % | {each.group_deviation:.4f} | {each.deviation:.4f} | "
        f"{each.objective:.4f} |"
    )


def main(folder: str, out: str) -> None:
    """Everything, in about ten minutes."""
    world = World.of(Path(folder))
    print("| groups | passes + sampled | time, in passes | gap | gap / bound | deviation |\n|---|---|---|---|---|---|")
    results = convergence(world, (30, 300, 3000))
    plot_convergence(results, Path(out) / "everybody-convergence.png")
    compare(world, Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:3])
