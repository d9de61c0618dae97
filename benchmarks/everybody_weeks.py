"""Shares held over weeks on MovieLens: prices renewed every week, moved in small steps, or never renewed.

``python -m benchmarks.everybody_weeks FOLDER docs [WEEKS]`` writes ``everybody-weeks.png`` and prints the table of
docs/everybody.md. Who comes in a week is who rated in it; who came last week is what the next prices are made from.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.everybody import WEIGHT, World, sellers
from excalibr._population import BalanceSolution, BatchPopulation, balance_population, target_terms
from excalibr._types import Floats, Integers
from excalibr.datasets import load_movielens

SECONDS = 7 * 24 * 3600
WEEKS = 45
"""The first, each with more than a hundred visitors; later ones have ever fewer."""
SELLERS = 30
STEP = 0.1 * WEIGHT / 0.01
"""A tenth of Λ for a miss of one percentage point, as the guide says, for a whole week's visitors."""
PARTS = 7
"""Small steps a week."""


def visitors(folder: Path, count: int) -> list[Integers]:
    """By week, of so many weeks, who of the world's users came."""
    liked = load_movielens(folder).positives()
    users = np.repeat(np.arange(len(liked.user_ids)), np.diff(liked.indptr))
    week = (liked.timestamps - liked.timestamps.min()) // SECONDS
    return [np.unique(users[week == number]) for number in np.unique(week)[:count].tolist()]


def shares_of(population: BatchPopulation, drawn: list[tuple[float, Floats]]) -> Floats:
    """What these users are shown where passes are drawn with these probabilities."""
    return np.asarray(sum(chance * population.run(prices).group_shares for chance, prices in drawn))


def drawn_from(found: BalanceSolution) -> list[tuple[float, Floats]]:
    """The passes of a balance as users draw them who were not in it."""
    chances = found.primal.weights @ found.passes[0].weights
    return [(float(chance), own.prices) for chance, own in zip(chances, found.passes, strict=True) if chance > 0]


def mean_prices(drawn: list[tuple[float, Floats]]) -> Floats:
    """One price a group."""
    return np.asarray(sum(chance * prices for chance, prices in drawn))


def stepped(world: World, groups: Integers, came: Integers, prices: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """A week with small steps: what was shown in it, and the prices after it."""
    shown = np.zeros(len(wanted))
    for part in np.array_split(np.random.default_rng(0).permutation(came), PARTS):
        shares = world.population(groups, part).run(prices).group_shares
        shown += len(part) / len(came) * shares
        prices = np.clip(prices + STEP / PARTS * (shares - wanted), -WEIGHT, WEIGHT)
    return shown, prices


def simulate(world: World, weeks: list[Integers]) -> tuple[dict[str, list[float]], list[tuple[float, float]]]:
    """By way and week the sellers' deviation, and the passes of a balance with and without a start."""
    groups = sellers(SELLERS, len(world.positives))
    wanted = np.bincount(groups, minlength=SELLERS) / len(groups)
    terms = target_terms(np.arange(SELLERS), wanted, wanted, np.full(SELLERS, WEIGHT), SELLERS)
    never = renewed = drawn_from(balance_population(world.population(groups, weeks[0]), terms))
    small = mean_prices(never)
    ways: dict[str, list[float]] = {name: [] for name in WAYS}
    passes = []
    for came in weeks[1:]:
        population = world.population(groups, came)
        shown_small, small = stepped(world, groups, came, small, wanted)
        shown_both, _ = stepped(world, groups, came, mean_prices(renewed), wanted)
        plain = population.run(np.zeros(SELLERS)).group_shares
        every = (plain, shares_of(population, never), shares_of(population, renewed), shown_small, shown_both)
        for name, shares in zip(WAYS, every, strict=True):
            ways[name].append(float(np.abs(shares - wanted).sum()))
        tonight = balance_population(population, terms, start=mean_prices(renewed))
        passes.append((tonight.work, balance_population(population, terms).work))
        renewed = drawn_from(tonight)
    return ways, passes


WAYS = ("no prices", "never renewed", "renewed every week", "small steps only", "renewed, with small steps")


def plot(ways: dict[str, list[float]], path: Path) -> None:
    """Deviation by week."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
    styles = (("0.6", ":"), ("C3", "-"), ("C0", "-"), ("C1", "-"), ("C2", "-"))
    for (name, values), (colour, line) in zip(ways.items(), styles, strict=True):
        axis.plot(np.arange(2, len(values) + 2), values, color=colour, linestyle=line, label=name)
    axis.set(xlabel="week", ylabel="sellers' deviation in the week (L1)", ylim=(0, None))
    figure.legend(loc="outside upper center", fontsize="small", ncols=5)
    figure.savefig(path, dpi=120)


def main(folder: str, out: str, count: str | int = WEEKS) -> None:
    """The table and the figure, in a few minutes."""
    weeks = visitors(Path(folder), int(count))
    world: Any = World.of(Path(folder))
    ways, passes = simulate(world, weeks)
    visits = [len(came) for came in weeks]
    print(f"{len(weeks)} weeks, {min(visits)} to {max(visits)} users (median {int(np.median(visits))})")
    print("| prices | mean deviation | worst week |\n|---|---|---|")
    for name, values in ways.items():
        print(f"| {name} | {np.mean(values):.3f} | {np.max(values):.3f} |")
    with_start, cold = np.mean(passes, axis=0)
    print(f"passes of a balance: {with_start:.1f} from the last prices, {cold:.1f} from nothing, its start counted")
    plot(ways, Path(out) / "everybody-weeks.png")


if __name__ == "__main__":
    main(*sys.argv[1:4])
