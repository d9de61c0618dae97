"""Everybody together on MovieLens: shares, convergence, what relevance it costs, and what people would do otherwise.

``python -m benchmarks.everybody FOLDER docs`` writes ``everybody-*.png`` and prints the tables of docs/everybody.md;
``--clock`` in place of a folder to write to prints the first table alone, and a number after it takes so many users.
Times are by the clock, on all processors of a machine that should be quiet.
Candidates are EASE's best 150 of each user, slates have 20 slots, users' own genres count with λ = 0.3.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from excalibr._options import Options
from excalibr._parallel import checked_threads
from excalibr._population import BalanceSolution, BatchPopulation, CouplingTerms, balance_population, target_terms
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._problem import Batch
from excalibr._types import Floats, Integers
from excalibr.datasets import decade, genre, load_movielens
from excalibr.models import EASE

N, K, TRADE_OFF, WEIGHT = 150, 20, 0.3, 0.3
TIGHT, TIGHT_PASSES = 1e-4, 12
"""The tolerance of the runs that a balance's deviation is held against, and their passes at most."""


@dataclass(frozen=True, eq=False)
class World:
    """MovieLens' users with their candidates, and groups of the items."""

    batch: Batch
    rows: Any
    targets: Floats
    positives: Floats
    items: Any
    cells: Any

    @classmethod
    def of(cls, folder: Path, users: int | None = None) -> World:
        """From a MovieLens folder, all users or the first so many."""
        data = load_movielens(folder)
        liked = data.positives()
        matrix = liked.matrix
        films = data.items.of(liked.item_ids)
        rows = sparse.csr_array(genre(films.genres).matrix)
        cells = _crossed(rows, sparse.csr_array(decade(films.years).matrix))
        top = EASE.fit(matrix, regularisation=500.0).top(matrix, n=N)
        targets = np.asarray((matrix @ rows).todense())
        targets /= targets.sum(axis=1, keepdims=True)
        targets, chosen = targets[:users], top.items[:users]
        starts = np.arange(len(chosen) + 1) * N
        options = Options(k=K, trade_off=TRADE_OFF, tolerance=1e-6)
        scores = top.scores[:users].astype(float).ravel()
        batch = Batch.of(scores, starts, rows, targets, items=chosen.ravel(), options=options)
        positives = np.asarray(matrix.sum(axis=0), dtype=float).ravel()
        return cls(batch, rows, targets, positives, batch.items, cells)

    def population(self, groups: Any, users: Integers | None = None) -> BatchPopulation:
        """All users or some, with a group for each item, or with (items, G) shares of groups."""
        shares: Any = groups if sparse.issparse(groups) else one_hot(groups)
        batch = self.batch if users is None else self._of(users)
        keys = list(range(batch.users)) if users is None else users.tolist()
        return BatchPopulation(batch, keys, shares, np.ones(batch.users), BLOCK_PER_USER, threads=checked_threads(None))

    def _of(self, users: Integers) -> Batch:
        """Some users' problems, as a batch of their own."""
        places = (N * users[:, None] + np.arange(N)).ravel()
        starts = N * np.arange(len(users) + 1)
        given = (self.batch.scores[places], starts, self.rows, self.targets[users])
        return Batch.of(*given, items=self.items[places], options=self.batch.options)


def one_hot(groups: Integers) -> Any:
    """(items, G) sparse, from a group for each item."""
    count = len(groups)
    return sparse.csr_array((np.ones(count), groups, np.arange(count + 1)), shape=(count, int(groups.max()) + 1))


def strata(positives: Floats, count: int) -> Integers:
    """Items by how often they were liked, in so many strata of as many items."""
    return np.asarray(np.argsort(np.argsort(-positives, kind="stable")) * count // len(positives))


def _crossed(one: Any, other: Any) -> Any:
    """(items, G) the shares of every pair of categories that an item has."""
    width = other.shape[1]
    parts = [sparse.csr_array(one.multiply(other[:, [column]])) for column in range(width)]
    crossed = sparse.csc_array(sparse.hstack(parts))
    return sparse.csr_array(crossed[:, np.flatnonzero(np.diff(crossed.indptr))])


def real_groups(world: World) -> dict[str, Any]:
    """About 30, 300 and 3,000 groups of real attributes."""
    return {
        "popularity strata": one_hot(strata(world.positives, 30)),
        "decade × genre × head or tail": _crossed(world.cells, one_hot(strata(world.positives, 2))),
        "decade × genre × popularity strata": _crossed(world.cells, one_hot(strata(world.positives, 30))),
    }


def half_way(population: BatchPopulation) -> Floats:
    """Wanted of real groups: half way from what is seen to the share of the catalogue."""
    before = population.run(np.zeros(population.n_groups)).group_shares
    catalogue = np.asarray(population.groups.sum(axis=0)).ravel() / population.groups.shape[0]
    return np.asarray(0.5 * (before / before.sum() + catalogue))


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


def measure(world: World, population: BatchPopulation, item_prices: Floats, wanted: Floats) -> Measured:
    """Of one pass over the users at prices of items."""
    from excalibr._many_users import measure as measure_lotteries
    from excalibr._many_users import solve_users
    from excalibr._population.subproblems import exposure_of
    from excalibr._solver import questions_of

    questions = questions_of(world.batch)
    batch = population.batch.with_item_prices(item_prices)

    def finish(lotteries: Any) -> tuple[Floats, Floats]:
        return measure_lotteries(questions, lotteries), exposure_of(batch, lotteries)

    parts = list(solve_users(batch, finish, threads=checked_threads(None)))
    table, exposure = (np.concatenate(each) for each in zip(*parts, strict=True))
    items = np.bincount(world.items, exposure, minlength=len(item_prices)) / world.batch.users
    shares = population.groups.T @ items
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), float(np.abs(shares - wanted).sum()))


def mixed(world: World, population: BatchPopulation, found: BalanceSolution, wanted: Floats) -> Measured:
    """Of a balance: its passes mixed."""
    from excalibr._many_users import measure as measure_lotteries
    from excalibr._population import solve_mixed
    from excalibr._solver import questions_of

    questions = questions_of(world.batch)
    used = np.flatnonzero((found.primal.weights > 0).any(axis=1))
    prices = np.array([population.groups @ found.passes[number].prices for number in used])
    order = np.argsort(np.argsort(population._blocks))
    weights = found.primal.weights[used][:, order]
    table = np.concatenate(
        list(
            solve_mixed(
                world.batch,
                prices,
                weights,
                lambda own: measure_lotteries(questions, own),
                threads=checked_threads(None),
            )
        )
    )
    deviation = float(np.abs(found.primal.shares - wanted).sum())
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), deviation)


def kinds(world: World) -> Iterator[tuple[str, BatchPopulation, CouplingTerms, Floats]]:
    """Invented sellers and real attributes: a population, its terms, and each group's wanted share."""
    invented = {f"{count:,} sellers": one_hot(sellers(count, len(world.positives))) for count in (30, 300, 3000)}
    for name, groups in (invented | real_groups(world)).items():
        population = world.population(groups)
        count = population.n_groups
        catalogue = np.asarray(groups.sum(axis=0)).ravel() / groups.shape[0]
        wanted = catalogue if name in invented else half_way(population)
        yield name, population, target_terms(np.arange(count), wanted, wanted, np.full(count, WEIGHT), count), wanted


def convergence(world: World) -> dict[str, BalanceSolution]:
    """A balance for several kinds of groups on all processors, and what it took in units of a pass, by the clock."""
    results = {}
    for name, population, terms, wanted in kinds(world):
        nothing = np.zeros(population.n_groups)
        one = _median(partial(population.run, nothing))
        plain = _median(partial(plain_pass, world))
        began = time.perf_counter()
        found = balance_population(population, terms)
        took = (time.perf_counter() - began) / one
        tight = balance_population(
            population, terms, tolerance=TIGHT, max_passes=TIGHT_PASSES, start=found.prices[found.best]
        )
        deviations = [float(np.abs(each.primal.shares - wanted).sum()) for each in (found, tight)]
        before = float(np.abs(population.run(nothing).group_shares - wanted).sum())
        results[name] = found
        print(
            f"| {name} | {population.n_groups:,} | {_passes(found)} | {took:.1f} | "
            f"{100 * found.relative_gap:.3f} % | {before:.4f} | {deviations[0]:.4f} | {deviations[1]:.4f} | "
            f"{100 * tight.relative_gap:.4f} % | {one / plain:.2f} |",
            flush=True,
        )
    return results


def _passes(found: BalanceSolution) -> str:
    """Over all users, and over samples by their size."""
    return f"{len(found.history)} + {found.work - len(found.history):.1f}"


def _median(work: Callable[[], Any]) -> float:
    """Of three times by the clock."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def plain_pass(world: World) -> None:
    """What ``rerank`` solves for all users, without prices."""
    from excalibr._many_users import solve_users

    for _ in solve_users(world.batch, lambda lotteries: None, threads=checked_threads(None)):
        pass


def plot_convergence(results: dict[str, BalanceSolution], path: Path) -> None:
    """Objective and bound by pass."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, -(-len(results) // 2), figsize=(11, 5.6), layout="constrained")
    for axis, (name, found) in zip(axes.ravel(), results.items(), strict=False):
        numbers = [each.number for each in found.history]
        axis.plot(numbers, [each.bound for each in found.history], "o-", label="bound")
        axis.plot(numbers, [each.objective for each in found.history], "s-", label="objective")
        axis.set_title(name, fontsize="medium")
        axis.set(xlabel="pass over all users", xticks=numbers)
    axes[0, 0].set_ylabel("mean over users")
    axes[1, 0].set_ylabel("mean over users")
    axes[0, 0].legend()
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
    for (name, points), mark in zip(ways.items(), "os^Dv", strict=True):
        x = [each.group_deviation for _, each in points]
        axis.plot(x, [100 * each.relevance / plain.relevance for _, each in points], f"{mark}-", label=name)
    axis.set(xlabel="groups' deviation from their shares (L1)", ylabel="relevance kept, %")
    axis.legend()
    figure.savefig(path, dpi=120)


def compare(world: World, out: Path) -> None:
    """Against what people would do otherwise, on 30 sellers."""
    from benchmarks.everybody_ways import other_ways

    groups = sellers(30, len(world.positives))
    wanted = np.bincount(groups, minlength=30) / len(groups)
    population = world.population(groups)
    plain = measure(world, population, np.zeros(len(groups)), wanted)
    balanced = []
    for weight in (0.02, 0.05, 0.1, 0.3):
        terms = target_terms(np.arange(30), wanted, wanted, np.full(30, weight), 30)
        found = balance_population(population, terms)
        balanced.append((weight, mixed(world, population, found, wanted)))
    ways = {"balanced, several Λ": balanced} | other_ways(world, population, wanted)
    print("\n| way | setting | relevance kept | groups' deviation | users' own deviation | objective |")
    print("|---|---|---|---|---|---|")
    print(_row("each user by itself", 0.0, plain, plain))
    for name, points in ways.items():
        for setting, each in points:
            print(_row(name, setting, each, plain))
    plot_costs(ways, plain, out / "everybody-cost.png")
    plot_shares(population.run(np.zeros(30)).group_shares, found.primal.shares, wanted, out / "everybody-shares.png")


def _row(name: str, setting: float, each: Measured, plain: Measured) -> str:
    kept = 100 * each.relevance / plain.relevance
    return (
        f"| {name} | {setting:g} | {kept:.1f} % | {each.group_deviation:.4f} | {each.deviation:.4f} | "
        f"{each.objective:.4f} |"
    )


def main(folder: str, out: str, users: str | None = None) -> None:
    """Everything, or the first table alone."""
    world = World.of(Path(folder), None if users is None else int(users))
    columns = ("groups", "number", "passes + sampled", "time, in passes", "gap", "deviation before", "after")
    print(f"| {' | '.join((*columns, 'of a tight run', 'its gap', 'pass / rerank'))} |")
    print("|---" * 10 + "|")
    results = convergence(world)
    if out == "--clock":
        return
    plot_convergence(results, Path(out) / "everybody-convergence.png")
    compare(world, Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:4])
